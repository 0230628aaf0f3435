//! Confirmations that notices and messages reached a session.

use maestro_core::id::{MessageId, SessionId};
use maestro_core::notice::SessionNotice;

use crate::actor::Actor;
use crate::change::Change;
use crate::error::StoreError;
use crate::tx::ChangeTx;
use crate::{access, messages, notices, session_rows, spawns};

/// Records that a session received its notices up to this one; messages among them count as delivered only now.
#[derive(Debug, Clone)]
pub struct ConfirmNotices {
    /// Which session.
    pub session: SessionId,
    /// The last notice it received.
    pub cursor: i64,
    /// How it received them.
    pub how: String,
    /// Who makes the change.
    pub actor: Actor,
}

impl Change for ConfirmNotices {
    type Output = ();

    fn actor(&self) -> Option<&Actor> {
        Some(&self.actor)
    }

    fn apply(&self, tx: &mut ChangeTx<'_>) -> Result<(), StoreError> {
        access::require_session_access(tx, &self.actor, &self.session)?;
        let session = session_rows::by_id(tx, &self.session)?;
        let confirmed = tx.rows(
            "DELETE FROM notices WHERE session_id = $1 AND ord <= $2 RETURNING ord, notice",
            &[(&self.session).into(), self.cursor.into()],
        )?;
        let mut confirmed =
            confirmed.into_iter().map(|mut row| Ok((row.int()?, row))).collect::<Result<Vec<_>, StoreError>>()?;
        confirmed.sort_by_key(|(ord, _)| *ord);
        for (_, mut row) in confirmed {
            if let SessionNotice::Message { id, .. } = row.json()? {
                messages::mark_delivered(tx, &session, &id, &self.how)?;
            }
        }
        Ok(())
    }
}

/// Records that a session's agent received messages, so that it does not receive them twice.
#[derive(Debug, Clone)]
pub struct MarkDelivered {
    /// Which session.
    pub session: SessionId,
    /// Who has it.
    pub worker: String,
    /// Which messages.
    pub messages: Vec<MessageId>,
    /// How they were delivered.
    pub how: String,
}

impl Change for MarkDelivered {
    type Output = ();

    fn actor(&self) -> Option<&Actor> {
        Some(&Actor::Worker)
    }

    fn apply(&self, tx: &mut ChangeTx<'_>) -> Result<(), StoreError> {
        spawns::require_claim(tx, &self.session, &self.worker)?;
        let session = session_rows::by_id(tx, &self.session)?;
        for message in &self.messages {
            messages::mark_delivered(tx, &session, message, &self.how)?;
        }
        notices::drop_delivered(tx, &self.session, &self.messages)
    }
}
