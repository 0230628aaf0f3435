//! Deletion of a session and everything that belongs to it.

use maestro_core::event::{Event, SessionFact};
use maestro_core::id::SessionId;

use crate::actor::Actor;
use crate::change::Change;
use crate::error::StoreError;
use crate::search_words::{self, SearchedTable};
use crate::session_rows::{by_id, searched_text};
use crate::tx::{ChangeTx, EventScope};
use crate::{access, task_rows, task_sessions};

/// Removes a session; its tasks stay, and so does what it said in the log.
#[derive(Debug, Clone)]
pub struct DeleteSession {
    /// Which one.
    pub id: SessionId,
    /// Who makes the change.
    pub actor: Actor,
}

impl Change for DeleteSession {
    type Output = ();

    fn actor(&self) -> Option<&Actor> {
        Some(&self.actor)
    }

    fn apply(&self, tx: &mut ChangeTx<'_>) -> Result<(), StoreError> {
        access::forbid_worker(&self.actor, "delete sessions")?;
        access::require_session_access(tx, &self.actor, &self.id)?;
        let session = by_id(tx, &self.id)?;
        task_rows::lock_tasks(tx, &session.tasks)?;
        for id in &session.tasks {
            task_sessions::detach_session(tx, id, &session.id)?;
        }
        search_words::remove(tx, SearchedTable::Sessions, (&session.id).into(), &searched_text(&session))?;
        for statement in [
            "DELETE FROM step_sessions WHERE session_id = $1",
            "DELETE FROM spawns WHERE session_id = $1",
            "DELETE FROM transcript WHERE session_id = $1",
            "DELETE FROM permissions WHERE session_id = $1",
            "DELETE FROM skill_deliveries WHERE session_id = $1",
            "DELETE FROM queue_items WHERE session_id = $1",
            "DELETE FROM queues WHERE session_id = $1",
            "DELETE FROM notices WHERE session_id = $1",
            "DELETE FROM messages WHERE session_id = $1",
            "DELETE FROM tokens WHERE session_id = $1",
            "DELETE FROM timeline WHERE session_id = $1",
            "DELETE FROM timeline_tail WHERE session_id = $1",
            "DELETE FROM session_events WHERE session_id = $1",
            "DELETE FROM sessions WHERE id = $1",
        ] {
            tx.execute(statement, &[(&self.id).into()])?;
        }
        let fact = SessionFact { id: session.id, name: session.name, status: session.status, reason: None };
        tx.emit(EventScope::project(&session.project).session(&self.id), Event::SessionDeleted(fact));
        Ok(())
    }
}
