//! Events that a client missed: the current state of everything the log touched since, once each.

use std::collections::HashMap;

use maestro_core::id::ProjectId;
use maestro_store::{EventFilter, EventsAfter, Store, StoreError};

use super::signal::{ClientSignal, SignalSubject};

/// How many lines of the log are read at once.
const AT_ONCE: i64 = 1000;

/// The missed events, in the order to send them, and the line of the log they reach.
pub(crate) struct MissedChanges {
    pub(crate) signals: Vec<ClientSignal>,
    pub(crate) through: i64,
}

/// Collects what happened after a line of the log.
pub(crate) async fn missed_changes(
    store: &Store,
    after: i64,
    project: Option<&ProjectId>,
) -> Result<MissedChanges, StoreError> {
    let mut touched = TouchedEntities::default();
    let mut through = after;
    loop {
        let filter = EventFilter { project: project.cloned(), ..EventFilter::default() };
        let rows = store.read(EventsAfter { seq: through, limit: AT_ONCE, filter }).await?;
        rows.iter().filter_map(ClientSignal::of).for_each(|sign| touched.add(sign));
        through = rows.last().map_or(through, |row| row.seq);
        if i64::try_from(rows.len()).unwrap_or(i64::MAX) < AT_ONCE {
            return Ok(MissedChanges { signals: touched.into_signals(through), through });
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
