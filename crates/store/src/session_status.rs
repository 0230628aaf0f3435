//! Status changes of a session, and what follows for its tasks, queue and messages.

use maestro_core::id::SessionId;
use maestro_core::session::{EndReason, Session, SessionStatus, TaskSessionStatus};

use crate::error::StoreError;
use crate::session_rows::{by_id, can_revive, note_change, save};
use crate::tx::ChangeTx;
use crate::{messages, queue_rows, task_rollup, task_rows, task_session_rows};

/// Revives a session that is about to work, if it has ended.
pub(crate) fn revive(tx: &mut ChangeTx<'_>, id: &SessionId) -> Result<(), StoreError> {
    let mut session = by_id(tx, id)?;
    if !session.status.is_over() {
        return Ok(());
    }
    if !can_revive(session.status, session.end) {
        return Err(StoreError::SessionTransition { from: session.status, to: SessionStatus::Working });
    }
    session.last_activity = tx.now;
    set_status(tx, &mut session, SessionStatus::Working, None)
}

/// Gives a session another status, with all that follows for its tasks.
pub(crate) fn set_status(
    tx: &mut ChangeTx<'_>,
    session: &mut Session,
    status: SessionStatus,
    reason: Option<EndReason>,
) -> Result<(), StoreError> {
    if !session.status.may_become(status) {
        return Err(StoreError::SessionTransition { from: session.status, to: status });
    }
    session.paused_from = (status == SessionStatus::Paused).then_some(session.status);
    session.status = status;
    session.end = reason;
    if status.is_over() {
        session.needs_input = None;
        session.completed_at = Some(tx.now);
        save(tx, session)?;
        release_tasks(tx, session)?;
        queue_rows::end(tx, session)?;
        messages::refuse_all(tx, session, "the session has ended")?;
    } else {
        session.completed_at = None;
        save(tx, session)?;
    }
    note_change(tx, session);
    Ok(())
}

/// Frees the tasks that an ended session had not finished.
fn release_tasks(tx: &mut ChangeTx<'_>, session: &Session) -> Result<(), StoreError> {
    let left =
        if session.status == SessionStatus::Failed { TaskSessionStatus::Failed } else { TaskSessionStatus::Skipped };
    let open = |status| {
        matches!(
            status,
            None | Some(TaskSessionStatus::Queued | TaskSessionStatus::Working | TaskSessionStatus::NeedsInput)
        )
    };
    task_rows::lock_tasks(tx, &session.tasks)?;
    for (task, status) in task_session_rows::of_session(tx, &session.id)? {
        if open(status) {
            task_session_rows::update(tx, &task, &session.id, left)?;
            task_rollup::record_change(tx, &task, &session.id)?;
        }
        task_rollup::roll_up_subtasks(tx, &task)?;
    }
    Ok(())
}
