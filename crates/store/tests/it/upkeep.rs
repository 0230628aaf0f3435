//! Is a copy complete, is damage found, and is only what is finished forgotten?

use maestro_core::report::ReportKind;
use maestro_core::task::TaskStatus;
use maestro_store::*;

use crate::cast::assert_refused;
use crate::world::{MINUTE, World, both, still};

const DAY: i64 = 24 * 60 * MINUTE;

async fn all(store: &Store) -> (Vec<maestro_core::task::Task>, Vec<maestro_core::session::Session>, String) {
    let events = store.read(EventsAfter { seq: 0, limit: i64::MAX, filter: EventFilter::default() }).await.unwrap();
    (
        store.read(TaskList::default()).await.unwrap().items,
        store.read(SessionList::default()).await.unwrap().items,
        serde_json::to_string(&events).unwrap(),
    )
}

async fn busy_world() -> World {
    let world = World::sqlite();
    let task = world.task("Fix the login").await;
    let session = world.session(&[&task]).await;
    world.says(&session, ReportKind::Progress, "reading").await;
    world
}

#[tokio::test]
async fn a_copy_holds_what_the_original_held() {
    let (world, directory) = (busy_world().await, tempfile::tempdir().unwrap());
    let copy = directory.path().join("copy.db");
    backup(&world.store, &copy).unwrap();
    let original = all(&world.store).await;
    world.task("came later").await;
    assert_eq!(all(&Store::open(DatabaseLocation::File(copy.clone()), &still()).unwrap()).await, original);
    assert_refused!(backup(&world.store, &copy), StoreError::File { .. });
}

#[tokio::test]
async fn a_restored_copy_takes_the_place_of_what_was_there() {
    let (world, directory) = (busy_world().await, tempfile::tempdir().unwrap());
    let copy = directory.path().join("copy.db");
    backup(&world.store, &copy).unwrap();
    let then = all(&world.store).await;
    let place = directory.path().join("fresh.db");
    restore(&copy, &place).unwrap();
    let restored = Store::open(DatabaseLocation::File(place.clone()), &still()).unwrap();
    assert_eq!(all(&restored).await, then);
    restored
        .write(CreateProject { name: "came later".into(), working_dir: String::new(), description: String::new() })
        .await
        .unwrap();
    assert_ne!(all(&restored).await, then);
    drop(restored);
    restore(&copy, &place).unwrap();
    assert_eq!(all(&Store::open(DatabaseLocation::File(place), &still()).unwrap()).await, then);
}

#[tokio::test]
async fn a_store_in_use_is_not_replaced() {
    let (world, directory) = (busy_world().await, tempfile::tempdir().unwrap());
    let copy = directory.path().join("copy.db");
    backup(&world.store, &copy).unwrap();
    world.task("came later").await;
    let before = all(&world.store).await;
    assert_refused!(restore(&copy, world.store.file().unwrap()), StoreError::Busy);
    assert_eq!(all(&world.store).await, before);
}

#[tokio::test]
async fn the_log_can_be_emptied_while_the_store_is_open() {
    let world = busy_world().await;
    let (file, before) = (world.store.file().unwrap(), all(&world.store).await);
    let log = file.with_extension("db-wal");
    assert!(log.metadata().unwrap().len() > 0);
    empty_log(file).unwrap();
    assert_eq!(log.metadata().unwrap().len(), 0);
    assert_eq!(all(&world.store).await, before);
    let absent = file.with_file_name("absent.db");
    empty_log(&absent).unwrap();
    assert!(!absent.exists());
}

#[tokio::test]
async fn what_is_no_copy_is_not_restored() {
    let (world, directory) = (busy_world().await, tempfile::tempdir().unwrap());
    let before = all(&world.store).await;
    let text = directory.path().join("notes.txt");
    std::fs::write(&text, "these are my notes, and not a database at all\n".repeat(50)).unwrap();
    let foreign = directory.path().join("places.sqlite");
    rusqlite::Connection::open(&foreign).unwrap().execute_batch("CREATE TABLE places (url TEXT)").unwrap();
    for path in [text, foreign, directory.path().join("missing.db")] {
        let refused = restore(&path, world.store.file().unwrap());
        assert_refused!(refused, StoreError::File { path: named, .. } if named == path);
    }
    assert_eq!(all(&world.store).await, before);
}

both! {
    async fn only_events_of_finished_things_are_forgotten(world) {
        let (open, done) = (world.task("open").await, world.task("done").await);
        let (alive, ended) = (world.session(&[&open]).await, world.session(&[&done]).await);
        world.says(&alive, ReportKind::Progress, "at it").await;
        world.says(&ended, ReportKind::Complete, "done").await;
        world.wait(10 * DAY);
        world.says(&alive, ReportKind::Progress, "still at it").await;
        let young = world.task("young").await;
        world.set_status(&young, TaskStatus::Completed).await;

        let forgotten = world.store.write(PruneHistory { events: 5 * DAY, from: 0 }).await.unwrap();
        assert!(forgotten.events > 0);
        let left = world.events_after(0).await;
        let of = |task: &maestro_core::task::Task| {
            left.iter().filter(|event| event.task.as_deref() == Some(task.id.to_string().as_str())).count()
        };
        assert!(of(&open) > 3, "somebody works on it");
        assert_eq!(of(&done), 0);
        assert_eq!(of(&young), 2, "it was only just finished");
        assert!(left.iter().all(|event| event.session.as_deref() != Some(ended.id.to_string().as_str())));
        world.assert_in_order().await;

        world.set_status(&done, TaskStatus::Todo).await;
        world.assert_in_order().await;
        assert_eq!(world.store.write(PruneHistory { events: 5 * DAY, from: 0 }).await.unwrap().events, 0);
    }

    async fn what_was_archived_is_forgotten_and_nothing_else(world) {
        let (open, done) = (world.task("open").await, world.task("done").await);
        world.set_status(&done, TaskStatus::Completed).await;
        world.wait(10 * DAY);
        let before = world.clock.load(std::sync::atomic::Ordering::Relaxed) - 5 * DAY;
        let all = world.events_after(0).await.len();
        let part = world.store.read(PrunableEvents { before, from: 0 }).await.unwrap();
        assert!(part.rows.iter().any(|event| event.task.as_deref() == Some(done.id.to_string().as_str())));
        assert!(part.rows.iter().all(|event| event.task.as_deref() != Some(open.id.to_string().as_str())));
        assert_eq!(part.next, None);
        let seqs: Vec<i64> = part.rows.iter().map(|event| event.seq).collect();
        let removed = world.store.write(ForgetEvents { seqs: seqs.clone(), before }).await.unwrap();
        assert_eq!(removed, seqs.len() as u64);
        assert_eq!(world.events_after(0).await.len(), all - seqs.len());
        assert!(world.store.read(PrunableEvents { before, from: 0 }).await.unwrap().rows.is_empty());
        world.assert_in_order().await;
    }

    async fn what_goes_on_again_keeps_its_archived_events(world) {
        let (again, done) = (world.task("again").await, world.task("done").await);
        for task in [&done, &again] {
            world.set_status(task, TaskStatus::Completed).await;
        }
        world.wait(10 * DAY);
        let before = world.clock.load(std::sync::atomic::Ordering::Relaxed) - 5 * DAY;
        let part = world.store.read(PrunableEvents { before, from: 0 }).await.unwrap();
        let seqs: Vec<i64> = part.rows.iter().map(|event| event.seq).collect();
        let of = |rows: &[EventRow], task: &maestro_core::task::Task| {
            rows.iter().filter(|event| event.task.as_deref() == Some(task.id.to_string().as_str())).count()
        };
        let (old, had) = (of(&part.rows, &again), of(&world.events_after(0).await, &again));
        assert!(old > 0);

        world.set_status(&again, TaskStatus::Todo).await;
        let removed = world.store.write(ForgetEvents { seqs: seqs.clone(), before }).await.unwrap();
        assert_eq!(removed, (seqs.len() - old) as u64, "what was reopened in between stays");
        let left = world.events_after(0).await;
        assert_eq!((of(&left, &again), of(&left, &done)), (had + 1, 0));
        assert_eq!(world.store.write(ForgetEvents { seqs, before }).await.unwrap(), 0, "another prune was faster");
        world.assert_in_order().await;
    }

    async fn an_event_of_a_wrong_clock_does_not_stop_it(world) {
        let done = world.task("done").await;
        world.set_status(&done, TaskStatus::Completed).await;
        world.sql("UPDATE events SET at = at + 999999999999 WHERE seq = (SELECT min(seq) FROM events)").await;
        world.wait(10 * DAY);
        world.task("young").await;
        let before = world.clock.load(std::sync::atomic::Ordering::Relaxed) - 5 * DAY;
        assert!(!world.store.read(PrunableEvents { before, from: 0 }).await.unwrap().rows.is_empty());
        assert!(world.store.write(PruneHistory { events: 5 * DAY, from: 0 }).await.unwrap().events > 0);

        // Years later it still is the first one, and the others are far away.
        world.set_status(&world.task("done, too").await, TaskStatus::Completed).await;
        world.sql("UPDATE events SET seq = seq + 100000 WHERE seq > (SELECT min(seq) FROM events)").await;
        world.wait(10 * DAY);
        world.task("younger").await;
        assert!(world.store.write(PruneHistory { events: 5 * DAY, from: 0 }).await.unwrap().events > 0);
    }

    async fn an_answer_is_kept_for_a_day(world) {
        let project = CreateProject { name: "a".into(), working_dir: "/a".into(), description: String::new() };
        let once = || Some(IdempotencyKey { request: "k".into(), fingerprint: "f".into() });
        let first = world.store.write_once(project.clone(), once()).await.unwrap();
        world.wait(DAY - MINUTE);
        assert_eq!(world.store.write(PruneHistory { events: DAY, from: 0 }).await.unwrap().answers, 0);
        assert_eq!(world.store.write_once(project.clone(), once()).await.unwrap(), first);
        world.wait(2 * MINUTE);
        assert_eq!(world.store.write(PruneHistory { events: DAY, from: 0 }).await.unwrap().answers, 1);
        assert_ne!(world.store.write_once(project, once()).await.unwrap(), first);
    }

    async fn damage_is_found(world) {
        let task = world.task("Fix the login").await;
        let session = world.session(&[&task]).await;
        world.says(&session, ReportKind::Complete, "done").await;
        world.assert_in_order().await;
        let cases = [
            (
                "UPDATE events SET type = 'task:unmade' WHERE type = 'task:created'",
                "tasks without the event that made them",
            ),
            ("UPDATE events SET type = 'task:created' WHERE type = 'task:unmade'", ""),
            ("UPDATE task_sessions SET status = 'working'", "ended sessions that are still at work on a task"),
            ("UPDATE task_sessions SET status = 'completed'", ""),
            ("UPDATE events SET payload = '{}' WHERE type = 'session:created'", "events that cannot be read"),
        ];
        for (damage, expected) in cases {
            world.sql(damage).await;
            let found: Vec<String> =
                world.store.read(CheckIntegrity).await.unwrap().into_iter().map(|finding| finding.what).collect();
            if expected.is_empty() {
                assert_eq!(found, Vec::<String>::new(), "{damage}");
            } else {
                assert!(found.iter().any(|what| what == expected), "{damage}: {found:?}");
            }
        }
    }
}
