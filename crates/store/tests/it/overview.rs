//! What a page asks for: parts of lists with how much there is, and the last words of many at once.

use maestro_core::SessionRole;
use maestro_core::id::{EntityId, ProjectId, SessionId};
use maestro_core::report::ReportKind;
use maestro_core::session::{Approach, Session, SessionStatus};
use maestro_core::task::TaskStatus;
use maestro_store::*;
use serde_json::Map;

use crate::world::{World, both};

async fn project(world: &World, name: &str) -> ProjectId {
    let create = CreateProject { name: name.into(), working_dir: String::new(), description: String::new() };
    world.store.write(create).await.unwrap().id
}

async fn session(world: &World, project: &ProjectId, name: &str) -> SessionId {
    let task = CreateTask { project: Some(project.clone()), title: format!("Task of {name}"), ..CreateTask::default() };
    let task = world.store.write(task).await.unwrap();
    let create = CreateSession {
        id: Some(SessionId::parse(name).unwrap()),
        project: project.clone(),
        tasks: vec![task.id],
        name: None,
        role: SessionRole::Worker,
        agent: None,
        strategy: Approach::Simple,
        status: SessionStatus::Working,
        env: Map::new(),
        metadata: Map::new(),
        parent: None,
        hostname: String::new(),
        platform: String::new(),
    };
    world.store.write(create).await.unwrap().id
}

async fn say(world: &World, session: &SessionId, kind: ReportKind, words: &str) {
    let report = SubmitReport {
        source: ReportSource::Session(session.clone()),
        kind,
        message: Some(words.into()),
        tasks: Vec::new(),
        metadata: None,
        question: QuestionFate::Stays,
        actor: Actor::Person,
    };
    world.store.write(report).await.unwrap();
}

async fn seen(world: &World, gaze: OverviewGroup, limit: i64, project: Option<&ProjectId>) -> (Vec<String>, i64) {
    let seen = world.store.read(OverviewSessions { project: project.cloned(), group: gaze, limit }).await.unwrap();
    (seen.items.into_iter().map(|session: Session| session.id.into()).collect(), seen.total)
}

both! {
    async fn sessions_are_seen_by_what_becomes_of_them(world) {
        let (one, two) = (project(world, "one").await, project(world, "two").await);
        for name in ["a", "b", "c"] {
            session(world, &one, name).await;
        }
        let asking = session(world, &two, "asks").await;
        say(world, &asking, ReportKind::NeedsInput, "A or B?").await;
        let begun = (world.clock.load(std::sync::atomic::Ordering::Relaxed)) + 1;
        world.wait(1000);
        for (name, status) in [("b", SessionStatus::Failed), ("c", SessionStatus::Completed)] {
            let id = SessionId::parse(name).unwrap();
            world.store.write(UpdateSession { status: Some(status), ..UpdateSession::of(id, Actor::Person) }).await.unwrap();
        }
        let names = |names: &[&str]| names.iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!(seen(world, OverviewGroup::Alive, 1, None).await, (names(&["a"]), 2));
        assert_eq!(seen(world, OverviewGroup::Alive, 9, Some(&two)).await, (names(&["asks"]), 1));
        assert_eq!(seen(world, OverviewGroup::Asking, 9, None).await, (names(&["asks"]), 1));
        assert_eq!(seen(world, OverviewGroup::Failed(begun), 9, None).await, (names(&["b"]), 1));
        assert_eq!(seen(world, OverviewGroup::Completed(begun), 9, None).await, (names(&["c"]), 1));
        assert_eq!(seen(world, OverviewGroup::Completed(begun + 5000), 9, None).await, (names(&[]), 0));
        let counts = world.store.read(CountProjects).await.unwrap();
        assert!(counts.any_session);
        assert!(counts.sessions.contains(&(one.clone(), SessionStatus::Working, 1)), "{counts:?}");
        assert!(counts.tasks.contains(&(two, TaskStatus::InProgress, 1)), "{counts:?}");
    }

    async fn the_last_words_of_many_are_read_at_once(world) {
        let project = project(world, "one").await;
        let mut sessions = Vec::new();
        for number in 0..60 {
            let id = session(world, &project, &format!("s{number}")).await;
            say(world, &id, ReportKind::Progress, "first").await;
            say(world, &id, ReportKind::Blocked, &format!("last of {number}")).await;
            say(world, &id, ReportKind::Progress, "after all").await;
            sessions.push(id);
        }
        let words = world.store.read(LastTimelineEntries { sessions: sessions.clone(), kind: None }).await.unwrap();
        assert_eq!((words.len(), words[&sessions[59]].message.as_str()), (60, "after all"));
        let why = world.store.read(LastTimelineEntries { sessions: sessions.clone(), kind: Some("task_blocked") }).await.unwrap();
        assert_eq!((why.len(), why[&sessions[59]].message.as_str()), (60, "last of 59"));
        for text in ["one", "two"] {
            let said = SendMessage { session: sessions[3].clone(), from: "you".into(), text: text.into(), actor: Actor::Person };
            world.store.write(said).await.unwrap();
        }
        let told = world.store.read(LastMessages { sessions: sessions.clone() }).await.unwrap();
        assert_eq!((told.len(), told[&sessions[3]].text.as_str()), (1, "two"));
        let seen = world.store.read(OverviewSessions { project: None, group: OverviewGroup::Alive, limit: 60 }).await.unwrap();
        let tasks = seen.items.iter().filter_map(|session| session.tasks.first().cloned()).collect();
        assert_eq!(world.store.read(TaskTitles { tasks }).await.unwrap().len(), 60);
    }
}
