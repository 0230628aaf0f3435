//! How does a session go through its tasks one after the other?

use maestro_core::queue::QueueItemStatus;
use maestro_core::report::ReportKind;
use maestro_core::session::{Approach, Session, SessionControl};
use maestro_core::task::{Task, TaskStatus};
use maestro_store::*;

use crate::cast::{assert_refused, worker};
use crate::world::{World, both};

async fn queued(world: &World, tasks: &[&Task]) -> Session {
    world.store.write(world.new_session(tasks, Approach::Queue).await).await.unwrap()
}

async fn three(world: &World) -> [Task; 3] {
    [world.task("one").await, world.task("two").await, world.task("three").await]
}

fn start(session: &Session) -> QueueStart {
    QueueStart { session: session.id.clone(), actor: worker(session) }
}

fn end(session: &Session, step: QueueStep) -> QueueEnd {
    QueueEnd { session: session.id.clone(), step, actor: worker(session) }
}

fn push(session: &Session, task: &Task) -> QueuePush {
    QueuePush { session: session.id.clone(), task: task.id.clone(), actor: Actor::Person }
}

async fn statuses(world: &World, session: &Session) -> (i64, Vec<QueueItemStatus>) {
    let queue = world.store.read(SessionQueue(session.id.clone())).await.unwrap();
    (queue.current_index, queue.items.iter().map(|item| item.status).collect())
}

both! {
    async fn a_queue_from_its_first_task_to_its_last(world) {
        use QueueItemStatus::{Completed, Failed, Processing, Queued, Skipped};
        let [one, two, three] = three(world).await;
        let session = queued(world, &[&one, &two, &three]).await;
        assert_eq!(statuses(world, &session).await, (-1, vec![Queued, Queued, Queued]));

        let started = world.store.write(start(&session)).await.unwrap().unwrap();
        assert_eq!((started.task_id, started.status), (one.id.clone(), Processing));
        assert_eq!(world.status(&one).await, TaskStatus::InProgress);
        assert_refused!(world.store.write(start(&session)).await, StoreError::Invalid(_));
        let stepped = world.store.write(end(&session, QueueStep::Complete)).await.unwrap();
        assert_eq!((stepped.ended.status, stepped.next.unwrap().task_id), (Completed, two.id.clone()));
        assert_eq!(world.status(&one).await, TaskStatus::Completed);
        assert_refused!(world.store.write(end(&session, QueueStep::Complete)).await, StoreError::Invalid(_));

        world.store.write(start(&session)).await.unwrap();
        let stepped = world.store.write(end(&session, QueueStep::Fail(Some("no way".into())))).await.unwrap();
        assert_eq!(stepped.ended.fail_reason.as_deref(), Some("no way"));
        assert_eq!(world.status(&two).await, TaskStatus::Blocked);

        let stepped = world.store.write(end(&session, QueueStep::Skip)).await.unwrap();
        assert_eq!((stepped.ended.task_id, stepped.next), (three.id.clone(), None), "a queued one may be left out");
        assert_eq!(world.store.write(start(&session)).await.unwrap(), None);
        assert_eq!(statuses(world, &session).await, (2, vec![Completed, Failed, Skipped]));

        let again = world.store.write(push(&session, &three)).await.unwrap();
        assert_eq!(again.status, Queued, "what is over may come again");
        world.assert_in_order().await;
    }

    async fn of_two_that_start_at_once_one_wins(world) {
        for _ in 0..10 {
            let [one, two, _] = three(world).await;
            let session = queued(world, &[&one, &two]).await;
            let (left, right) = tokio::join!(world.store.write(start(&session)), world.store.write(start(&session)));
            let won = [&left, &right].into_iter().filter(|result| result.is_ok()).count();
            assert_eq!(won, 1, "{left:?} {right:?}");
            assert_eq!(statuses(world, &session).await.1, [QueueItemStatus::Processing, QueueItemStatus::Queued]);
        }
        world.assert_in_order().await;
    }

    async fn a_task_waits_in_a_queue_once(world) {
        let [one, two, _] = three(world).await;
        let session = queued(world, &[&one, &one]).await;
        assert_eq!(statuses(world, &session).await.1, [QueueItemStatus::Queued], "named twice, it is one");
        assert_refused!(world.store.write(push(&session, &one)).await, StoreError::Invalid(_));
        world.store.write(push(&session, &two)).await.unwrap();
        assert_refused!(world.store.write(push(&session, &two)).await, StoreError::Invalid(_));
        assert_eq!(world.find(&session).await.tasks, [one.id, two.id]);
    }

    async fn a_queue_that_lost_a_task_goes_on(world) {
        let [one, two, three] = three(world).await;
        let four = world.task("four").await;
        let session = queued(world, &[&one, &two, &three]).await;
        let delete = DeleteTask { id: one.id, subtasks: SubtaskPolicy::Keep, actor: Actor::Person };
        world.store.write(delete).await.unwrap();
        let unbind = UnbindTask { session: session.id.clone(), task: two.id, actor: Actor::Person };
        world.store.write(unbind).await.unwrap();

        world.store.write(push(&session, &four)).await.unwrap();
        let started = world.store.write(start(&session)).await.unwrap().unwrap();
        assert_eq!(started.task_id, three.id);
        let expected = vec![QueueItemStatus::Skipped, QueueItemStatus::Processing, QueueItemStatus::Queued];
        assert_eq!(statuses(world, &session).await, (1, expected));
        world.assert_in_order().await;
    }

    async fn nothing_is_in_progress_in_the_queue_of_a_session_that_ended(world) {
        let [one, two, _] = three(world).await;
        let session = queued(world, &[&one, &two]).await;
        world.store.write(start(&session)).await.unwrap();
        world.steer(&session, SessionControl::Cancel).await;
        assert_eq!(statuses(world, &session).await.1, [QueueItemStatus::Skipped, QueueItemStatus::Queued]);
        assert_eq!(world.status(&one).await, TaskStatus::Todo);
        assert_refused!(world.store.write(start(&session)).await, StoreError::SessionTransition { .. });
        world.assert_in_order().await;
    }

    async fn a_session_that_is_done_did_not_do_what_it_never_began(world) {
        let [one, two, _] = three(world).await;
        let session = queued(world, &[&one, &two]).await;
        world.store.write(start(&session)).await.unwrap();
        world.says(&session, ReportKind::Complete, "done").await;
        assert_eq!(world.status(&one).await, TaskStatus::Completed);
        assert_eq!(world.status(&two).await, TaskStatus::Todo);
        assert_eq!(statuses(world, &session).await.1, [QueueItemStatus::Completed, QueueItemStatus::Queued]);
        world.assert_in_order().await;
    }

    async fn only_a_session_that_uses_a_queue_has_one(world) {
        let session = world.session(&[]).await;
        assert_refused!(world.store.read(SessionQueue(session.id.clone())).await, StoreError::Invalid(_));
        assert_refused!(world.store.write(start(&session)).await, StoreError::Invalid(_));
    }
}
