//! What did a client miss? The log says what was touched; it gets the current state of each thing, once.

use std::collections::HashMap;

use maestro_core::id::ProjectId;
use maestro_store::{EventFilter, EventsAfter, Store, StoreError};

use super::sign::{Sign, Subject};

/// How many lines of the log are read at once.
const AT_ONCE: i64 = 1000;

/// What was missed, in the order in which it should be told, and up to where.
pub(crate) struct Missed {
    pub(crate) signs: Vec<Sign>,
    pub(crate) through: i64,
}

/// Looks up what happened after a line of the log.
pub(crate) async fn missed(store: &Store, after: i64, project: Option<&ProjectId>) -> Result<Missed, StoreError> {
    let mut touched = Touched::default();
    let mut through = after;
    loop {
        let filter = EventFilter { project: project.cloned(), ..EventFilter::default() };
        let rows = store.read(EventsAfter { seq: through, limit: AT_ONCE, filter }).await?;
        rows.iter().filter_map(Sign::of).for_each(|sign| touched.add(sign));
        through = rows.last().map_or(through, |row| row.seq);
        if i64::try_from(rows.len()).unwrap_or(i64::MAX) < AT_ONCE {
            return Ok(Missed { signs: touched.in_order(through), through });
        }
    }
}

/// What is to be told of each thing.
#[derive(Default)]
struct Touched(HashMap<(Subject, bool), Sign>);

impl Touched {
    fn add(&mut self, sign: Sign) {
        // Both sides of a pair are told, each with its own event.
        let other_side = sign.name.starts_with("session:task_");
        let key = (sign.subject.clone(), other_side);
        match self.0.get_mut(&key) {
            Some(known) if sign.is_update() && !known.is_deletion() => known.own = sign.own,
            _ => {
                self.0.insert(key, sign);
            }
        }
    }

    /// Each says up to where everything is known once it was heard: up to what the next one begins with.
    fn in_order(self, through: i64) -> Vec<Sign> {
        let mut signs: Vec<Sign> = self.0.into_values().collect();
        // Until now `seq` is where a thing was first touched.
        signs.sort_by_key(|sign| sign.seq);
        let next: Vec<i64> = signs.iter().skip(1).map(|sign| sign.seq - 1).chain([through]).collect();
        signs.into_iter().zip(next).map(|(sign, seq)| Sign { seq, ..sign }).collect()
    }
}
