//! Checks of what each actor may do.

use maestro_core::SessionRole;
use maestro_core::id::{ProjectId, SessionId, TaskId};

use crate::actor::Actor;
use crate::error::StoreError;
use crate::tx::ChangeTx;
use crate::value::SqlParam;

/// How a task lies to a worker's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TaskAccess {
    /// It is bound to the session.
    Bound,
    /// It lies below one that is.
    Subtask,
    /// It belongs to another session.
    None,
}

/// How the task lies to the session's own; the way up is bounded, because a tree is.
pub(crate) fn task_access(tx: &mut ChangeTx<'_>, session: &SessionId, task: &TaskId) -> Result<TaskAccess, StoreError> {
    let found = tx.number(
        "WITH RECURSIVE up (id, parent_id, depth) AS ( \
           SELECT id, parent_id, CAST(0 AS BIGINT) FROM tasks WHERE id = $1 \
           UNION ALL \
           SELECT tasks.id, tasks.parent_id, up.depth + 1 FROM tasks JOIN up ON tasks.id = up.parent_id \
           WHERE up.depth < 1000 ) \
         SELECT CAST(coalesce(min(up.depth), -1) AS BIGINT) FROM up \
         JOIN task_sessions ON task_sessions.task_id = up.id WHERE task_sessions.session_id = $2",
        &[task.into(), session.into()],
    )?;
    Ok(match found {
        0 => TaskAccess::Bound,
        -1 => TaskAccess::None,
        _ => TaskAccess::Subtask,
    })
}

/// Refuses a session that reaches for what is not its own: a worker beyond its tasks and what lies below them, an
/// orchestrator beyond its project, and a cancelled session altogether.
pub(crate) fn require_task_access(
    tx: &mut ChangeTx<'_>,
    actor: &Actor,
    task: &TaskId,
) -> Result<Option<TaskAccess>, StoreError> {
    let (id, role) = match actor {
        Actor::Session { id, role } => (id, role),
        Actor::Client { project: own } => {
            let project = project_of(tx, "SELECT project_id FROM tasks WHERE id = $1", task.into())?;
            return require_own_project(own, project).map(|()| None);
        }
        _ => return Ok(None),
    };
    require_not_cancelled(tx, id)?;
    if *role == SessionRole::Orchestrator {
        let project = project_of(tx, "SELECT project_id FROM tasks WHERE id = $1", task.into())?;
        require_same_project(tx, id, project)?;
        return Ok(None);
    }
    match task_access(tx, id, task)? {
        TaskAccess::None => Err(StoreError::Forbidden(format!(
            "task '{task}' is not assigned to session '{id}', nor below a task that is"
        ))),
        near => Ok(Some(near)),
    }
}

/// Refuses an orchestrator of another project.
pub(crate) fn require_project_access(
    tx: &mut ChangeTx<'_>,
    actor: &Actor,
    project: &ProjectId,
) -> Result<(), StoreError> {
    match actor {
        Actor::Session { id, role: SessionRole::Orchestrator } => {
            require_not_cancelled(tx, id)?;
            require_same_project(tx, id, Some(project.clone()))
        }
        Actor::Client { project: own } => require_own_project(own, Some(project.clone())),
        _ => Ok(()),
    }
}

/// Refuses a program whose token is for another project; a missing record is reported as such where it is loaded.
fn require_own_project(own: &ProjectId, project: Option<ProjectId>) -> Result<(), StoreError> {
    match project {
        Some(project) if project != *own => {
            Err(StoreError::Forbidden(format!("this token is for project '{own}', not for '{project}'")))
        }
        _ => Ok(()),
    }
}

/// Refuses a cancelled session; it may only report.
fn require_not_cancelled(tx: &mut ChangeTx<'_>, session: &SessionId) -> Result<(), StoreError> {
    let cancelled = "SELECT count(*) FROM sessions WHERE id = $1 AND end_reason = 'cancelled'";
    match tx.number(cancelled, &[session.into()])? {
        0 => Ok(()),
        _ => Err(StoreError::Forbidden(format!("session '{session}' was cancelled"))),
    }
}

fn project_of(tx: &mut ChangeTx<'_>, sql: &str, id: SqlParam<'_>) -> Result<Option<ProjectId>, StoreError> {
    tx.row(sql, &[id])?.map(|mut row| row.parsed()).transpose()
}

fn require_same_project(
    tx: &mut ChangeTx<'_>,
    session: &SessionId,
    project: Option<ProjectId>,
) -> Result<(), StoreError> {
    let own = project_of(tx, "SELECT project_id FROM sessions WHERE id = $1", session.into())?;
    // A missing record is reported as such where it is loaded.
    match project {
        Some(project) if Some(&project) != own.as_ref() => {
            Err(StoreError::Forbidden(format!("session '{session}' may not act in project '{project}'")))
        }
        _ => Ok(()),
    }
}

/// Refuses a worker where only people and orchestrators may act.
pub(crate) fn forbid_worker(actor: &Actor, what: &str) -> Result<(), StoreError> {
    match actor.worker() {
        Some(session) => Err(StoreError::Forbidden(format!("session '{session}' is a worker and may not {what}"))),
        None => Ok(()),
    }
}

/// Refuses every session: what only people and their programs may do.
pub(crate) fn forbid_sessions(actor: &Actor, what: &str) -> Result<(), StoreError> {
    match actor {
        Actor::Session { id, .. } => Err(StoreError::Forbidden(format!("session '{id}' may not {what}"))),
        _ => Ok(()),
    }
}

/// Refuses a worker that speaks for another session, and an orchestrator that speaks for one of another project.
pub(crate) fn require_session_access(
    tx: &mut ChangeTx<'_>,
    actor: &Actor,
    session: &SessionId,
) -> Result<(), StoreError> {
    let project = "SELECT project_id FROM sessions WHERE id = $1";
    let (own, role) = match actor {
        Actor::Session { id, role } => (id, role),
        Actor::Client { project: own } => {
            let project = project_of(tx, project, session.into())?;
            return require_own_project(own, project);
        }
        _ => return Ok(()),
    };
    if own == session {
        return Ok(());
    }
    if *role == SessionRole::Worker {
        return Err(StoreError::Forbidden(format!("session '{own}' may not act for session '{session}'")));
    }
    let project = project_of(tx, project, session.into())?;
    require_same_project(tx, own, project)
}
