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

both! {
    async fn tasks_are_grouped_by_what_a_person_reads(world) {
        let project = project(world, "one").await;
        let make = |title: &str, parent: Option<maestro_core::id::TaskId>, priority| CreateTask {
            project: Some(project.clone()), title: title.into(), parent, priority, ..CreateTask::default()
        };
        let low = world.store.write(make("low", None, maestro_core::task::TaskPriority::Low)).await.unwrap();
        let high = world.store.write(make("high", None, maestro_core::task::TaskPriority::High)).await.unwrap();
        let part = world.store.write(make("part", Some(low.id.clone()), maestro_core::task::TaskPriority::Medium)).await.unwrap();
        let done = TaskPatch { status: Some(TaskStatus::Completed), ..TaskPatch::default() };
        let asking = session(world, &project, "asks").await;
        say(world, &asking, ReportKind::NeedsInput, "A or B?").await;
        let working = session(world, &project, "works").await;
        say(world, &working, ReportKind::Progress, "on it").await;
        let titles = async |group: TaskColumn, limit: i64| {
            let list = world.store.read(TaskColumnList { project: Some(project.clone()), group, limit }).await.unwrap();
            (list.items.into_iter().map(|task| task.title).collect::<Vec<_>>(), list.total)
        };
        assert_eq!(titles(TaskColumn::Queued, 9).await, (vec!["high".to_owned(), "low".to_owned()], 2));
        assert_eq!(titles(TaskColumn::Queued, 1).await, (vec!["high".to_owned()], 2));
        assert_eq!(titles(TaskColumn::Waiting, 9).await, (vec!["Task of asks".to_owned()], 1));
        assert_eq!(titles(TaskColumn::Working, 9).await, (vec!["Task of works".to_owned()], 1));
        for id in [part.id.clone(), high.id.clone()] {
            let change = UpdateTask { id, patch: done.clone(), task_session: None, expected: None, actor: Actor::Person };
            world.store.write(change).await.unwrap();
        }
        let counts = world.store.read(SubtaskCounts { parents: vec![low.id.clone(), high.id.clone()] }).await.unwrap();
        assert_eq!(counts.get(&low.id), Some(&SubtaskCount { done: 1, all: 1 }));
        assert_eq!(counts.get(&high.id), None);
        let (done, total) = titles(TaskColumn::Done, 9).await;
        assert!(done.contains(&"high".to_owned()) && total == 2, "{done:?}");
    }
}

both! {
    async fn words_are_found_where_they_are(world) {
        let project = project(world, "one").await;
        let found = session(world, &project, "upload-limiter").await;
        say(world, &found, ReportKind::NeedsInput, "100% of Redis_keys?").await;
        let search = async |text: &str| {
            let search = TextSearch { text: text.to_owned(), project: Some(project.clone()), limit: 9 };
            let found = world.store.read(search).await.unwrap();
            (found.tasks.len(), found.sessions.len())
        };
        assert_eq!(search("TASK limiter").await, (1, 0));
        assert_eq!(search("100% redis_").await, (0, 1));
        assert_eq!(search("1000 redis").await, (0, 0), "signs of a pattern are plain signs");
        assert_eq!(search("  ").await, (0, 0));
    }

    async fn the_log_is_searched_from_its_end(world) {
        let project = project(world, "one").await;
        for name in ["a", "b", "c"] {
            session(world, &project, name).await;
        }
        let kinds = async |search: EventSearch| {
            let page = world.store.read(EventSearch { project: Some(project.clone()), ..search }).await.unwrap();
            (page.rows.iter().map(|row| row.kind.clone()).collect::<Vec<_>>(), page.older)
        };
        let created = EventSearch { kind: Some("session:created".into()), limit: 2, ..EventSearch::default() };
        let (found, older) = kinds(created.clone()).await;
        assert_eq!(found, ["session:created", "session:created"]);
        let (found, _) = kinds(EventSearch { before: older, ..created }).await;
        assert_eq!(found, ["session:created"]);
        let (found, _) = kinds(EventSearch { text: "task of b".into(), limit: 9, ..EventSearch::default() }).await;
        assert!(found.contains(&"task:created".to_owned()), "{found:?}");
        let (found, _) = kinds(EventSearch { agent: Some(String::new()), limit: 99, ..EventSearch::default() }).await;
        assert!(found.iter().all(|kind| !kind.starts_with("session:")), "{found:?}");
    }
}
