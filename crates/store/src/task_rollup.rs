//! Status of a task as it follows from its sessions and subtasks.

use maestro_core::SessionRole;
use maestro_core::id::{SessionId, TaskId};
use maestro_core::rollup::roll_up;
use maestro_core::session::TaskSessionStatus;
use maestro_core::task::{Task, TaskStatus};

use crate::actor::Actor;
use crate::error::StoreError;
use crate::task_rows;
use crate::tx::ChangeTx;
use crate::value::SqlRow;

fn emit_change(tx: &mut ChangeTx<'_>, task: &TaskId, session: &SessionId) -> Result<(), StoreError> {
    let task = task_rows::by_id(tx, task)?;
    let role = SessionRole::Worker;
    task_rows::note_progress(tx, &task, &["sessionStatus"], &Actor::Session { id: session.clone(), role });
    Ok(())
}

/// Notes the change of a pair and settles its task.
pub(crate) fn record_change(tx: &mut ChangeTx<'_>, task: &TaskId, session: &SessionId) -> Result<(), StoreError> {
    emit_change(tx, task, session)?;
    roll_up_task(tx, task)
}

/// Brings a task, and all above it, to where its sessions and subtasks say it is.
pub(crate) fn roll_up_task(tx: &mut ChangeTx<'_>, task: &TaskId) -> Result<(), StoreError> {
    let mut next = Some(task.clone());
    while let Some(id) = next.take() {
        let mut task = task_rows::by_id(tx, &id)?;
        // Who has said nothing yet may still have something to say.
        let said: Vec<TaskSessionStatus> =
            task.sessions.iter().map(|pair| pair.status.unwrap_or(TaskSessionStatus::Queued)).collect();
        let subtasks: Vec<TaskStatus> = tx
            .rows("SELECT status FROM tasks WHERE parent_id = $1", &[(&id).into()])?
            .iter_mut()
            .map(SqlRow::parsed)
            .collect::<Result<_, _>>()?;
        let status = match roll_up(task.status, &said, &subtasks, tx.rules.when_done) {
            TaskStatus::InProgress if is_abandoned(tx, &task, &said, &subtasks)? => TaskStatus::Todo,
            status => status,
        };
        if status != task.status {
            task.status = status;
            task_rows::save(tx, &mut task)?;
            task_rows::set_manual_status(tx, &id, false)?;
            task_rows::note_progress(tx, &task, &["status"], &Actor::Daemon);
            next = task.parent;
        }
    }
    Ok(())
}

/// Whether a task is in progress only because it was: its status was not set manually, no subtask is being worked on,
/// and no living session has it, or one above it.
fn is_abandoned(
    tx: &mut ChangeTx<'_>,
    task: &Task,
    said: &[TaskSessionStatus],
    subtasks: &[TaskStatus],
) -> Result<bool, StoreError> {
    let at_it = |said: &TaskSessionStatus| {
        matches!(said, TaskSessionStatus::Working | TaskSessionStatus::NeedsInput | TaskSessionStatus::Completed)
    };
    let active = |status: &TaskStatus| matches!(status, TaskStatus::InProgress | TaskStatus::InReview);
    if task.status != TaskStatus::InProgress || said.iter().any(at_it) || subtasks.iter().any(active) {
        return Ok(false);
    }
    let reasons = tx.number(
        "WITH RECURSIVE up (id, parent_id) AS ( \
           SELECT id, parent_id FROM tasks WHERE id = $1 \
           UNION ALL SELECT tasks.id, tasks.parent_id FROM tasks JOIN up ON tasks.id = up.parent_id ) \
         SELECT (SELECT manual_status FROM tasks WHERE id = $2) + (SELECT count(*) FROM up \
         JOIN task_sessions ON task_sessions.task_id = up.id \
         JOIN sessions ON sessions.id = task_sessions.session_id \
         WHERE sessions.status IN ('spawning', 'idle', 'working', 'paused'))",
        &[(&task.id).into(), (&task.id).into()],
    )?;
    Ok(reasons == 0)
}

/// Rolls up the subtasks of a task that a session left: it may have started some of them.
pub(crate) fn roll_up_subtasks(tx: &mut ChangeTx<'_>, task: &TaskId) -> Result<(), StoreError> {
    let started: Vec<TaskId> = tx
        .rows(
            "WITH RECURSIVE down (id, depth) AS ( \
               SELECT id, 1 FROM tasks WHERE parent_id = $1 \
               UNION ALL SELECT tasks.id, down.depth + 1 FROM tasks JOIN down ON tasks.parent_id = down.id ) \
             SELECT tasks.id FROM tasks JOIN down ON tasks.id = down.id WHERE tasks.status = 'in_progress' \
             ORDER BY down.depth DESC, tasks.ord",
            &[task.into()],
        )?
        .iter_mut()
        .map(SqlRow::parsed)
        .collect::<Result<_, _>>()?;
    started.iter().try_for_each(|task| roll_up_task(tx, task))
}
