//! Pairs of a task and a session as stored.

use maestro_core::event::{BindingFact, Event};
use maestro_core::id::{SessionId, TaskId};
use maestro_core::session::TaskSessionStatus;
use maestro_core::task::{Task, TaskSession};

use crate::db::DbTx;
use crate::error::StoreError;
use crate::tx::{ChangeTx, EventScope};
use crate::value::{SqlParam, SqlRow};

/// For how many tasks pairs are looked up at once.
pub(crate) const BATCH_SIZE: usize = 50;

/// Whether a session of a task waits for a person.
pub(crate) const ASKS: &str = "EXISTS (SELECT 1 FROM task_sessions p WHERE p.task_id = tasks.id \
                    AND p.status IN ('needs_input', 'blocked'))";

fn task_session(row: &mut SqlRow) -> Result<TaskSession, StoreError> {
    Ok(TaskSession { session: row.parsed()?, status: row.maybe_parsed()?, updated_at: row.int()? })
}

pub(crate) fn of_task(db: &mut DbTx<'_>, task: &TaskId) -> Result<Vec<TaskSession>, StoreError> {
    let sql =
        "SELECT session_id, status, updated_at FROM task_sessions WHERE task_id = $1 ORDER BY bound_at, session_id";
    db.rows(sql, &[task.into()])?.iter_mut().map(task_session).collect()
}

/// The pairs of up to [`BATCH_SIZE`] tasks.
pub(crate) fn of_tasks(db: &mut DbTx<'_>, tasks: &[&str]) -> Result<Vec<(TaskId, TaskSession)>, StoreError> {
    let Some(last) = tasks.last() else { return Ok(Vec::new()) };
    // Always as many places, so that the statement is prepared once.
    let params: Vec<SqlParam<'_>> = (0..BATCH_SIZE).map(|index| (*tasks.get(index).unwrap_or(last)).into()).collect();
    let places: Vec<String> = (1..=BATCH_SIZE).map(|number| format!("${number}")).collect();
    let sql = format!(
        "SELECT task_id, session_id, status, updated_at FROM task_sessions WHERE task_id IN ({}) \
         ORDER BY bound_at, session_id",
        places.join(", ")
    );
    db.rows(&sql, &params)?.iter_mut().map(|row| Ok((row.parsed()?, task_session(row)?))).collect()
}

/// The tasks of a session, the main one first, and how it stands to each.
pub(crate) fn of_session(
    db: &mut DbTx<'_>,
    session: &SessionId,
) -> Result<Vec<(TaskId, Option<TaskSessionStatus>)>, StoreError> {
    let sql = "SELECT position, task_id, status FROM task_sessions WHERE session_id = $1";
    let read = |row: &mut SqlRow| Ok((row.int()?, (row.parsed()?, row.maybe_parsed()?)));
    let mut found = db.rows(sql, &[session.into()])?.iter_mut().map(read).collect::<Result<Vec<_>, StoreError>>()?;
    // A session has few tasks, and every report asks: sorting here is cheaper than a sorter there.
    found.sort_unstable_by_key(|(position, _)| *position);
    Ok(found.into_iter().map(|(_, pair)| pair).collect())
}

/// Notes how a session stands to a task, for a pair that exists and differs, as its caller has looked.
pub(crate) fn update(
    tx: &mut ChangeTx<'_>,
    task: &TaskId,
    session: &SessionId,
    status: TaskSessionStatus,
) -> Result<(), StoreError> {
    tx.execute(
        "UPDATE task_sessions SET status = $1, updated_at = $2 WHERE session_id = $3 AND task_id = $4",
        &[status.as_str().into(), tx.now.into(), session.into(), task.into()],
    )?;
    Ok(())
}

/// Clears the sessions' statuses of a task that was reopened: they count again with the next report.
pub(crate) fn reset_statuses(tx: &mut ChangeTx<'_>, task: &TaskId) -> Result<(), StoreError> {
    tx.execute(
        "UPDATE task_sessions SET status = 'skipped' \
         WHERE task_id = $1 AND status IN ('completed', 'failed', 'blocked')",
        &[task.into()],
    )?;
    Ok(())
}

/// Binds a session to a task; binding twice is no mistake.
pub(crate) fn bind(tx: &mut ChangeTx<'_>, task: &Task, session: &SessionId) -> Result<bool, StoreError> {
    let position = tx.number(
        "SELECT CAST(coalesce(max(position), -1) + 1 AS BIGINT) FROM task_sessions WHERE session_id = $1",
        &[session.into()],
    )?;
    let added = tx.execute(
        "INSERT INTO task_sessions (task_id, session_id, position, bound_at, updated_at) \
         VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING",
        &[(&task.id).into(), session.into(), position.into(), tx.now.into(), tx.now.into()],
    )?;
    if added > 0 {
        let binding = BindingFact { task_id: task.id.clone(), session_id: session.clone() };
        let scope = EventScope::project(&task.project).task(&task.id).session(session);
        tx.emit(scope.clone(), Event::TaskSessionAdded(binding.clone()));
        tx.emit(scope, Event::SessionTaskAdded(binding));
    }
    Ok(added > 0)
}

/// Removes a session from a task.
pub(crate) fn remove(tx: &mut ChangeTx<'_>, task: &Task, session: &SessionId) -> Result<bool, StoreError> {
    let removed = tx.execute(
        "DELETE FROM task_sessions WHERE session_id = $1 AND task_id = $2",
        &[session.into(), (&task.id).into()],
    )?;
    if removed > 0 {
        let binding = BindingFact { task_id: task.id.clone(), session_id: session.clone() };
        let scope = EventScope::project(&task.project).task(&task.id).session(session);
        tx.emit(scope.clone(), Event::TaskSessionRemoved(binding.clone()));
        tx.emit(scope, Event::SessionTaskRemoved(binding));
    }
    Ok(removed > 0)
}
