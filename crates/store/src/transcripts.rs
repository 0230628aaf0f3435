//! What did an agent do? Kept as it happened, a part at a time.

use maestro_core::agent::AgentEvent;
use maestro_core::event::{Event, TranscriptFact};
use maestro_core::id::SessionId;
use maestro_core::session::SessionStatus;
use serde::{Deserialize, Serialize};

use crate::change::{Change, Read};
use crate::db::Db;
use crate::error::StoreError;
use crate::query::Query;
use crate::spawns;
use crate::tx::{Scope, Tx};
use crate::value::{Row, to_json};
use crate::{Listed, Page, sessions};

/// Something an agent did, as it is kept.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TranscriptEntry {
    /// Its place; places grow, and not by one.
    pub ord: i64,
    /// When.
    pub at: i64,
    /// What.
    pub event: AgentEvent,
}

/// Keeps what an agent did. Whoever lost the session to another worker is refused.
#[derive(Debug, Clone)]
pub struct AppendTranscript {
    /// Which session.
    pub session: SessionId,
    /// Who has it.
    pub worker: String,
    /// What its agent did, and when.
    pub events: Vec<(i64, AgentEvent)>,
}

impl Change for AppendTranscript {
    type Output = ();

    fn apply(&self, tx: &mut Tx<'_>) -> Result<(), StoreError> {
        spawns::held_by(tx, &self.session, &self.worker)?;
        let mut session = sessions::by_id(tx, &self.session)?;
        if session.status == SessionStatus::Spawning {
            sessions::become_status(tx, &mut session, SessionStatus::Working, None)?;
        }
        let mut last = 0;
        for (at, event) in &self.events {
            last = tx.number(
                "INSERT INTO transcript (session_id, at, event) VALUES ($1, $2, $3) RETURNING ord",
                &[(&self.session).into(), (*at).into(), (&to_json(event)?).into()],
            )?;
        }
        // Whoever works gives a sign of life, whatever else it says.
        tx.execute("UPDATE sessions SET last_activity = $1 WHERE id = $2", &[tx.now.into(), (&self.session).into()])?;
        let fact = TranscriptFact { last, count: self.events.len() };
        tx.emit(Scope::project(&session.project).session(&session.id), Event::TranscriptAdded(fact));
        Ok(())
    }
}

/// What an agent did, oldest first.
#[derive(Debug, Clone)]
pub struct Transcript {
    /// Which session.
    pub session: SessionId,
    /// Which part.
    pub page: Page,
}

impl Read for Transcript {
    type Output = Listed<TranscriptEntry>;

    fn load(&self, db: &mut Db<'_>) -> Result<Listed<TranscriptEntry>, StoreError> {
        let rows = Query::new("SELECT ord, ord, at, event FROM transcript WHERE ord > $1", self.page.after)
            .only("session_id = ?", &self.session)
            .page(db, self.page)?;
        self.page.list(rows, entry)
    }
}

fn entry(row: &mut Row) -> Result<TranscriptEntry, StoreError> {
    Ok(TranscriptEntry { ord: row.int()?, at: row.int()?, event: row.json()? })
}
