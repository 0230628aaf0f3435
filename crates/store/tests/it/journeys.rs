//! The main journeys: a project, a task, a session that reports, and what follows.

use maestro_core::Role;
use maestro_core::notice::Notice;
use maestro_core::report::ReportKind;
use maestro_core::session::{Approach, Session, SessionStatus};
use maestro_core::task::{Task, TaskStatus};
use maestro_core::{Project, id::SessionId};
use maestro_store::*;
use serde_json::Map;

use crate::world::{World, both};

async fn project(world: &World) -> Project {
    let create = CreateProject { name: "shop".into(), working_dir: "/work/shop".into(), description: String::new() };
    world.store.write(create).await.unwrap()
}

async fn task(world: &World, project: &Project, title: &str) -> Task {
    let create = CreateTask { project: Some(project.id.clone()), title: title.into(), ..CreateTask::default() };
    world.store.write(create).await.unwrap()
}

async fn subtask(world: &World, parent: &Task, title: &str) -> Task {
    let create = CreateTask { parent: Some(parent.id.clone()), title: title.into(), ..CreateTask::default() };
    world.store.write(create).await.unwrap()
}

async fn session(world: &World, project: &Project, tasks: &[&Task]) -> Session {
    let create = CreateSession {
        id: None,
        project: project.id.clone(),
        tasks: tasks.iter().map(|task| task.id.clone()).collect(),
        name: None,
        role: Role::Worker,
        agent: None,
        strategy: Approach::Simple,
        status: SessionStatus::Idle,
        env: Map::new(),
        metadata: Map::new(),
        parent: None,
        hostname: "host".into(),
        platform: "linux".into(),
    };
    world.store.write(create).await.unwrap()
}

fn says(session: &SessionId, kind: ReportKind, message: &str) -> Report {
    Report {
        who: Who::Session(session.clone()),
        kind,
        message: Some(message.into()),
        tasks: Vec::new(),
        metadata: None,
        actor: Actor::Session { id: session.clone(), role: Role::Worker },
    }
}

async fn status(world: &World, task: &Task) -> TaskStatus {
    world.store.read(TaskById(task.id.clone())).await.unwrap().status
}

both! {
    async fn a_worker_reports_and_its_task_follows(world) {
        let project = project(world).await;
        let task = task(world, &project, "Fix the login").await;
        let session = session(world, &project, &[&task]).await;

        let reported = world.store.write(says(&session.id, ReportKind::Progress, "reading")).await.unwrap();
        assert_eq!(reported.status, SessionStatus::Working);
        assert_eq!(status(world, &task).await, TaskStatus::InProgress);

        let subtask = subtask(world, &task, "Also fix the tests").await;
        let reported = world.store.write(says(&session.id, ReportKind::Progress, "still reading")).await.unwrap();
        let added = Notice::SubtaskAdded { task: subtask.id.clone(), title: subtask.title.clone() };
        assert_eq!(reported.news.notices, [added]);

        let reported = world.store.write(says(&session.id, ReportKind::Complete, "done")).await.unwrap();
        assert_eq!(reported.status, SessionStatus::Completed);
        assert_eq!(status(world, &task).await, TaskStatus::InProgress, "a subtask is open");

        let patch = TaskPatch { status: Some(TaskStatus::Completed), ..TaskPatch::default() };
        let update = UpdateTask { id: subtask.id, patch, pair: None, expected: None, actor: Actor::Person };
        world.store.write(update).await.unwrap();
        assert_eq!(status(world, &task).await, TaskStatus::Completed);

        let events = world.store.read(EventsAfter { seq: 0, limit: 100, filter: EventFilter::default() }).await.unwrap();
        let seqs: Vec<i64> = events.iter().map(|event| event.seq).collect();
        assert!(seqs.is_sorted() && !seqs.is_empty());
        assert_eq!(world.store.read(Check).await.unwrap(), []);
    }

    async fn silence_ends_a_session_and_frees_its_task(world) {
        let project = project(world).await;
        let task = task(world, &project, "Fix the login").await;
        let session = session(world, &project, &[&task]).await;
        world.store.write(says(&session.id, ReportKind::Progress, "reading")).await.unwrap();

        world.wait(14 * 60 * 1000);
        assert_eq!(world.store.write(ExpireSilent).await.unwrap(), []);
        world.wait(2 * 60 * 1000);
        assert_eq!(world.store.write(ExpireSilent).await.unwrap(), std::slice::from_ref(&session.id));
        assert_eq!(status(world, &task).await, TaskStatus::Todo);

        let reported = world.store.write(says(&session.id, ReportKind::Progress, "back again")).await.unwrap();
        assert_eq!(reported.status, SessionStatus::Working);
        assert_eq!(status(world, &task).await, TaskStatus::InProgress);
    }

    async fn a_sign_of_life_takes_no_question_back(world) {
        let project = project(world).await;
        let task = task(world, &project, "Fix the login").await;
        let session = session(world, &project, &[&task]).await;
        let asks = async || world.store.read(SessionById(session.id.clone())).await.unwrap().needs_input;

        world.store.write(says(&session.id, ReportKind::NeedsInput, "Which colour?")).await.unwrap();
        let beat = Report { message: None, ..says(&session.id, ReportKind::Progress, "") };
        world.store.write(beat).await.unwrap();
        assert_eq!(asks().await.as_deref(), Some("Which colour?"));
        world.store.write(says(&session.id, ReportKind::Progress, "blue it is")).await.unwrap();
        assert_eq!(asks().await, None);
    }

    async fn a_task_finds_the_session_that_must_hear_of_its_end(world) {
        let project = project(world).await;
        let task = task(world, &project, "Fix the login").await;
        let session = session(world, &project, &[&task]).await;
        let speak = || Report {
            who: Who::Task(task.id.clone()),
            actor: Actor::Person,
            ..says(&session.id, ReportKind::Progress, "going on")
        };

        let cancel = Steer { id: session.id.clone(), order: Order::Cancel, actor: Actor::Person };
        world.store.write(cancel).await.unwrap();
        let heard = world.store.write(speak()).await.unwrap();
        assert_eq!((&heard.session, heard.status), (&session.id, SessionStatus::Stopped));
        assert_eq!(heard.news.notices, [Notice::Cancelled]);
        let confirm = Confirm {
            session: session.id.clone(),
            cursor: heard.news.cursor,
            how: "reply".into(),
            actor: Actor::Person,
        };
        world.store.write(confirm).await.unwrap();
        assert_ne!(world.store.write(speak()).await.unwrap().session, session.id);
    }

    async fn a_session_that_is_done_may_still_finish_a_subtask_it_names(world) {
        let project = project(world).await;
        let task = task(world, &project, "Fix the login").await;
        let session = session(world, &project, &[&task]).await;
        let part = subtask(world, &task, "Test it").await;

        world.store.write(says(&session.id, ReportKind::Complete, "done")).await.unwrap();
        assert_eq!(status(world, &task).await, TaskStatus::InProgress);
        let report = Report { tasks: vec![part.id.clone()], ..says(&session.id, ReportKind::Complete, "tested") };
        assert_eq!(world.store.write(report).await.unwrap().status, SessionStatus::Completed);
        assert_eq!(status(world, &part).await, TaskStatus::Completed);
        assert_eq!(status(world, &task).await, TaskStatus::Completed);
    }

    async fn everything_below_a_task_is_found_at_once(world) {
        let project = project(world).await;
        let top = task(world, &project, "Fix the login").await;
        let other = task(world, &project, "Write the docs").await;
        let part = subtask(world, &top, "Test it").await;
        let deep = subtask(world, &part, "By hand").await;
        subtask(world, &other, "Elsewhere").await;

        let filter = TaskFilter { below: Some(top.id.clone()), ..TaskFilter::default() };
        let found = world.store.read(Tasks { filter, page: Page::default() }).await.unwrap().items;
        let ids: Vec<_> = found.into_iter().map(|task| task.id).collect();
        assert_eq!(ids, [part.id, deep.id]);
    }
}
