//! Events that a client missed, page by page: the current state of everything that the log touched.
//!
//! A page is bounded, however long the log and however large its facts are, and the next one is read when the client has taken this one.

use std::collections::HashMap;

use maestro_core::id::ProjectId;
use maestro_store::{EventFilter, EventHeadsAfter, LastEventSeq, Store, StoreError};

use super::signal::{ClientSignal, SignalSubject};

/// How many lines of the log are a page.
const PAGE: i64 = 1000;
/// How many subjects are remembered as sent.
const MOST_SENT: usize = 10_000;

/// A page of missed events, in the order to send them, and the line of the log it reaches.
pub(crate) struct MissedPage {
    pub(crate) signals: Vec<ClientSignal>,
    pub(crate) through: i64,
    /// Whether the log goes on after it.
    pub(crate) more: bool,
}

/// One catch-up of one client.
#[derive(Default)]
pub(crate) struct CatchUp {
    /// Up to which line of the log the state that was sent of a subject is known to go.
    sent: HashMap<SignalSubject, i64>,
}

impl CatchUp {
    /// Reads the next page after a line of the log. What a later line says of a subject that was sent already, and that
    /// the sent state included, is left out.
    pub(crate) async fn next_page(
        &mut self,
        store: &Store,
        after: i64,
        project: Option<&ProjectId>,
    ) -> Result<MissedPage, StoreError> {
        let filter = EventFilter { project: project.cloned(), ..EventFilter::default() };
        // The states are read after this.
        let known = store.read(LastEventSeq).await?;
        let rows = store.read(EventHeadsAfter { seq: after, limit: PAGE, filter }).await?;
        let through = rows.last().map_or(after, |row| row.seq);
        let more = i64::try_from(rows.len()).unwrap_or(i64::MAX) >= PAGE;
        let mut touched = TouchedEntities::default();
        rows.iter().filter_map(ClientSignal::of).filter(|sign| !self.has(sign)).for_each(|sign| touched.add(sign));
        let signals = touched.into_signals(through);
        if more {
            self.remember(&signals, known);
        }
        Ok(MissedPage { signals, through, more })
    }

    fn has(&self, sign: &ClientSignal) -> bool {
        sign.is_update() && self.sent.get(&sign.subject).is_some_and(|known| sign.own <= *known)
    }

    fn remember(&mut self, signals: &[ClientSignal], known: i64) {
        if self.sent.len() + signals.len() > MOST_SENT {
            self.sent.clear();
        }
        for sign in signals {
            if sign.is_deletion() {
                self.sent.remove(&sign.subject);
            } else {
                self.sent.insert(sign.subject.clone(), known);
            }
        }
    }
}

/// The events to send about each subject.
#[derive(Default)]
struct TouchedEntities(HashMap<(SignalSubject, bool), ClientSignal>);

impl TouchedEntities {
    fn add(&mut self, sign: ClientSignal) {
        // Both sides of a pair get an event of their own.
        let other_side = sign.name.starts_with("session:task_");
        let key = (sign.subject.clone(), other_side);
        match self.0.get_mut(&key) {
            Some(known) if sign.is_update() && !known.is_deletion() => known.own = sign.own,
            _ => {
                self.0.insert(key, sign);
            }
        }
    }

    /// Sets the line up to which a client knows everything after each event: the line before the next event begins.
    fn into_signals(self, through: i64) -> Vec<ClientSignal> {
        let mut signs: Vec<ClientSignal> = self.0.into_values().collect();
        // Until here `seq` is the line that first touched the subject.
        signs.sort_by_key(|sign| sign.seq);
        let next: Vec<i64> = signs.iter().skip(1).map(|sign| sign.seq - 1).chain([through]).collect();
        signs.into_iter().zip(next).map(|(sign, seq)| ClientSignal { seq, ..sign }).collect()
    }
}
