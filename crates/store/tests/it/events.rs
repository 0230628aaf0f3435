//! Is the log in the order of commits, complete, and free of what never happened?

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use maestro_core::id::EntityId;
use maestro_core::report::ReportKind;
use maestro_core::task::TaskStatus;
use maestro_store::*;

use crate::cast::{assert_refused, says, set_status};
use crate::world::{World, both};

both! {
    async fn many_writers_leave_one_order(world) {
        const WRITERS: usize = 32;
        const EACH: usize = 6;
        let project = world.project().await;
        let mut writers = tokio::task::JoinSet::new();
        for writer in 0..WRITERS {
            let (store, project) = (world.store.clone(), project.clone());
            writers.spawn(async move {
                let mut own = Vec::new();
                for number in 0..EACH {
                    let title = format!("{writer}.{number}");
                    let create = CreateTask { project: Some(project.clone()), title, ..CreateTask::default() };
                    own.push(store.write(create).await.unwrap().id);
                }
                own
            });
        }
        let made = writers.join_all().await;
        let events = world.events_after(0).await;
        assert!(events.windows(2).all(|pair| pair[0].seq < pair[1].seq));
        let created: Vec<&str> = events
            .iter()
            .filter(|event| event.kind == "task:created")
            .map(|event| event.task.as_deref().unwrap())
            .collect();
        assert_eq!(created.len(), WRITERS * EACH);
        for own in made {
            let places: Vec<usize> =
                own.iter().map(|id| created.iter().position(|task| *task == id.as_str()).unwrap()).collect();
            assert!(places.is_sorted(), "a writer's own changes stay in its order");
        }
        world.assert_in_order().await;
    }

    async fn a_reader_misses_nothing_while_others_write(world) {
        const WRITERS: usize = 8;
        let project = world.project().await;
        let done = Arc::new(AtomicBool::new(false));
        let reader = {
            let (store, done) = (world.store.clone(), Arc::clone(&done));
            tokio::spawn(async move {
                let mut seen = Vec::new();
                loop {
                    let last = done.load(Ordering::Acquire);
                    let seq = seen.last().copied().unwrap_or(0);
                    let new = store.read(EventsAfter { seq, limit: 50, filter: EventFilter::default() }).await.unwrap();
                    seen.extend(new.iter().map(|event| event.seq));
                    tokio::time::sleep(std::time::Duration::from_millis(1)).await;
                    if last && new.is_empty() {
                        return seen;
                    }
                }
            })
        };
        let mut writers = tokio::task::JoinSet::new();
        for writer in 0..WRITERS {
            let task = world.task(&format!("task {writer}")).await;
            let session = world.session(&[&task]).await;
            let (store, project) = (world.store.clone(), project.clone());
            writers.spawn(async move {
                for number in 0..15 {
                    // Short changes and long ones, so that they overtake each other.
                    store.write(says(&session.id, ReportKind::Progress, &format!("step {number}"))).await.unwrap();
                    let create =
                        CreateTask { project: Some(project.clone()), title: "new".into(), ..CreateTask::default() };
                    store.write(create).await.unwrap();
                }
            });
        }
        writers.join_all().await;
        done.store(true, Ordering::Release);
        let seen = reader.await.unwrap();
        let all: Vec<i64> = world.events_after(0).await.iter().map(|event| event.seq).collect();
        assert_eq!(seen, all, "nothing appeared behind what was seen already");
    }

    async fn what_was_refused_did_not_happen(world) {
        let task = world.task("Fix the login").await;
        world.set_status(&task, TaskStatus::Completed).await;
        let before = world.last_seq().await;
        let refused = world.store.write(set_status(&task, TaskStatus::Blocked, Actor::Person)).await;
        assert_refused!(refused, StoreError::TaskTransition { .. });
        // A change that is refused at its very end: the title is new, the session is not there.
        let patch = TaskPatch {
            title: Some("better".into()),
            sessions: Some(vec!["ghost".parse().unwrap()]),
            ..TaskPatch::default()
        };
        let update = UpdateTask { id: task.id.clone(), patch, task_session: None, expected: None, actor: Actor::Person };
        assert_refused!(world.store.write(update).await, StoreError::NotFound { .. });
        assert_eq!(world.last_seq().await, before);
        assert_eq!(world.store.read(TaskById(task.id)).await.unwrap().title, "Fix the login");
    }

    async fn a_reader_gets_what_it_asked_for(world) {
        let (one, two) = (world.task("one").await, world.task("two").await);
        let session = world.session(&[&one]).await;
        world.says(&session, ReportKind::Progress, "reading").await;
        let all = world.events_after(0).await;
        let filters = [
            EventFilter { task: Some(two.id.clone()), ..EventFilter::default() },
            EventFilter { session: Some(session.id.clone()), ..EventFilter::default() },
            EventFilter { task: Some(one.id), session: Some(session.id), ..EventFilter::default() },
            EventFilter { project: Some(world.project().await), ..EventFilter::default() },
            EventFilter { project: Some("other".parse().unwrap()), ..EventFilter::default() },
        ];
        for filter in filters {
            let wanted: Vec<i64> = all.iter().filter(|event| filter.admits(event)).map(|event| event.seq).collect();
            let found = world.store.read(EventsAfter { seq: 0, limit: 100, filter: filter.clone() }).await.unwrap();
            assert_eq!(found.iter().map(|event| event.seq).collect::<Vec<_>>(), wanted, "{filter:?}");
        }
        let two_events =
            world.store.read(EventsAfter { seq: 1, limit: 2, filter: EventFilter::default() }).await.unwrap();
        assert_eq!(two_events.len(), 2);
        assert_eq!(world.store.read(LastEventSeq).await.unwrap(), all.last().unwrap().seq);
    }
    async fn a_page_of_large_events_is_short_and_says_that_there_is_more(world) {
        let session = world.session(&[]).await;
        let after = world.last_seq().await;
        let large = "x".repeat(600_000);
        for _ in 0..3 {
            world.says(&session, ReportKind::Progress, &large).await;
        }
        let all: Vec<i64> = world.events_after(after).await.iter().map(|event| event.seq).collect();
        let (mut seq, mut read, mut largest) = (after, Vec::new(), 0);
        loop {
            let page = world.store.read(EventPageAfter { seq, limit: 100, filter: EventFilter::default() }).await.unwrap();
            largest = largest.max(page.rows.iter().map(|row| row.payload.get().len()).sum());
            read.extend(page.rows.iter().map(|row| row.seq));
            seq = *read.last().unwrap();
            if !page.more {
                break;
            }
        }
        assert_eq!(read, all, "each once, in order");
        assert!((600_000..1_200_000).contains(&largest), "{largest}");
        let heads = EventHeadsAfter { seq: after, limit: 100, filter: EventFilter::default() };
        let heads = world.store.read(heads).await.unwrap();
        assert_eq!(heads.iter().map(|row| row.seq).collect::<Vec<_>>(), all);
        assert!(heads.iter().all(|row| row.payload.get() == "null"), "without their facts");
    }
}
