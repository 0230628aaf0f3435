//! Pruning of the event log: old events of finished things, a part of the log at a time.
//!
//! The log is in the order of time, but for what a wrong clock wrote. So pruning begins at its oldest event and ends where a
//! whole part of the log is young enough. What is left behind are the events of things that go on.

use serde::{Deserialize, Serialize};

use crate::actor::Actor;
use crate::change::{Change, Query};
use crate::db::DbTx;
use crate::error::StoreError;
use crate::events::{EventRow, SELECT, row};
use crate::tx::ChangeTx;
use crate::value::SqlParam;

/// How many places of the log are looked at in one change.
const WINDOW: i64 = 20_000;
/// How many events a statement removes.
const BATCH_SIZE: usize = 50;
/// What may go: it is old, not the newest, and about nothing that goes on.
const FINISHED: &str = "at < $1 AND seq < (SELECT max(seq) FROM events) \
     AND NOT EXISTS (SELECT 1 FROM sessions WHERE sessions.id = events.session \
       AND sessions.status IN ('spawning', 'idle', 'working', 'paused')) \
     AND NOT EXISTS (SELECT 1 FROM tasks WHERE tasks.id = events.task \
       AND tasks.status NOT IN ('completed', 'cancelled', 'archived')) \
     AND NOT EXISTS (SELECT 1 FROM runs WHERE runs.id = events.run AND runs.ended_at IS NULL)";
/// A part of the log.
const PLACES: &str = "seq >= $2 AND seq < $3";

/// Forgets what is old: events of things that are finished, and responses that are too old to be repeated.
#[derive(Debug, Clone, Copy)]
pub struct PruneHistory {
    /// Events older than this many milliseconds may go.
    pub events: i64,
    /// The place of the log where this begins.
    pub from: i64,
}

/// What was forgotten.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct PrunedCounts {
    /// How many events.
    pub events: u64,
    /// How many kept answers.
    pub answers: u64,
    /// Where to go on; nothing when all that is old has been looked at.
    pub next: Option<i64>,
}

impl Change for PruneHistory {
    type Output = PrunedCounts;

    fn actor(&self) -> Option<&Actor> {
        Some(&Actor::Daemon)
    }

    fn apply(&self, tx: &mut ChangeTx<'_>) -> Result<PrunedCounts, StoreError> {
        const DAY: i64 = 24 * 60 * 60 * 1000;
        let before = tx.now - self.events;
        let answers = tx.execute("DELETE FROM idempotent_responses WHERE at < $1", &[(tx.now - DAY).into()])?;
        let Some(first) = first_old(tx, self.from, before)? else {
            return Ok(PrunedCounts { events: 0, answers, next: None });
        };
        let end = first + WINDOW;
        let window = [before.into(), first.into(), end.into()];
        let events = tx.execute(&format!("DELETE FROM events WHERE {FINISHED} AND {PLACES}"), &window)?;
        note_pruned(tx, before)?;
        Ok(PrunedCounts { events, answers, next: first_old(tx, end, before)? })
    }
}

/// Old events of finished things, in a part of the log.
#[derive(Debug, Clone, Copy)]
pub struct PrunableEvents {
    /// Events from before this moment may go.
    pub before: i64,
    /// The place of the log where this begins.
    pub from: i64,
}

/// What may go of a part of the log.
#[derive(Debug, Default)]
pub struct PrunablePart {
    /// The events, oldest first.
    pub rows: Vec<EventRow>,
    /// Where to go on; nothing when all that is old has been looked at.
    pub next: Option<i64>,
}

impl Query for PrunableEvents {
    type Output = PrunablePart;

    fn load(&self, db: &mut DbTx<'_>) -> Result<PrunablePart, StoreError> {
        let Some(first) = first_old(db, self.from, self.before)? else { return Ok(PrunablePart::default()) };
        let end = first + WINDOW;
        let sql = format!("{SELECT} WHERE {FINISHED} AND {PLACES} ORDER BY seq");
        let rows = db.rows(&sql, &[self.before.into(), first.into(), end.into()])?;
        let rows = rows.into_iter().map(row).collect::<Result<_, _>>()?;
        Ok(PrunablePart { rows, next: first_old(db, end, self.before)? })
    }
}

/// Removes these events, which were written to an archive, and says how many it removed.
///
/// What is no longer finished by then stays, and what another process removed meanwhile does not count.
#[derive(Debug, Clone)]
pub struct ForgetEvents {
    /// Which ones, by their places in the log.
    pub seqs: Vec<i64>,
    /// They are from before this moment.
    pub before: i64,
}

impl Change for ForgetEvents {
    type Output = u64;

    fn apply(&self, tx: &mut ChangeTx<'_>) -> Result<u64, StoreError> {
        let places: Vec<String> = (2..BATCH_SIZE + 2).map(|number| format!("${number}")).collect();
        let sql = format!("DELETE FROM events WHERE {FINISHED} AND seq IN ({})", places.join(", "));
        let mut removed = 0;
        for part in self.seqs.chunks(BATCH_SIZE) {
            let seqs = part.iter().cycle().take(BATCH_SIZE).map(|seq| (*seq).into());
            let params: Vec<SqlParam<'_>> = std::iter::once(self.before.into()).chain(seqs).collect();
            removed += tx.execute(&sql, &params)?;
        }
        note_pruned(tx, self.before)?;
        Ok(removed)
    }
}

/// The first event from before the moment, in the part of the log that begins at this place.
fn first_old(db: &mut DbTx<'_>, from: i64, before: i64) -> Result<Option<i64>, StoreError> {
    // Nothing is that old where events are kept.
    if before <= 0 {
        return Ok(None);
    }
    let found = db.row("SELECT seq, at FROM events WHERE seq > $1 ORDER BY seq LIMIT 1", &[(from - 1).into()])?;
    let Some(mut found) = found else { return Ok(None) };
    let (seq, at) = (found.int()?, found.int()?);
    if at < before {
        return Ok(Some(seq));
    }
    // A clock that was ahead may have written this one; what comes after it is looked at all the same.
    let sql = "SELECT seq FROM events WHERE seq > $1 ORDER BY seq LIMIT 1 OFFSET $2";
    let end = db.row(sql, &[seq.into(), WINDOW.into()])?.map_or(Ok(i64::MAX), |mut row| row.int())?;
    let sql = "SELECT seq FROM events WHERE seq > $1 AND seq < $2 AND at < $3 ORDER BY seq LIMIT 1";
    let found = db.row(sql, &[seq.into(), end.into(), before.into()])?;
    found.map(|mut row| row.int()).transpose()
}

/// Notes from when on the log is complete: the integrity check must know.
fn note_pruned(tx: &mut ChangeTx<'_>, before: i64) -> Result<(), StoreError> {
    tx.execute(
        "INSERT INTO maintenance (name, pruned_until) VALUES ('events', $1) ON CONFLICT (name) DO UPDATE \
         SET pruned_until = CASE WHEN excluded.pruned_until > maintenance.pruned_until THEN excluded.pruned_until \
         ELSE maintenance.pruned_until END",
        &[before.into()],
    )?;
    Ok(())
}
