//! Runs that wait because what they would execute has no consent.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use maestro_core::event::RunId;

/// Of how many runs it is remembered that what they would execute is not allowed.
const MOST: usize = 1024;

/// What runs would execute that is not allowed, and why. All copies share it.
#[derive(Debug, Clone, Default)]
pub struct ConsentRefusals {
    reasons: Arc<Mutex<BTreeMap<RunId, String>>>,
    /// How often they changed.
    revision: Arc<AtomicU64>,
}

impl ConsentRefusals {
    /// Why a run waits, if it does.
    pub fn reason(&self, run: RunId) -> Option<String> {
        self.reasons.lock().unwrap_or_else(PoisonError::into_inner).get(&run).cloned()
    }

    /// How often they changed: what waits for consent is no event.
    pub fn revision(&self) -> u64 {
        self.revision.load(Ordering::Relaxed)
    }

    /// Notes that a run waits.
    pub(crate) fn add(&self, run: RunId, reason: String) {
        let mut reasons = self.reasons.lock().unwrap_or_else(PoisonError::into_inner);
        // Cancelled runs stay in it; those that wait are noted again with the next beat.
        if reasons.len() >= MOST {
            reasons.clear();
        }
        if reasons.get(&run) != Some(&reason) {
            reasons.insert(run, reason);
            self.revision.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Notes that a run does not wait any more.
    pub(crate) fn remove(&self, run: RunId) {
        if self.reasons.lock().unwrap_or_else(PoisonError::into_inner).remove(&run).is_some() {
            self.revision.fetch_add(1, Ordering::Relaxed);
        }
    }
}
