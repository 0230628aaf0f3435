//! Control of a session: pause, resume and cancel.

use maestro_core::id::SessionId;
use maestro_core::notice::SessionNotice;
use maestro_core::session::{EndReason, Session, SessionControl, SessionStatus};

use crate::actor::Actor;
use crate::change::Change;
use crate::error::StoreError;
use crate::session_rows::by_id;
use crate::session_status::set_status;
use crate::tx::ChangeTx;
use crate::{access, notices, spawns};

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
        access::require_session_access(tx, &self.actor, &self.id)?;
        if self.control == SessionControl::Resume {
            access::forbid_worker(&self.actor, "end its own pause")?;
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
