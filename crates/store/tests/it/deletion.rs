//! What goes with a thing that is removed, and what stays?

use maestro_core::report::ReportKind;
use maestro_core::session::{Approach, EntryKind};
use maestro_core::task::TaskStatus;
use maestro_store::*;

use crate::cast::{assert_refused, says};
use crate::world::{World, both};

both! {
    async fn subtasks_of_a_removed_task_move_up_and_everybody_hears_of_it(world) {
        let root = world.task("root").await;
        let middle = world.subtask(&root, "middle").await;
        let leaf = world.subtask(&middle, "leaf").await;
        let before = world.last_seq().await;
        let delete = DeleteTask { id: middle.id.clone(), subtasks: SubtaskPolicy::Keep, actor: Actor::Person };
        world.store.write(delete).await.unwrap();

        let moved = world.store.read(TaskById(leaf.id.clone())).await.unwrap();
        assert_eq!((moved.parent.as_ref(), moved.revision), (Some(&root.id), leaf.revision + 1));
        assert_refused!(world.store.read(TaskById(middle.id)).await, StoreError::NotFound { .. });
        let kinds: Vec<String> = world.events_after(before).await.into_iter().map(|event| event.kind).collect();
        assert_eq!(kinds, ["task:updated", "task:deleted"]);
        world.assert_in_order().await;
    }

    async fn a_subtask_that_loses_its_worker_with_its_parent_is_open_again(world) {
        let root = world.task("root").await;
        let leaf = world.subtask(&root, "leaf").await;
        let session = world.session(&[&root]).await;
        let about = SubmitReport { tasks: vec![leaf.id.clone()], ..says(&session.id, ReportKind::Progress, "at it") };
        world.store.write(about).await.unwrap();
        assert_eq!(world.status(&leaf).await, TaskStatus::InProgress);
        let delete = DeleteTask { id: root.id, subtasks: SubtaskPolicy::Keep, actor: Actor::Person };
        world.store.write(delete).await.unwrap();
        assert_eq!(world.status(&leaf).await, TaskStatus::Todo);
    }

    async fn subtasks_go_with_their_task_when_asked_to(world) {
        let root = world.task("root").await;
        let middle = world.subtask(&root, "middle").await;
        let leaf = world.subtask(&middle, "leaf").await;
        let done = world.subtask(&root, "done").await;
        world.set_status(&done, TaskStatus::Completed).await;
        let session = world.session(&[&leaf]).await;
        world.says(&session, ReportKind::Progress, "at it").await;

        let delete = DeleteTask { id: middle.id, subtasks: SubtaskPolicy::Delete, actor: Actor::Person };
        world.store.write(delete).await.unwrap();
        assert_refused!(world.store.read(TaskById(leaf.id)).await, StoreError::NotFound { .. });
        assert_eq!(world.find(&session).await.tasks, []);
        assert_eq!(world.status(&root).await, TaskStatus::Completed, "what is left of it is done");
        world.assert_in_order().await;
    }

    async fn a_session_goes_with_all_that_is_its_own(world) {
        let task = world.task("root").await;
        let session = world.store.write(world.new_session(&[&task], Approach::Queue).await).await.unwrap();
        let (id, actor) = (session.id.clone(), Actor::Person);
        world.says(&session, ReportKind::Progress, "at it").await;
        world.store.write(IssueToken { session: id.clone() }).await.unwrap();
        let say = SendMessage { session: id.clone(), from: "ada".into(), text: "hm".into(), actor: actor.clone() };
        world.store.write(say).await.unwrap();
        let event =
            AddSessionEvent { session: id.clone(), kind: EntryKind::progress(), data: None, actor: actor.clone() };
        world.store.write(event).await.unwrap();
        world.store.write(QueueStart { session: id.clone(), actor: actor.clone() }).await.unwrap();

        world.store.write(DeleteSession { id: id.clone(), actor }).await.unwrap();
        assert_refused!(world.store.read(SessionById(id.clone())).await, StoreError::NotFound { .. });
        assert!(!world.store.read(SessionHasToken(id.clone())).await.unwrap());
        assert_refused!(world.store.read(SessionNotices(id)).await, StoreError::NotFound { .. });
        assert_eq!(world.store.read(TaskById(task.id.clone())).await.unwrap().sessions, []);
        assert_eq!(world.status(&task).await, TaskStatus::Todo);
        world.assert_in_order().await;
    }

    async fn a_project_stays_while_anything_belongs_to_it(world) {
        let project = world.project().await;
        let delete = || DeleteProject { id: project.clone() };
        let task = world.task("root").await;
        assert_refused!(world.store.write(delete()).await, StoreError::Rule(_));
        let session = world.session(&[]).await;
        let gone = DeleteTask { id: task.id, subtasks: SubtaskPolicy::Delete, actor: Actor::Person };
        world.store.write(gone).await.unwrap();
        assert_refused!(world.store.write(delete()).await, StoreError::Rule(_));
        world.store.write(DeleteSession { id: session.id, actor: Actor::Person }).await.unwrap();
        world.store.write(delete()).await.unwrap();
        assert_refused!(world.store.read(ProjectById(project)).await, StoreError::NotFound { .. });
    }
}
