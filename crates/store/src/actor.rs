//! Who does it?

use maestro_core::Role;
use maestro_core::id::{SessionId, TaskId};

use crate::error::StoreError;
use crate::tx::Tx;

/// Who makes a change, as far as the server could make sure.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Actor {
    /// The local user, or whoever holds the server's token.
    #[default]
    Person,
    /// A session that showed its token, or whose commands said which one they are of.
    Session {
        /// The session.
        id: SessionId,
        /// The part it plays.
        role: Role,
    },
}

impl Actor {
    /// The session that acts.
    pub fn session(&self) -> Option<&SessionId> {
        match self {
            Self::Person => None,
            Self::Session { id, .. } => Some(id),
        }
    }

    /// The worker that acts; only workers are held to their own tasks.
    pub(crate) fn worker(&self) -> Option<&SessionId> {
        match self {
            Self::Session { id, role: Role::Worker } => Some(id),
            _ => None,
        }
    }
}

/// How a task lies to a worker's own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reach {
    /// It is bound to the session.
    Bound,
    /// It lies below one that is.
    Below,
    /// It is somebody else's.
    Foreign,
}

/// How the task lies to the session's own; the way up is bounded, because a tree is.
pub(crate) fn reach(tx: &mut Tx<'_>, session: &SessionId, task: &TaskId) -> Result<Reach, StoreError> {
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
        0 => Reach::Bound,
        -1 => Reach::Foreign,
        _ => Reach::Below,
    })
}

/// Refuses a worker that reaches for somebody else's task.
pub(crate) fn require(tx: &mut Tx<'_>, actor: &Actor, task: &TaskId) -> Result<Option<Reach>, StoreError> {
    let Some(session) = actor.worker() else { return Ok(None) };
    match reach(tx, session, task)? {
        Reach::Foreign => {
            Err(StoreError::Forbidden(format!("task '{task}' is not one of session '{session}', nor below one")))
        }
        near => Ok(Some(near)),
    }
}

/// Refuses a worker where only people and orchestrators may act.
pub(crate) fn not_a_worker(actor: &Actor, what: &str) -> Result<(), StoreError> {
    match actor.worker() {
        Some(session) => Err(StoreError::Forbidden(format!("session '{session}' is a worker and may not {what}"))),
        None => Ok(()),
    }
}

/// Refuses a session that speaks for another one.
pub(crate) fn own_session(actor: &Actor, session: &SessionId) -> Result<(), StoreError> {
    match actor.worker() {
        Some(own) if own != session => {
            Err(StoreError::Forbidden(format!("session '{own}' may not act for session '{session}'")))
        }
        _ => Ok(()),
    }
}
