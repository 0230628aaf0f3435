//! Sessions of a task, and the task status that follows from theirs.

use maestro_core::event::{BindingFact, Event};
use maestro_core::id::{SessionId, TaskId};
use maestro_core::notice::SessionNotice;
use maestro_core::rollup::roll_up;
use maestro_core::session::{EntryKind, TaskSessionStatus};
use maestro_core::task::{Task, TaskSession, TaskStatus};

use crate::actor::{self, Actor};
use crate::change::Change;
use crate::db::DbTx;
use crate::error::StoreError;
use crate::timeline::{self, NewTimelineEntry};
use crate::tx::{ChangeTx, EventScope};
use crate::value::{SqlParam, SqlRow};
use crate::{notices, queues, sessions, tasks};

/// For how many tasks pairs are looked up at once.
pub(crate) const BATCH_SIZE: usize = 50;

fn task_session(row: &mut SqlRow) -> Result<TaskSession, StoreError> {
    Ok(TaskSession { session: row.parsed()?, status: row.maybe_parsed()?, updated_at: row.int()? })
}

pub(crate) fn of_task(db: &mut DbTx<'_>, task: &TaskId) -> Result<Vec<TaskSession>, StoreError> {
    let sql =
        "SELECT session_id, status, updated_at FROM task_sessions WHERE task_id = $1 ORDER BY bound_at, session_id";
    db.rows(sql, &[task.into()])?.iter_mut().map(task_session).collect()
}

/// The pairs of up to [`MANY`] tasks.
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

/// Notes how a session stands to a task, and what follows; binds them if they are not.
pub(crate) fn set(
    tx: &mut ChangeTx<'_>,
    task: &TaskId,
    session: &SessionId,
    status: TaskSessionStatus,
) -> Result<(), StoreError> {
    let found = tx.row(
        "SELECT status FROM task_sessions WHERE session_id = $1 AND task_id = $2",
        &[session.into(), task.into()],
    )?;
    let before: Option<TaskSessionStatus> = if let Some(mut row) = found {
        row.maybe_parsed()?
    } else {
        sessions::require(tx, session)?;
        let task = tasks::by_id(tx, task)?;
        sessions::by_id(tx, session)?;
        bind(tx, &task, session)?;
        None
    };
    if matches!(status, TaskSessionStatus::Queued | TaskSessionStatus::Working | TaskSessionStatus::NeedsInput) {
        // Only a live session can be at work; else the task would wait forever.
        sessions::revive(tx, session)?;
    }
    if before != Some(status) {
        update(tx, task, session, status)?;
        emit_change(tx, task, session)?;
        roll_up_task(tx, task)?;
    }
    Ok(())
}

/// The same for a pair that exists and differs, as its caller has looked.
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

fn emit_change(tx: &mut ChangeTx<'_>, task: &TaskId, session: &SessionId) -> Result<(), StoreError> {
    let task = tasks::by_id(tx, task)?;
    let role = maestro_core::SessionRole::Worker;
    tasks::note_progress(tx, &task, &["sessionStatus"], &Actor::Session { id: session.clone(), role });
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
        let mut task = tasks::by_id(tx, &id)?;
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
            tasks::save(tx, &mut task)?;
            tasks::set_manual_status(tx, &id, false)?;
            tasks::note_progress(tx, &task, &["status"], &Actor::Daemon);
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
         WHERE sessions.status NOT IN ('completed', 'failed', 'stopped'))",
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

/// Takes a session off a task that goes on without it.
pub(crate) fn detach_session(tx: &mut ChangeTx<'_>, task: &TaskId, session: &SessionId) -> Result<bool, StoreError> {
    let task = tasks::by_id(tx, task)?;
    let status = task.sessions.iter().find(|pair| pair.session == *session).and_then(|pair| pair.status);
    if matches!(status, Some(TaskSessionStatus::Working | TaskSessionStatus::NeedsInput)) {
        // Marked as left first, then removed: a task without sessions is open again.
        update(tx, &task.id, session, TaskSessionStatus::Skipped)?;
        roll_up_task(tx, &task.id)?;
    }
    queues::remove_task(tx, &task, session)?;
    let left = remove(tx, &task, session)?;
    roll_up_subtasks(tx, &task.id)?;
    roll_up_task(tx, &task.id)?;
    Ok(left)
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

/// Makes these the sessions of a task.
pub(crate) fn replace(
    tx: &mut ChangeTx<'_>,
    task: &TaskId,
    wanted: &[SessionId],
    actor: &Actor,
) -> Result<(), StoreError> {
    actor::forbid_worker(actor, "say who works on a task")?;
    let task = tasks::by_id(tx, task)?;
    for pair in task.sessions.iter().filter(|pair| !wanted.contains(&pair.session)) {
        detach_session(tx, &task.id, &pair.session)?;
    }
    for session in wanted {
        sessions::require(tx, session)?;
        bind(tx, &task, session)?;
    }
    Ok(())
}

/// Gives a session another task.
#[derive(Debug, Clone)]
pub struct BindTask {
    /// The session.
    pub session: SessionId,
    /// The task.
    pub task: TaskId,
    /// Who makes the change.
    pub actor: Actor,
}

impl Change for BindTask {
    type Output = ();

    fn actor(&self) -> Option<&Actor> {
        Some(&self.actor)
    }

    fn apply(&self, tx: &mut ChangeTx<'_>) -> Result<(), StoreError> {
        actor::forbid_worker(&self.actor, "give tasks to sessions")?;
        actor::require_session_access(tx, &self.actor, &self.session)?;
        actor::require_task_access(tx, &self.actor, &self.task)?;
        sessions::by_id(tx, &self.session)?;
        let task = tasks::by_id(tx, &self.task)?;
        if bind(tx, &task, &self.session)? {
            add_line(tx, &self.session, &self.task, EntryKind::task_started(), "Added task to session")?;
            let notice = SessionNotice::TaskAssigned { task: task.id.clone(), title: task.title };
            notices::notify(tx, &self.session, &notice, self.actor.session());
        }
        Ok(())
    }
}

/// Takes a task from a session.
#[derive(Debug, Clone)]
pub struct UnbindTask {
    /// The session.
    pub session: SessionId,
    /// The task.
    pub task: TaskId,
    /// Who makes the change.
    pub actor: Actor,
}

impl Change for UnbindTask {
    type Output = ();

    fn actor(&self) -> Option<&Actor> {
        Some(&self.actor)
    }

    fn apply(&self, tx: &mut ChangeTx<'_>) -> Result<(), StoreError> {
        actor::forbid_worker(&self.actor, "take tasks from sessions")?;
        actor::require_session_access(tx, &self.actor, &self.session)?;
        sessions::by_id(tx, &self.session)?;
        let task = tasks::by_id(tx, &self.task)?;
        if detach_session(tx, &task.id, &self.session)? {
            add_line(tx, &self.session, &self.task, EntryKind::task_completed(), "Removed task from session")?;
            let notice = SessionNotice::TaskUnassigned { task: task.id.clone(), title: task.title };
            notices::notify(tx, &self.session, &notice, self.actor.session());
        }
        Ok(())
    }
}

fn add_line(
    tx: &mut ChangeTx<'_>,
    session: &SessionId,
    task: &TaskId,
    kind: EntryKind,
    message: &str,
) -> Result<(), StoreError> {
    let project = sessions::by_id(tx, session)?.project;
    let entry = NewTimelineEntry { kind, message: message.to_owned(), task: Some(task.clone()), metadata: None };
    timeline::add(tx, &project, session, &entry)
}
