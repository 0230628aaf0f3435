//! Move of a task below another one, or to the top.

use maestro_core::id::TaskId;
use maestro_core::task::Task;

use super::create::{MAX_DEPTH, ancestors};
use super::note_change;
use crate::actor::Actor;
use crate::change::Change;
use crate::error::{RecordKind, StoreError};
use crate::task_rows::{by_id, by_id_as, save};
use crate::tx::ChangeTx;
use crate::{access, task_rollup};

/// Makes a task a subtask of another one, or of none.
#[derive(Debug, Clone)]
pub struct SetTaskParent {
    /// Which one.
    pub id: TaskId,
    /// The task that it becomes a part of; none for a task of its own.
    pub parent: Option<TaskId>,
    /// Who makes the change.
    pub actor: Actor,
}

impl Change for SetTaskParent {
    type Output = Task;

    fn actor(&self) -> Option<&Actor> {
        Some(&self.actor)
    }

    fn apply(&self, tx: &mut ChangeTx<'_>) -> Result<Task, StoreError> {
        let mut task = by_id(tx, &self.id)?;
        access::require_task_access(tx, &self.actor, &self.id)?;
        if task.parent == self.parent {
            return Ok(task);
        }
        if let Some(parent) = &self.parent {
            self.check(tx, &task, parent)?;
        }
        let before = std::mem::replace(&mut task.parent, self.parent.clone());
        save(tx, &mut task)?;
        note_change(tx, &task, &["parentId"], &self.actor)?;
        for parent in before.iter().chain(&self.parent) {
            task_rollup::roll_up_task(tx, parent)?;
        }
        by_id(tx, &self.id)
    }
}

impl SetTaskParent {
    fn check(&self, tx: &mut ChangeTx<'_>, task: &Task, parent: &TaskId) -> Result<(), StoreError> {
        let found = by_id_as(tx, parent, RecordKind::ParentTask)?;
        access::require_task_access(tx, &self.actor, parent)?;
        if found.project != task.project {
            return Err(StoreError::Rule(format!("Parent task '{parent}' belongs to another project")));
        }
        let above = ancestors(tx, parent)?;
        if above.contains(&task.id) {
            return Err(StoreError::Rule("a task cannot be a part of itself or of its own subtask".to_owned()));
        }
        if above.len() >= MAX_DEPTH {
            return Err(StoreError::Rule(format!("subtasks go {MAX_DEPTH} levels deep and no further")));
        }
        Ok(())
    }
}
