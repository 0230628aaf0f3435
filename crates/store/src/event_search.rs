//! Search in the event log: newest first, within a bounded part of it.

use maestro_core::id::{ProjectId, SessionId};

use crate::change::Query;
use crate::db::DbTx;
use crate::error::StoreError;
use crate::events::{EventRow, row};
use crate::search::{like_pattern, words};
use crate::sql_query::SqlQuery;
use crate::value::SqlParam;

/// How many events are looked through at once.
const WINDOW: i64 = 50_000;
/// Larger facts are left out; a link shows them.
const SELECT: &str = "SELECT seq, at, type, version, project, task, session, run, \
                      CASE WHEN length(payload) > 20000 THEN 'null' ELSE payload END FROM events";

/// Events before one, newest first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EventSearch {
    /// Only those before this one.
    pub before: Option<i64>,
    /// Only this project's.
    pub project: Option<ProjectId>,
    /// Only this session's.
    pub session: Option<SessionId>,
    /// Only this run's.
    pub run: Option<String>,
    /// Only those whose kind begins so; without it all but those about transcripts, which are many.
    pub kind: Option<String>,
    /// Only those by sessions of this agent; an empty word means those by no session and no run.
    pub agent: Option<String>,
    /// Only those whose facts contain each of these words.
    pub text: String,
    /// How many at most.
    pub limit: i64,
}

/// What was found.
#[derive(Debug, Default)]
pub struct EventSearchPage {
    /// The events, the newest first.
    pub rows: Vec<EventRow>,
    /// Where the search goes on; nothing where the log begins.
    pub older: Option<i64>,
}

impl Query for EventSearch {
    type Output = EventSearchPage;

    fn load(&self, db: &mut DbTx<'_>) -> Result<EventSearchPage, StoreError> {
        // One statement each: both at once would visit the whole log.
        let first = db.number("SELECT CAST(coalesce(min(seq), 0) AS BIGINT) FROM events", &[])?;
        let last = db.number("SELECT CAST(coalesce(max(seq), 0) AS BIGINT) FROM events", &[])?;
        let before = self.before.unwrap_or(i64::MAX).min(last.saturating_add(1));
        let from = (before - WINDOW).max(first);
        let patterns: Vec<String> = words(&self.text).map(|word| like_pattern(word, db)).collect();
        let kind = self.kind.as_deref().map(|kind| format!("{}%", kind.replace(['!', '%', '_'], "")));
        let mut query = SqlQuery::new(format!("{SELECT} WHERE seq >= $1"), from)
            .only("seq < ?", before)
            .only("project = ?", self.project.as_ref())
            .only("session = ?", self.session.as_ref())
            .only("run = ?", self.run.as_ref())
            .only("type LIKE ?", kind.as_ref());
        if self.kind.is_none() {
            query = query.and("type <> 'transcript:added'");
        }
        query = match self.agent.as_deref() {
            None => query,
            Some("") => query.and("session IS NULL").and("run IS NULL"),
            Some(agent) => query.only("session IN (SELECT id FROM sessions WHERE agent = ?)", SqlParam::from(agent)),
        };
        for pattern in &patterns {
            query = query.only("lower(payload) LIKE ? ESCAPE '!'", pattern);
        }
        let rows: Vec<EventRow> =
            query.rows(db, "seq DESC", self.limit)?.into_iter().map(row).collect::<Result<_, _>>()?;
        let full = i64::try_from(rows.len()).unwrap_or(i64::MAX) >= self.limit;
        let reached = if full { rows.last().map_or(from, |row| row.seq) } else { from };
        Ok(EventSearchPage { rows, older: (reached > first).then_some(reached) })
    }
}
