//! What if two do something at the same moment, or the server goes away?

use std::time::Duration;

use maestro_core::handoff::HandoffState;
use maestro_core::report::ReportKind;
use maestro_core::session::SessionStatus;
use maestro_core::task::TaskStatus;
use maestro_store::*;

use crate::cast::{assert_refused, below, heartbeat, rename, says, set_status};
use crate::world::{MINUTE, World, both};

both! {
    async fn two_sessions_that_finish_at_once_finish_their_task(world) {
        for _ in 0..10 {
            let task = world.task("shared").await;
            let (one, two) = (world.session(&[&task]).await, world.session(&[&task]).await);
            world.says(&one, ReportKind::Progress, "at it").await;
            world.says(&two, ReportKind::Progress, "at it").await;
            tokio::join!(
                world.says(&one, ReportKind::Complete, "done"),
                world.says(&two, ReportKind::Complete, "done")
            );
            assert_eq!(world.status(&task).await, TaskStatus::Completed);
        }
    }

    async fn two_subtasks_that_end_at_once_end_what_they_are_parts_of(world) {
        for _ in 0..10 {
            let task = world.task("whole").await;
            let (one, two) = (world.subtask(&task, "one").await, world.subtask(&task, "two").await);
            tokio::join!(world.set_status(&one, TaskStatus::Completed), world.set_status(&two, TaskStatus::Completed));
            assert_eq!(world.status(&task).await, TaskStatus::Completed);
        }
    }

    async fn work_that_was_passed_on_is_taken_once(world) {
        let create = CreateHandoff {
            project: world.project().await,
            task: None,
            from: "architect".into(),
            to: "builder".into(),
            title: "Build it".into(),
            body: "as drawn".into(),
        };
        for _ in 0..5 {
            let handoff = world.store.write(create.clone()).await.unwrap();
            let accept = |by: &str| AcceptHandoff { id: handoff.id.clone(), by: by.into() };
            let (one, two) = tokio::join!(world.store.write(accept("one")), world.store.write(accept("two")));
            assert_eq!([one.is_ok(), two.is_ok()].into_iter().filter(|won| *won).count(), 1);
            let done = world.store.write(CompleteHandoff { id: handoff.id, result: None }).await.unwrap();
            assert_eq!(done.state, HandoffState::Completed);
        }
    }

    async fn who_reports_on_one_task_at_once_shares_a_session(world) {
        let task = world.task("Fix the login").await;
        let ghost = "ghost".parse().unwrap();
        let report = || SubmitReport {
            source: ReportSource::Task(task.id.clone()),
            actor: Actor::Person,
            ..says(&ghost, ReportKind::Progress, "at it")
        };
        let (one, two) = tokio::join!(world.store.write(report()), world.store.write(report()));
        assert_eq!(one.unwrap().session, two.unwrap().session);
    }

    async fn a_sign_of_life_at_the_last_moment_counts(world) {
        for _ in 0..10 {
            let task = world.task("Fix the login").await;
            let session = world.session(&[&task]).await;
            world.wait(16 * MINUTE);
            let (expired, reported) =
                tokio::join!(world.store.write(ExpireSilentSessions), world.store.write(heartbeat(&session.id)));
            expired.unwrap();
            assert_eq!(reported.unwrap().status, SessionStatus::Working);
            // Whoever came first: it is alive afterwards, and its task with it, unless it was ended after its word.
            let now = world.find(&session).await;
            assert_eq!(now.status, SessionStatus::Working);
            world.store.write(DeleteSession { id: session.id, actor: Actor::Person }).await.unwrap();
        }
    }

    async fn a_task_that_is_removed_while_others_add_to_it_takes_all_with_it(world) {
        for _ in 0..5 {
            let task = world.task("whole").await;
            let mut work = tokio::task::JoinSet::new();
            for number in 0..12 {
                let (store, create) = (world.store.clone(), below(&task, &format!("part {number}"), Actor::Person));
                work.spawn(async move { store.write(create).await.map(|_| ()) });
            }
            let delete = DeleteTask { id: task.id.clone(), subtasks: SubtaskPolicy::Delete, actor: Actor::Person };
            let store = world.store.clone();
            work.spawn(async move { store.write(delete).await });
            for outcome in work.join_all().await {
                match outcome {
                    Ok(()) | Err(StoreError::NotFound { what: RecordKind::ParentTask, .. }) => {}
                    Err(other) => panic!("{other:?}"),
                }
            }
            assert_eq!(world.store.read(TaskList::default()).await.unwrap().items, []);
        }
        world.assert_in_order().await;
    }

    async fn a_crowd_at_one_tree_is_served_without_errors(world) {
        let root = world.task("root").await;
        let (left, right) = (world.subtask(&root, "left").await, world.subtask(&root, "right").await);
        let mut work = tokio::task::JoinSet::new();
        for number in 0..8 {
            let tasks = if number % 2 == 0 { [&left, &right] } else { [&right, &left] };
            let session = world.session(&tasks).await;
            let (store, left, root) = (world.store.clone(), left.clone(), root.clone());
            work.spawn(async move {
                for step in 0..8 {
                    store.write(says(&session.id, ReportKind::Progress, "at it")).await.unwrap();
                    let about = SubmitReport { tasks: session.tasks.clone(), ..says(&session.id, ReportKind::Blocked, "hm") };
                    store.write(about).await.unwrap();
                    store.write(rename(&left, &format!("left {number}.{step}"), Actor::Person)).await.unwrap();
                    store.write(below(&root, "more", Actor::Person)).await.unwrap();
                }
                let found =
                    SubmitReport { tasks: session.tasks.clone(), ..says(&session.id, ReportKind::Progress, "ah") };
                store.write(found).await.unwrap();
                store.write(says(&session.id, ReportKind::Complete, "done")).await.unwrap();
            });
        }
        work.join_all().await;
        assert_eq!(world.status(&left).await, TaskStatus::Completed);
        assert_eq!(world.status(&right).await, TaskStatus::Completed);
        world.assert_in_order().await;
    }
}

/// A connection of somebody else to the same PostgreSQL schema.
fn somebody(world: &World) -> postgres::Client {
    match world.store.location() {
        DatabaseLocation::Postgres(url) => postgres::Client::connect(url, postgres::NoTls).unwrap(),
        DatabaseLocation::File(path) => panic!("{} is no server", path.display()),
    }
}

#[tokio::test]
async fn a_server_that_was_away_for_a_moment_is_found_again() {
    let Some(world) = tokio::task::spawn_blocking(World::postgres).await.unwrap() else { return };
    let task = world.task("Fix the login").await;
    for round in 0..5 {
        let schema = world.schema.clone().unwrap();
        tokio::task::spawn_blocking(move || {
            let server = std::env::var(crate::world::SERVER).unwrap();
            let mut admin = postgres::Client::connect(&server, postgres::NoTls).unwrap();
            let end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1";
            assert!(!admin.query(end, &[&schema]).unwrap().is_empty());
        })
        .await
        .unwrap();
        world.store.write(rename(&task, &format!("title {round}"), Actor::Person)).await.unwrap();
        assert_eq!(world.store.read(TaskById(task.id.clone())).await.unwrap().title, format!("title {round}"));
    }
}

#[tokio::test]
async fn whoever_waits_too_long_for_another_server_is_told() {
    let Some(world) = tokio::task::spawn_blocking(World::postgres).await.unwrap() else { return };
    let task = world.task("Fix the login").await;
    let hasty = world.again(StoreOptions { busy_timeout: Duration::from_millis(50) }).await;
    let world = std::sync::Arc::new(world);
    let held = std::sync::Arc::clone(&world);
    let mut other = tokio::task::spawn_blocking(move || {
        let mut other = somebody(&held);
        other.batch_execute("BEGIN; UPDATE tasks SET title = 'theirs'").unwrap();
        other
    })
    .await
    .unwrap();
    assert_refused!(hasty.write(set_status(&task, TaskStatus::Completed, Actor::Person)).await, StoreError::Busy);
    tokio::task::spawn_blocking(move || other.batch_execute("ROLLBACK").unwrap()).await.unwrap();
    hasty.write(set_status(&task, TaskStatus::Completed, Actor::Person)).await.unwrap();
    assert_eq!(world.status(&task).await, TaskStatus::Completed);
}

#[tokio::test]
async fn what_is_in_the_way_each_time_is_told_and_not_tried_for_ever() {
    let Some(world) = tokio::task::spawn_blocking(World::postgres).await.unwrap() else { return };
    world.sql("CREATE UNIQUE INDEX one_of_each ON tasks (title)").await;
    world.task("Fix the login").await;
    let again =
        CreateTask { project: Some(world.project().await), title: "Fix the login".into(), ..CreateTask::default() };
    assert_refused!(world.store.write(again).await, StoreError::Database(why) if why.contains("one_of_each"));
}
