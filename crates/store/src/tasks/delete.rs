//! Deletion of a task, with or without its subtasks.

use maestro_core::event::Event;
use maestro_core::id::TaskId;
use maestro_core::notice::Notice;
use maestro_core::task::Task;

use super::{by_id, fact, note_change, save, scope};
use crate::actor::{self, Actor, Reach};
use crate::change::Change;
use crate::db::Db;
use crate::error::StoreError;
use crate::tx::Tx;
use crate::value::Row;
use crate::{notices, pairs};

/// What becomes of the subtasks of a task that is removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Subtasks {
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
    pub subtasks: Subtasks,
    /// Who makes the change.
    pub actor: Actor,
}

impl Change for DeleteTask {
    type Output = ();

    fn actor(&self) -> Option<&Actor> {
        Some(&self.actor)
    }

    fn apply(&self, tx: &mut Tx<'_>) -> Result<(), StoreError> {
        let task = by_id(tx, &self.id)?;
        if actor::require(tx, &self.actor, &self.id)? == Some(Reach::Bound) {
            return Err(StoreError::Forbidden("a worker may not delete the task it works on".to_owned()));
        }
        self.delete(tx, &task)?;
        match &task.parent {
            Some(parent) => pairs::settle(tx, parent),
            None => Ok(()),
        }
    }
}

impl DeleteTask {
    fn delete(&self, tx: &mut Tx<'_>, task: &Task) -> Result<(), StoreError> {
        let children = children(tx, &task.id)?;
        for child in &children {
            match self.subtasks {
                Subtasks::Keep => self.move_up(tx, child, task)?,
                Subtasks::Delete => {
                    let child = by_id(tx, child)?;
                    self.delete(tx, &child)?;
                }
            }
        }
        let notice = Notice::TaskDeleted { task: task.id.clone(), title: task.title.clone() };
        notices::tell_about(tx, &task.id, &notice, self.actor.session())?;
        tx.execute("DELETE FROM queue_items WHERE task_id = $1", &[(&task.id).into()])?;
        for pair in &task.sessions {
            pairs::remove(tx, task, &pair.session)?;
        }
        tx.execute("DELETE FROM tasks WHERE id = $1", &[(&task.id).into()])?;
        tx.emit(scope(task), Event::TaskDeleted(fact(task, &[], &self.actor)));
        if self.subtasks == Subtasks::Keep {
            // The sessions of the deleted task worked on these too, and no longer count.
            for child in &children {
                pairs::settle_below(tx, child)?;
                pairs::settle(tx, child)?;
            }
        }
        Ok(())
    }

    fn move_up(&self, tx: &mut Tx<'_>, child: &TaskId, parent: &Task) -> Result<(), StoreError> {
        let mut child = by_id(tx, child)?;
        child.parent.clone_from(&parent.parent);
        save(tx, &mut child)?;
        note_change(tx, &child, &["parentId"], &self.actor)
    }
}

fn children(db: &mut Db<'_>, parent: &TaskId) -> Result<Vec<TaskId>, StoreError> {
    let sql = "SELECT id FROM tasks WHERE parent_id = $1 ORDER BY ord";
    db.rows(sql, &[parent.into()])?.iter_mut().map(Row::parsed).collect()
}
