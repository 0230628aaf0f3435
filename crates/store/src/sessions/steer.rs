//! Control of a session: pause, resume and cancel.

use std::fmt;

use maestro_core::id::SessionId;
use maestro_core::notice::Notice;
use maestro_core::session::{EndReason, Session, SessionStatus};

use super::{become_status, by_id};
use crate::actor::{self, Actor};
use crate::change::Change;
use crate::error::StoreError;
use crate::tx::Tx;
use crate::{notices, spawns};

/// A control that a person or orchestrator sends to a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// Wait.
    Pause,
    /// Go on.
    Resume,
    /// End.
    Cancel,
}

impl Order {
    /// The controls that a session in this state accepts.
    pub fn fitting(status: SessionStatus) -> &'static [Self] {
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

impl fmt::Display for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Pauses, resumes or cancels a session; its agent is notified with its next call.
#[derive(Debug, Clone)]
pub struct Steer {
    /// Which session.
    pub id: SessionId,
    /// What to do.
    pub order: Order,
    /// Who makes the change.
    pub actor: Actor,
}

impl Change for Steer {
    type Output = Session;

    fn actor(&self) -> Option<&Actor> {
        Some(&self.actor)
    }

    fn apply(&self, tx: &mut Tx<'_>) -> Result<Session, StoreError> {
        actor::own_session(tx, &self.actor, &self.id)?;
        if self.order == Order::Resume {
            actor::not_a_worker(&self.actor, "end its own pause")?;
        }
        let mut session = by_id(tx, &self.id)?;
        let (status, reason, notice) = match self.order {
            Order::Pause => (SessionStatus::Paused, None, Notice::Paused),
            Order::Resume => (session.paused_from.unwrap_or(SessionStatus::Working), None, Notice::Resumed),
            Order::Cancel => (SessionStatus::Stopped, Some(EndReason::Cancelled), Notice::Cancelled),
        };
        if self.order == Order::Resume && session.status != SessionStatus::Completed && session.status.is_over() {
            // An agent that failed is started again: the cause may be gone.
            spawns::revive(tx, &session)?;
            become_status(tx, &mut session, SessionStatus::Idle, None)?;
            return by_id(tx, &self.id);
        }
        let refused = self.order == Order::Resume && session.status != SessionStatus::Paused;
        if refused || (session.status.is_over() && self.order != Order::Cancel) {
            return Err(StoreError::Steering { from: session.status, order: self.order });
        }
        if session.status == status && session.end == reason {
            return Ok(session);
        }
        if self.order == Order::Resume {
            // It was silent because it was paused; its silence counts from now.
            session.last_activity = tx.now;
        }
        become_status(tx, &mut session, status, reason)?;
        notices::tell(tx, &session.id, &notice, None);
        by_id(tx, &self.id)
    }
}
