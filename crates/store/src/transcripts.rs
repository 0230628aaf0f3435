//! Transcripts: what an agent did, appended as it happens.

use maestro_core::agent::AgentEvent;
use maestro_core::event::{Event, TranscriptFact};
use maestro_core::id::SessionId;
use maestro_core::session::SessionStatus;
use serde::{Deserialize, Serialize};

use crate::actor::Actor;
use crate::change::{Change, Query};
use crate::db::DbTx;
use crate::error::StoreError;
use crate::sql_query::SqlQuery;
use crate::tx::{ChangeTx, EventScope};
use crate::value::{SqlRow, to_json};
use crate::{ListPage, PageItems, session_rows, session_status, spawns};

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

/// Appends what an agent did. A worker that lost the session to another one is refused.
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

    fn actor(&self) -> Option<&Actor> {
        Some(&Actor::Worker)
    }

    fn apply(&self, tx: &mut ChangeTx<'_>) -> Result<(), StoreError> {
        spawns::require_claim(tx, &self.session, &self.worker)?;
        let mut session = session_rows::by_id(tx, &self.session)?;
        if matches!(session.status, SessionStatus::Spawning | SessionStatus::Idle) {
            session_status::set_status(tx, &mut session, SessionStatus::Working, None)?;
        }
        let mut last = 0;
        for (at, event) in &self.events {
            last = tx.number(
                "INSERT INTO transcript (session_id, at, event) VALUES ($1, $2, $3) RETURNING ord",
                &[(&self.session).into(), (*at).into(), (&to_json(event)?).into()],
            )?;
        }
        // Work is a sign of life, whatever else the session reports.
        tx.execute("UPDATE sessions SET last_activity = $1 WHERE id = $2", &[tx.now.into(), (&self.session).into()])?;
        let fact = TranscriptFact { last, count: self.events.len() };
        tx.emit(EventScope::project(&session.project).session(&session.id), Event::TranscriptAdded(fact));
        Ok(())
    }
}

/// What an agent did, oldest first.
#[derive(Debug, Clone)]
pub struct TranscriptPage {
    /// Which session.
    pub session: SessionId,
    /// Which part.
    pub page: ListPage,
}

impl Query for TranscriptPage {
    type Output = PageItems<TranscriptEntry>;

    fn load(&self, db: &mut DbTx<'_>) -> Result<PageItems<TranscriptEntry>, StoreError> {
        let rows = SqlQuery::new("SELECT ord, ord, at, event FROM transcript WHERE ord > $1", self.page.after)
            .only("session_id = ?", &self.session)
            .page(db, self.page)?;
        self.page.list(rows, entry)
    }
}

/// The newest that an agent did, or what came before that; oldest first.
///
/// What agents say often comes in pieces of a word each, and now and then a piece is a whole file. So both are bounded:
/// how many there are, and how long they are together.
#[derive(Debug, Clone)]
pub struct TranscriptTail {
    /// Which session.
    pub session: SessionId,
    /// Only what came before this place.
    pub before: Option<i64>,
    /// How many at most.
    pub limit: i64,
    /// How many characters at most; the newest is always among them.
    pub characters: i64,
}

/// The end of a transcript, or of a part of it.
#[derive(Debug, Clone, PartialEq)]
pub struct TranscriptExcerpt {
    /// What an agent did, oldest first.
    pub entries: Vec<TranscriptEntry>,
    /// Whether there is something before the first.
    pub more: bool,
}

impl Query for TranscriptTail {
    type Output = TranscriptExcerpt;

    fn load(&self, db: &mut DbTx<'_>) -> Result<TranscriptExcerpt, StoreError> {
        let sql = "SELECT ord, at, event FROM (SELECT ord, at, event, \
                   sum(length(event)) OVER (ORDER BY ord DESC) - length(event) AS newer FROM (SELECT ord, at, event \
                   FROM transcript WHERE session_id = $1 AND ord < $2 ORDER BY ord DESC LIMIT $3) AS newest) AS measured \
                   WHERE newer < $4 ORDER BY ord";
        let before = self.before.unwrap_or(i64::MAX);
        let params = [(&self.session).into(), before.into(), self.limit.max(0).into(), self.characters.max(1).into()];
        let entries: Vec<TranscriptEntry> = db.rows(sql, &params)?.iter_mut().map(entry).collect::<Result<_, _>>()?;
        let first = entries.first().map_or(0, |entry| entry.ord);
        let older = "SELECT ord FROM transcript WHERE session_id = $1 AND ord < $2 LIMIT 1";
        let more = !db.rows(older, &[(&self.session).into(), first.into()])?.is_empty();
        Ok(TranscriptExcerpt { entries, more })
    }
}

/// The place of what an agent did so many entries after a moment; nothing where it did less.
#[derive(Debug, Clone)]
pub struct TranscriptMoment {
    /// Which session.
    pub session: SessionId,
    /// The moment.
    pub at: i64,
    /// How many entries later.
    pub later: i64,
}

impl Query for TranscriptMoment {
    type Output = Option<(i64, i64)>;

    fn load(&self, db: &mut DbTx<'_>) -> Result<Option<(i64, i64)>, StoreError> {
        let sql = "SELECT at, ord FROM transcript WHERE session_id = $1 AND at >= $2 ORDER BY ord LIMIT 1 OFFSET $3";
        let row = db.row(sql, &[(&self.session).into(), self.at.into(), self.later.max(0).into()])?;
        row.map(|mut row| Ok((row.int()?, row.int()?))).transpose()
    }
}

/// What an agent did that contains a text, in whatever case: the newest, or those before a place; oldest first.
#[derive(Debug, Clone)]
pub struct TranscriptMatches {
    /// Which session.
    pub session: SessionId,
    /// Only what came before this place.
    pub before: Option<i64>,
    /// The text.
    pub text: String,
    /// How many at most.
    pub limit: i64,
}

impl Query for TranscriptMatches {
    type Output = Vec<TranscriptEntry>;

    fn load(&self, db: &mut DbTx<'_>) -> Result<Vec<TranscriptEntry>, StoreError> {
        // As it is written within the stored JSON.
        let quoted = to_json(&self.text.to_lowercase())?;
        let inner = quoted.strip_prefix('"').and_then(|text| text.strip_suffix('"')).unwrap_or_default();
        let pattern = format!("%{}%", inner.replace('!', "!!").replace('%', "!%").replace('_', "!_"));
        let sql = "SELECT ord, at, event FROM transcript WHERE session_id = $1 AND ord < $2 \
                   AND lower(event) LIKE $3 ESCAPE '!' ORDER BY ord DESC LIMIT $4";
        let before = self.before.unwrap_or(i64::MAX);
        let mut rows = db.rows(sql, &[(&self.session).into(), before.into(), (&pattern).into(), self.limit.into()])?;
        rows.reverse();
        rows.iter_mut().map(entry).collect()
    }
}

/// What an agent did of a few kinds, oldest first: what has to be known from the beginning on, as what was spent.
#[derive(Debug, Clone)]
pub struct TranscriptEvents {
    /// Which session.
    pub session: SessionId,
    /// Only what came after this place.
    pub after: i64,
    /// Which kinds, by the names that events have.
    pub kinds: &'static [&'static str],
}

impl Query for TranscriptEvents {
    type Output = Vec<TranscriptEntry>;

    fn load(&self, db: &mut DbTx<'_>) -> Result<Vec<TranscriptEntry>, StoreError> {
        // An event is kept as `{"type":"…",…}`, in this order.
        let kinds: Vec<String> = self.kinds.iter().map(|kind| format!("event LIKE '{{\"type\":\"{kind}\"%'")).collect();
        let sql = format!(
            "SELECT ord, at, event FROM transcript WHERE session_id = $1 AND ord > $2 AND ({}) ORDER BY ord",
            kinds.join(" OR ")
        );
        db.rows(&sql, &[(&self.session).into(), self.after.into()])?.iter_mut().map(entry).collect()
    }
}

fn entry(row: &mut SqlRow) -> Result<TranscriptEntry, StoreError> {
    Ok(TranscriptEntry { ord: row.int()?, at: row.int()?, event: row.json()? })
}
