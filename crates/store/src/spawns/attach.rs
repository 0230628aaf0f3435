//! Attachment of a person to an agent, and its return to the workers.

use maestro_core::id::SessionId;

use super::{NEVER, SpawnRecord, SpawnState, by_session};
use crate::actor::Actor;
use crate::change::Change;
use crate::error::StoreError;
use crate::tokens;
use crate::tx::ChangeTx;
use crate::{access, session_rows};

/// Requests a session's agent. The worker releases it first: repeat this until it is attached.
#[derive(Debug, Clone)]
pub struct AttachSession {
    /// Which session.
    pub session: SessionId,
    /// Who wants it: a name that no other process has.
    pub by: String,
    /// The lease in milliseconds.
    pub lease: i64,
    /// Who makes the change.
    pub actor: Actor,
}

impl Change for AttachSession {
    type Output = SpawnRecord;

    fn actor(&self) -> Option<&Actor> {
        Some(&self.actor)
    }

    fn apply(&self, tx: &mut ChangeTx<'_>) -> Result<SpawnRecord, StoreError> {
        access::forbid_worker(&self.actor, "attach to an agent")?;
        let spawn = by_session(tx, &self.session)?;
        match spawn.state {
            SpawnState::Attached if spawn.worker.as_ref() == Some(&self.by) => return Ok(spawn),
            SpawnState::Attached => {
                return Err(StoreError::Rule(format!("someone else is attached to session '{}'", self.session)));
            }
            SpawnState::Claimed => {
                tx.execute(
                    "UPDATE spawns SET attach_requested_by = $1 WHERE session_id = $2",
                    &[(&self.by).into(), (&self.session).into()],
                )?;
            }
            SpawnState::Waiting | SpawnState::Done => {
                tx.execute(
                    "UPDATE spawns SET state = 'attached', worker = $1, lease_until = $2, attempt = 0 \
                     WHERE session_id = $3",
                    &[(&self.by).into(), (tx.now + self.lease).into(), (&self.session).into()],
                )?;
            }
        }
        by_session(tx, &self.session)
    }
}

/// Says that a person still has an agent.
#[derive(Debug, Clone)]
pub struct RenewAttachment {
    /// Which session.
    pub session: SessionId,
    /// Who has it.
    pub by: String,
    /// The lease in milliseconds, from now.
    pub lease: i64,
}

impl Change for RenewAttachment {
    type Output = ();

    fn apply(&self, tx: &mut ChangeTx<'_>) -> Result<(), StoreError> {
        let until = tx.now + self.lease;
        tx.execute(
            "UPDATE spawns SET lease_until = $1 WHERE session_id = $2 AND worker = $3 AND state = 'attached'",
            &[until.into(), (&self.session).into(), (&self.by).into()],
        )?;
        Ok(())
    }
}

/// Gives an agent back: it goes on, unless its session is over.
#[derive(Debug, Clone)]
pub struct DetachSession {
    /// Which session.
    pub session: SessionId,
    /// Who had it.
    pub by: String,
}

impl Change for DetachSession {
    type Output = SpawnRecord;

    fn apply(&self, tx: &mut ChangeTx<'_>) -> Result<SpawnRecord, StoreError> {
        let over = session_rows::by_id(tx, &self.session)?.status.is_over();
        tokens::end_tokens(tx, &self.session)?;
        let (state, not_before) = if over { (SpawnState::Done, NEVER) } else { (SpawnState::Waiting, tx.now) };
        tx.execute(
            "UPDATE spawns SET state = $1, worker = NULL, lease_until = NULL, not_before = $2, updated_at = $3 \
             WHERE session_id = $4 AND worker = $5 AND state = 'attached'",
            &[state.as_str().into(), not_before.into(), tx.now.into(), (&self.session).into(), (&self.by).into()],
        )?;
        tx.execute(
            "UPDATE spawns SET attach_requested_by = NULL WHERE session_id = $1 AND attach_requested_by = $2",
            &[(&self.session).into(), (&self.by).into()],
        )?;
        by_session(tx, &self.session)
    }
}
