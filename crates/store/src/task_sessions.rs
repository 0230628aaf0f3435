//! Changes of which sessions work on a task, and of how each stands to it.

use maestro_core::id::{SessionId, TaskId};
use maestro_core::notice::SessionNotice;
use maestro_core::session::{EntryKind, TaskSessionStatus};

use crate::actor::Actor;
use crate::change::Change;
use crate::error::StoreError;
use crate::task_rollup::{record_change, roll_up_subtasks, roll_up_task};
use crate::task_session_rows::{bind, remove, update};
use crate::timeline::{self, NewTimelineEntry};
use crate::tx::ChangeTx;
use crate::{access, notices, queue_rows, session_rows, session_status, task_rows};

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
        session_rows::require(tx, session)?;
        let task = task_rows::by_id(tx, task)?;
        session_rows::by_id(tx, session)?;
        bind(tx, &task, session)?;
        None
    };
    if matches!(status, TaskSessionStatus::Queued | TaskSessionStatus::Working | TaskSessionStatus::NeedsInput) {
        // Only a live session can be at work; else the task would wait forever.
        session_status::revive(tx, session)?;
    }
    if before != Some(status) {
        update(tx, task, session, status)?;
        record_change(tx, task, session)?;
    }
    Ok(())
}

/// Takes a session off a task that goes on without it.
pub(crate) fn detach_session(tx: &mut ChangeTx<'_>, task: &TaskId, session: &SessionId) -> Result<bool, StoreError> {
    let task = task_rows::by_id(tx, task)?;
    let status = task.sessions.iter().find(|pair| pair.session == *session).and_then(|pair| pair.status);
    if matches!(status, Some(TaskSessionStatus::Working | TaskSessionStatus::NeedsInput)) {
        // Marked as left first, then removed: a task without sessions is open again.
        update(tx, &task.id, session, TaskSessionStatus::Skipped)?;
        roll_up_task(tx, &task.id)?;
    }
    queue_rows::remove_task(tx, &task, session)?;
    let left = remove(tx, &task, session)?;
    roll_up_subtasks(tx, &task.id)?;
    roll_up_task(tx, &task.id)?;
    Ok(left)
}

/// Makes these the sessions of a task.
pub(crate) fn replace(
    tx: &mut ChangeTx<'_>,
    task: &TaskId,
    wanted: &[SessionId],
    actor: &Actor,
) -> Result<(), StoreError> {
    access::forbid_worker(actor, "say who works on a task")?;
    let task = task_rows::by_id(tx, task)?;
    for pair in task.sessions.iter().filter(|pair| !wanted.contains(&pair.session)) {
        detach_session(tx, &task.id, &pair.session)?;
    }
    for session in wanted {
        session_rows::require(tx, session)?;
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
        access::forbid_worker(&self.actor, "give tasks to sessions")?;
        access::require_session_access(tx, &self.actor, &self.session)?;
        access::require_task_access(tx, &self.actor, &self.task)?;
        session_rows::by_id(tx, &self.session)?;
        let task = task_rows::by_id(tx, &self.task)?;
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
        access::forbid_worker(&self.actor, "take tasks from sessions")?;
        access::require_session_access(tx, &self.actor, &self.session)?;
        session_rows::by_id(tx, &self.session)?;
        let task = task_rows::by_id(tx, &self.task)?;
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
    let project = session_rows::by_id(tx, session)?.project;
    let entry = NewTimelineEntry { kind, message: message.to_owned(), task: Some(task.clone()), metadata: None };
    timeline::add(tx, &project, session, &entry)
}
