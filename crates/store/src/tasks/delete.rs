//! Deletion of a task, with or without its subtasks.

use maestro_core::event::Event;
use maestro_core::id::TaskId;
use maestro_core::notice::SessionNotice;
use maestro_core::task::Task;

use super::note_change;
use crate::access::{self, TaskAccess};
use crate::actor::Actor;
use crate::change::Change;
use crate::counted_tasks::CountedAs;
use crate::db::DbTx;
use crate::error::StoreError;
use crate::search_words::{self, SearchedTable};
use crate::task_rows::{by_id, fact, save, scope, searched_text};
use crate::tx::ChangeTx;
use crate::value::SqlRow;
use crate::{notices, task_rollup, task_session_rows};

/// What becomes of the subtasks of a task that is removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SubtaskPolicy {
    /// They move up to its parent.
    Keep,
    /// They go with it.
    Delete,
}

/// Removes a task.
#[derive(Debug, Clone)]
pub struct DeleteTask {
    /// Which one.
    pub id: TaskId,
    /// What becomes of its subtasks.
    pub subtasks: SubtaskPolicy,
    /// Who makes the change.
    pub actor: Actor,
}

impl Change for DeleteTask {
    type Output = ();

    fn actor(&self) -> Option<&Actor> {
        Some(&self.actor)
    }

    fn apply(&self, tx: &mut ChangeTx<'_>) -> Result<(), StoreError> {
        let task = by_id(tx, &self.id)?;
        if access::require_task_access(tx, &self.actor, &self.id)? == Some(TaskAccess::Bound) {
            return Err(StoreError::Forbidden("a worker may not delete the task it works on".to_owned()));
        }
        self.delete(tx, &task)?;
        match &task.parent {
            Some(parent) => task_rollup::roll_up_task(tx, parent),
            None => Ok(()),
        }
    }
}

impl DeleteTask {
    fn delete(&self, tx: &mut ChangeTx<'_>, task: &Task) -> Result<(), StoreError> {
        let children = children(tx, &task.id)?;
        for child in &children {
            match self.subtasks {
                SubtaskPolicy::Keep => self.move_up(tx, child, task)?,
                SubtaskPolicy::Delete => {
                    let child = by_id(tx, child)?;
                    self.delete(tx, &child)?;
                }
            }
        }
        let notice = SessionNotice::TaskDeleted { task: task.id.clone(), title: task.title.clone() };
        notices::notify_task(tx, &task.id, &notice, self.actor.session())?;
        tx.execute("DELETE FROM queue_items WHERE task_id = $1", &[(&task.id).into()])?;
        for pair in &task.sessions {
            task_session_rows::remove(tx, task, &pair.session)?;
        }
        let counted = CountedAs::stored(tx, task)?;
        search_words::remove(tx, SearchedTable::Tasks, (&task.id).into(), &searched_text(task))?;
        tx.execute("DELETE FROM tasks WHERE id = $1", &[(&task.id).into()])?;
        tx.count_tasks(counted, -1);
        tx.emit(scope(task), Event::TaskDeleted(fact(task, &[], &self.actor)));
        if self.subtasks == SubtaskPolicy::Keep {
            // The sessions of the deleted task worked on these too, and no longer count.
            for child in &children {
                task_rollup::roll_up_subtasks(tx, child)?;
                task_rollup::roll_up_task(tx, child)?;
            }
        }
        Ok(())
    }

    fn move_up(&self, tx: &mut ChangeTx<'_>, child: &TaskId, parent: &Task) -> Result<(), StoreError> {
        let mut child = by_id(tx, child)?;
        child.parent.clone_from(&parent.parent);
        save(tx, &mut child)?;
        note_change(tx, &child, &["parentId"], &self.actor)
    }
}

fn children(db: &mut DbTx<'_>, parent: &TaskId) -> Result<Vec<TaskId>, StoreError> {
    let sql = "SELECT id FROM tasks WHERE parent_id = $1 ORDER BY ord";
    db.rows(sql, &[parent.into()])?.iter_mut().map(SqlRow::parsed).collect()
}
