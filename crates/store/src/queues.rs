//! Changes of a session's queue. Each step is one change, so that no item is taken twice.

use maestro_core::event::Event;
use maestro_core::id::{SessionId, TaskId};
use maestro_core::queue::{QueueItem, QueueItemStatus, TaskQueue};
use maestro_core::session::{Session, TaskSessionStatus};
use serde::{Deserialize, Serialize};

use crate::actor::Actor;
use crate::change::{Change, Query};
use crate::db::DbTx;
use crate::error::StoreError;
use crate::queue_rows::{emit, load, push, set_item};
use crate::tx::ChangeTx;
use crate::{access, task_rows, task_session_rows, task_sessions};

/// Records a sign of life.
fn touch(tx: &mut ChangeTx<'_>, session: &Session) -> Result<(), StoreError> {
    tx.execute("UPDATE sessions SET last_activity = $1 WHERE id = $2", &[tx.now.into(), (&session.id).into()])?;
    Ok(())
}

/// A session's queue.
#[derive(Debug, Clone)]
pub struct SessionQueue(
    /// Which session.
    pub SessionId,
);

impl Query for SessionQueue {
    type Output = TaskQueue;

    fn load(&self, db: &mut DbTx<'_>) -> Result<TaskQueue, StoreError> {
        Ok(load(db, &self.0)?.1)
    }
}

/// Starts the next item.
#[derive(Debug, Clone)]
pub struct QueueStart {
    /// Whose queue.
    pub session: SessionId,
    /// Who makes the change.
    pub actor: Actor,
}

impl Change for QueueStart {
    type Output = Option<QueueItem>;

    fn actor(&self) -> Option<&Actor> {
        Some(&self.actor)
    }

    fn apply(&self, tx: &mut ChangeTx<'_>) -> Result<Option<QueueItem>, StoreError> {
        access::require_session_access(tx, &self.actor, &self.session)?;
        let (session, queue) = load(tx, &self.session)?;
        if let Some(item) = queue.processing() {
            let message = format!("Task {} is being processed already; complete, fail or skip it first", item.task_id);
            return Err(StoreError::Invalid(message));
        }
        let Some(next) = queue.next() else { return Ok(None) };
        let task = next.task_id.clone();
        touch(tx, &session)?;
        set_item(tx, &session, &task, QueueItemStatus::Processing, None)?;
        task_sessions::set(tx, &task, &session.id, TaskSessionStatus::Working)?;
        emit(tx, &session, &task, None, Event::QueueItemStarted);
        let (_, queue) = load(tx, &self.session)?;
        Ok(queue.processing().cloned())
    }
}

/// How an item ends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum QueueStep {
    /// It is done.
    Complete,
    /// It was given up.
    Fail(
        /// Why.
        Option<String>,
    ),
    /// It is left out.
    Skip,
}

/// Ends the item being worked on; skipping also takes the next one.
#[derive(Debug, Clone)]
pub struct QueueEnd {
    /// Whose queue.
    pub session: SessionId,
    /// How.
    pub step: QueueStep,
    /// Who makes the change.
    pub actor: Actor,
}

/// An item that ended, and the one whose turn is next.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueueStepResult {
    /// The one that ended.
    pub ended: QueueItem,
    /// The one whose turn is next.
    pub next: Option<QueueItem>,
}

impl Change for QueueEnd {
    type Output = QueueStepResult;

    fn actor(&self) -> Option<&Actor> {
        Some(&self.actor)
    }

    fn apply(&self, tx: &mut ChangeTx<'_>) -> Result<QueueStepResult, StoreError> {
        access::require_session_access(tx, &self.actor, &self.session)?;
        let (session, queue) = load(tx, &self.session)?;
        let skippable = if self.step == QueueStep::Skip { queue.next() } else { None };
        let Some(item) = queue.processing().or(skippable) else {
            return Err(StoreError::Invalid("No task is being processed".to_owned()));
        };
        let task = item.task_id.clone();
        touch(tx, &session)?;
        match &self.step {
            QueueStep::Complete => {
                set_item(tx, &session, &task, QueueItemStatus::Completed, None)?;
                task_sessions::set(tx, &task, &session.id, TaskSessionStatus::Completed)?;
                emit(tx, &session, &task, None, Event::QueueItemCompleted);
            }
            QueueStep::Fail(reason) => {
                set_item(tx, &session, &task, QueueItemStatus::Failed, reason.as_deref())?;
                task_sessions::set(tx, &task, &session.id, TaskSessionStatus::Failed)?;
                emit(tx, &session, &task, reason.as_deref(), Event::QueueItemFailed);
            }
            QueueStep::Skip => {
                set_item(tx, &session, &task, QueueItemStatus::Skipped, None)?;
                task_sessions::set(tx, &task, &session.id, TaskSessionStatus::Skipped)?;
                emit(tx, &session, &task, None, Event::QueueItemSkipped);
            }
        }
        let (_, after) = load(tx, &self.session)?;
        let ended = after.items.iter().rev().find(|item| item.task_id == task).cloned();
        let ended = ended.ok_or_else(|| StoreError::corrupt("a queue item vanished"))?;
        Ok(QueueStepResult { ended, next: after.next().cloned() })
    }
}

/// Puts one more task at the end.
#[derive(Debug, Clone)]
pub struct QueuePush {
    /// Whose queue.
    pub session: SessionId,
    /// The task.
    pub task: TaskId,
    /// Who makes the change.
    pub actor: Actor,
}

impl Change for QueuePush {
    type Output = QueueItem;

    fn actor(&self) -> Option<&Actor> {
        Some(&self.actor)
    }

    fn apply(&self, tx: &mut ChangeTx<'_>) -> Result<QueueItem, StoreError> {
        access::forbid_worker(&self.actor, "put tasks into queues")?;
        access::require_session_access(tx, &self.actor, &self.session)?;
        access::require_task_access(tx, &self.actor, &self.task)?;
        let (session, queue) = load(tx, &self.session)?;
        let task = task_rows::by_id(tx, &self.task)?;
        let waits = |item: &&QueueItem| matches!(item.status, QueueItemStatus::Queued | QueueItemStatus::Processing);
        if queue.items.iter().filter(waits).any(|item| item.task_id == self.task) {
            return Err(StoreError::Invalid(format!("Task {} is in the queue already", self.task)));
        }
        // Not how many there are: items go with their tasks, and leave gaps.
        let position = tx.number(
            "SELECT CAST(coalesce(max(position), -1) + 1 AS BIGINT) FROM queue_items WHERE session_id = $1",
            &[(&self.session).into()],
        )?;
        push(tx, &self.session, &self.task, position)?;
        task_session_rows::bind(tx, &task, &self.session)?;
        emit(tx, &session, &self.task, None, Event::QueueItemPushed);
        let (_, queue) = load(tx, &self.session)?;
        queue.items.last().cloned().ok_or_else(|| StoreError::corrupt("a queue item vanished"))
    }
}
