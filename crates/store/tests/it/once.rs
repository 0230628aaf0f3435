//! Is a request that comes twice carried out once, and is nobody's change overwritten unseen?

use maestro_core::task::Task;
use maestro_store::*;

use crate::cast::{assert_refused, rename};
use crate::world::{World, both};

fn once(key: &str, fingerprint: &str) -> IdempotencyKey {
    IdempotencyKey { request: format!("POST /api/tasks {key}"), fingerprint: fingerprint.into() }
}

async fn new_task(world: &World, title: &str) -> CreateTask {
    CreateTask { project: Some(world.project().await), title: title.into(), ..CreateTask::default() }
}

async fn tasks(world: &World) -> Vec<Task> {
    world.store.read(TaskList::default()).await.unwrap().items
}

both! {
    async fn the_same_request_gets_the_same_answer(world) {
        let create = new_task(world, "Fix the login").await;
        let first = world.store.write_once(create.clone(), Some(once("k", "f"))).await.unwrap();
        let seq = world.last_seq().await;
        let second = world.store.write_once(create, Some(once("k", "f"))).await.unwrap();
        assert_eq!(first, second);
        assert_eq!(tasks(world).await.len(), 1);
        assert_eq!(world.last_seq().await, seq, "nothing happened the second time");
    }

    async fn a_key_used_for_another_request_is_refused(world) {
        world.store.write_once(new_task(world, "one").await, Some(once("k", "one"))).await.unwrap();
        let other = world.store.write_once(new_task(world, "two").await, Some(once("k", "two"))).await;
        assert_refused!(other, StoreError::KeyReused);
        assert_eq!(tasks(world).await.len(), 1);
    }

    async fn what_was_refused_may_be_asked_again(world) {
        let bad = CreateTask { parent: Some("ghost".parse().unwrap()), title: "x".into(), ..CreateTask::default() };
        assert_refused!(world.store.write_once(bad, Some(once("k", "f"))).await, StoreError::NotFound { .. });
        world.store.write_once(new_task(world, "one").await, Some(once("k", "f"))).await.unwrap();
        assert_eq!(tasks(world).await.len(), 1);
    }

    async fn requests_with_one_key_at_the_same_time_are_one(world) {
        for round in 0..5 {
            let mut asked = tokio::task::JoinSet::new();
            for _ in 0..8 {
                let (store, create) = (world.store.clone(), new_task(world, "Fix the login").await);
                let once = Some(once(&round.to_string(), "f"));
                asked.spawn(async move { store.write_once(create, once).await.unwrap() });
            }
            let answers = asked.join_all().await;
            assert!(answers.iter().all(|answer| *answer == answers[0]));
            assert_eq!(tasks(world).await.len(), round + 1);
        }
    }

    async fn a_chosen_id_is_taken_once_however_many_want_it(world) {
        let id: maestro_core::id::SessionId = "chosen".parse().unwrap();
        let create =
            CreateSession { id: Some(id), ..world.new_session(&[], maestro_core::session::Approach::Simple).await };
        let mut asked = tokio::task::JoinSet::new();
        for _ in 0..8 {
            let (store, create) = (world.store.clone(), create.clone());
            asked.spawn(async move { store.write(create).await });
        }
        let (made, refused): (Vec<_>, Vec<_>) = asked.join_all().await.into_iter().partition(Result::is_ok);
        assert_eq!((made.len(), refused.len()), (1, 7));
        for refusal in refused {
            assert_refused!(refusal, StoreError::Exists { what: RecordKind::Session, .. });
        }
        // The same key gets the session that was made, not the news that it exists.
        let with_key = |create: CreateSession| world.store.write_once(create, Some(once("s", "f")));
        let create = CreateSession { id: Some("another".parse().unwrap()), ..create };
        let (left, right) = tokio::join!(with_key(create.clone()), with_key(create));
        assert_eq!(left.unwrap(), right.unwrap());
    }

    async fn who_knows_an_old_revision_is_told_the_current_one(world) {
        let task = world.task("Fix the login").await;
        let expects = |expected| UpdateTask { expected: Some(expected), ..rename(&task, "better", Actor::Person) };
        let updated = world.store.write(expects(task.revision)).await.unwrap();
        assert_eq!(updated.revision, task.revision + 1);
        let late = world
            .store
            .write(UpdateTask { expected: Some(task.revision), ..rename(&task, "worse", Actor::Person) })
            .await;
        let known = (task.revision, updated.revision);
        assert_refused!(late, StoreError::StaleRevision { expected, current, .. } if (expected, current) == known);

        let session = world.session(&[]).await;
        let name = |expected| UpdateSession {
            name: Some("x".into()),
            expected: Some(expected),
            ..UpdateSession::of(session.id.clone(), Actor::Person)
        };
        world.store.write(name(session.revision)).await.unwrap();
        assert_refused!(
            world.store.write(name(session.revision)).await,
            StoreError::StaleRevision { what: RecordKind::Session, .. }
        );
    }

    async fn of_many_who_know_the_same_revision_one_changes_it(world) {
        let task = world.task("Fix the login").await;
        let mut asked = tokio::task::JoinSet::new();
        for number in 0..8 {
            let update = UpdateTask {
                expected: Some(task.revision),
                ..rename(&task, &format!("title {number}"), Actor::Person)
            };
            let store = world.store.clone();
            asked.spawn(async move { store.write(update).await });
        }
        let (made, refused): (Vec<_>, Vec<_>) = asked.join_all().await.into_iter().partition(Result::is_ok);
        assert_eq!((made.len(), refused.len()), (1, 7));
        for refusal in refused {
            assert_refused!(refusal, StoreError::StaleRevision { current, .. } if current == task.revision + 1);
        }
    }
}
