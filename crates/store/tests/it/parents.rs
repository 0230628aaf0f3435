//! Tests of tasks that move below another one.

use maestro_core::Task;
use maestro_core::task::TaskStatus;
use maestro_store::*;

use crate::cast::assert_refused;
use crate::world::{World, both};

impl World {
    async fn move_below(&self, task: &Task, parent: Option<&Task>) -> Result<Task, StoreError> {
        let parent = parent.map(|parent| parent.id.clone());
        self.store.write(SetTaskParent { id: task.id.clone(), parent, actor: Actor::Person }).await
    }
}

both! {
    async fn a_task_moves_below_another_one_and_up_again(world) {
        let root = world.task("root").await;
        let child = world.subtask(&root, "child").await;
        let other = world.task("other").await;
        world.set_status(&other, TaskStatus::InProgress).await;
        let moved = world.move_below(&other, Some(&child)).await.unwrap();
        assert_eq!(moved.parent.as_ref(), Some(&child.id));
        assert_eq!(world.status(&child).await, TaskStatus::InProgress, "a task is how its subtasks are");
        assert_refused!(world.move_below(&root, Some(&other)).await, StoreError::Rule(_));
        assert_refused!(world.move_below(&other, Some(&other)).await, StoreError::Rule(_));
        assert_eq!(world.move_below(&other, None).await.unwrap().parent, None);
        world.assert_in_order().await;
    }
}
