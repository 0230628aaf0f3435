//! Queue of a session's tasks as stored.

use maestro_core::event::{Event, QueueFact};
use maestro_core::id::{SessionId, TaskId};
use maestro_core::queue::{QueueItem, QueueItemStatus, TaskQueue};
use maestro_core::session::{Approach, Session, TaskSessionStatus};
use maestro_core::task::Task;

use crate::db::DbTx;
use crate::error::{RecordKind, StoreError};
use crate::tx::{ChangeTx, EventScope};
use crate::value::SqlRow;
use crate::{session_rows, task_session_rows};

pub(crate) fn create(tx: &mut ChangeTx<'_>, session: &SessionId, tasks: &[TaskId]) -> Result<(), StoreError> {
    tx.execute(
        "INSERT INTO queues (session_id, created_at, updated_at) VALUES ($1, $2, $3)",
        &[session.into(), tx.now.into(), tx.now.into()],
    )?;
    for (task, position) in tasks.iter().zip(0..) {
        push(tx, session, task, position)?;
    }
    let scope = EventScope::project(&session_rows::by_id(tx, session)?.project).session(session);
    let fact = QueueFact { session_id: session.clone(), task_id: None, reason: None };
    tx.emit(scope, Event::QueueCreated(fact));
    Ok(())
}

pub(crate) fn push(tx: &mut ChangeTx<'_>, session: &SessionId, task: &TaskId, position: i64) -> Result<(), StoreError> {
    tx.execute(
        "INSERT INTO queue_items (session_id, position, task_id, status, added_at) VALUES ($1, $2, $3, $4, $5)",
        &[session.into(), position.into(), task.into(), QueueItemStatus::Queued.as_str().into(), tx.now.into()],
    )?;
    Ok(())
}

fn item(row: &mut SqlRow) -> Result<QueueItem, StoreError> {
    Ok(QueueItem {
        task_id: row.parsed()?,
        status: {
            let word = row.text()?;
            QueueItemStatus::from_word(&word).ok_or_else(|| StoreError::corrupt(format!("queue item `{word}`")))?
        },
        added_at: row.int()?,
        started_at: row.maybe_int()?,
        completed_at: row.maybe_int()?,
        fail_reason: row.maybe_text()?,
    })
}

/// A session's queue; a session that takes its tasks otherwise has none.
pub(crate) fn load(db: &mut DbTx<'_>, id: &SessionId) -> Result<(Session, TaskQueue), StoreError> {
    let session = session_rows::by_id(db, id)?;
    if session.strategy != Approach::Queue {
        return Err(StoreError::Invalid(format!("Session {id} does not use queue strategy")));
    }
    let found = db.row("SELECT created_at, updated_at FROM queues WHERE session_id = $1", &[id.into()])?;
    let mut row = found.ok_or_else(|| StoreError::not_found(RecordKind::Queue, id))?;
    let items: Vec<QueueItem> = db
        .rows(
            "SELECT task_id, status, added_at, started_at, completed_at, fail_reason FROM queue_items \
             WHERE session_id = $1 ORDER BY position",
            &[id.into()],
        )?
        .iter_mut()
        .map(item)
        .collect::<Result<_, _>>()?;
    let started = items.iter().rposition(|item| item.status != QueueItemStatus::Queued);
    let queue = TaskQueue {
        session_id: id.clone(),
        current_index: started.and_then(|index| i64::try_from(index).ok()).unwrap_or(-1),
        created_at: row.int()?,
        updated_at: row.int()?,
        items,
    };
    Ok((session, queue))
}

pub(crate) fn emit(
    tx: &mut ChangeTx<'_>,
    session: &Session,
    task: &TaskId,
    reason: Option<&str>,
    event: fn(QueueFact) -> Event,
) {
    let fact =
        QueueFact { session_id: session.id.clone(), task_id: Some(task.clone()), reason: reason.map(str::to_owned) };
    tx.emit(EventScope::project(&session.project).task(task).session(&session.id), event(fact));
}

pub(crate) fn set_item(
    tx: &mut ChangeTx<'_>,
    session: &Session,
    task: &TaskId,
    status: QueueItemStatus,
    reason: Option<&str>,
) -> Result<(), StoreError> {
    let column = if status == QueueItemStatus::Processing { "started_at" } else { "completed_at" };
    tx.execute(
        &format!(
            "UPDATE queue_items SET status = $1, {column} = $2, fail_reason = $3 \
             WHERE session_id = $4 AND task_id = $5 AND status IN ('queued', 'processing')"
        ),
        &[status.as_str().into(), tx.now.into(), reason.into(), (&session.id).into(), task.into()],
    )?;
    tx.execute("UPDATE queues SET updated_at = $1 WHERE session_id = $2", &[tx.now.into(), (&session.id).into()])?;
    Ok(())
}

/// Ends the item that a session leaves behind, as far as it came with its task.
pub(crate) fn end(tx: &mut ChangeTx<'_>, session: &Session) -> Result<(), StoreError> {
    const REASON: &str = "the session has ended";
    if session.strategy != Approach::Queue {
        return Ok(());
    }
    let (_, queue) = load(tx, &session.id)?;
    let Some(task) = queue.processing().map(|item| item.task_id.clone()) else { return Ok(()) };
    let pairs = task_session_rows::of_session(tx, &session.id)?;
    match pairs.iter().find(|(id, _)| *id == task).and_then(|(_, status)| *status) {
        Some(TaskSessionStatus::Completed) => {
            set_item(tx, session, &task, QueueItemStatus::Completed, None)?;
            emit(tx, session, &task, None, Event::QueueItemCompleted);
        }
        Some(TaskSessionStatus::Failed | TaskSessionStatus::Blocked) => {
            set_item(tx, session, &task, QueueItemStatus::Failed, Some(REASON))?;
            emit(tx, session, &task, Some(REASON), Event::QueueItemFailed);
        }
        _ => skip(tx, session, &task, REASON)?,
    }
    Ok(())
}

/// Takes a task that is no longer the session's out of its queue.
pub(crate) fn remove_task(tx: &mut ChangeTx<'_>, task: &Task, session: &SessionId) -> Result<(), StoreError> {
    let waits = tx.number(
        "SELECT count(*) FROM queue_items WHERE session_id = $1 AND task_id = $2 \
         AND status IN ('queued', 'processing')",
        &[session.into(), (&task.id).into()],
    )?;
    if waits == 0 {
        return Ok(());
    }
    let session = session_rows::by_id(tx, session)?;
    skip(tx, &session, &task.id, "the task was taken from the session")
}

fn skip(tx: &mut ChangeTx<'_>, session: &Session, task: &TaskId, reason: &str) -> Result<(), StoreError> {
    set_item(tx, session, task, QueueItemStatus::Skipped, Some(reason))?;
    emit(tx, session, task, Some(reason), Event::QueueItemSkipped);
    Ok(())
}

/// The tasks whose turn has not come.
pub(crate) fn waiting(db: &mut DbTx<'_>, session: &SessionId) -> Result<Vec<TaskId>, StoreError> {
    let sql = "SELECT task_id FROM queue_items WHERE session_id = $1 AND status = 'queued'";
    db.rows(sql, &[session.into()])?.iter_mut().map(SqlRow::parsed).collect()
}
