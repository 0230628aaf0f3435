//! Control of a session: pause, resume and cancel.

use std::fmt;

use maestro_core::id::SessionId;
use maestro_core::notice::SessionNotice;
use maestro_core::session::{EndReason, Session, SessionStatus};

use super::{by_id, set_status};
use crate::actor::{self, Actor};
use crate::change::Change;
use crate::error::StoreError;
use crate::tx::ChangeTx;
use crate::{notices, spawns};

/// A control that a person or orchestrator sends to a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionControl {
    /// Wait.
    Pause,
    /// Go on.
    Resume,
    /// End.
    Cancel,
}

impl SessionControl {
    /// The controls that a session in this state accepts.
    pub fn allowed_for(status: SessionStatus) -> &'static [Self] {
        match status {
            _ if status.is_over() => &[],
            SessionStatus::Paused => &[Self::Resume, Self::Cancel],
            _ => &[Self::Pause, Self::Cancel],
        }
    }

    /// Its name as stored and shown.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pause => "pause",
            Self::Resume => "resume",
            Self::Cancel => "cancel",
        }
    }
}

impl fmt::Display for SessionControl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Pauses, resumes or cancels a session; its agent is notified with its next call.
#[derive(Debug, Clone)]
pub struct ControlSession {
    /// Which session.
    pub id: SessionId,
    /// What to do.
    pub control: SessionControl,
    /// Who makes the change.
    pub actor: Actor,
}

impl Change for ControlSession {
    type Output = Session;

    fn actor(&self) -> Option<&Actor> {
        Some(&self.actor)
    }

    fn apply(&self, tx: &mut ChangeTx<'_>) -> Result<Session, StoreError> {
        actor::require_session_access(tx, &self.actor, &self.id)?;
        if self.control == SessionControl::Resume {
            actor::forbid_worker(&self.actor, "end its own pause")?;
        }
        let mut session = by_id(tx, &self.id)?;
        let (status, reason, notice) = match self.control {
            SessionControl::Pause => (SessionStatus::Paused, None, SessionNotice::Paused),
            SessionControl::Resume => {
                (session.paused_from.unwrap_or(SessionStatus::Working), None, SessionNotice::Resumed)
            }
            SessionControl::Cancel => (SessionStatus::Stopped, Some(EndReason::Cancelled), SessionNotice::Cancelled),
        };
        if self.control == SessionControl::Resume
            && session.status != SessionStatus::Completed
            && session.status.is_over()
        {
            // An agent that failed is started again: the cause may be gone.
            spawns::revive(tx, &session)?;
            set_status(tx, &mut session, SessionStatus::Idle, None)?;
            return by_id(tx, &self.id);
        }
        let refused = self.control == SessionControl::Resume && session.status != SessionStatus::Paused;
        if refused || (session.status.is_over() && self.control != SessionControl::Cancel) {
            return Err(StoreError::InvalidControl { from: session.status, control: self.control });
        }
        if session.status == status && session.end == reason {
            return Ok(session);
        }
        if self.control == SessionControl::Resume {
            // It was silent because it was paused; its silence counts from now.
            session.last_activity = tx.now;
        }
        set_status(tx, &mut session, status, reason)?;
        notices::notify(tx, &session.id, &notice, None);
        by_id(tx, &self.id)
    }
}
