//! Runs that wait because what they would execute has no consent.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use maestro_core::event::RunId;

/// Of how many runs it is remembered that what they would execute is not allowed.
const MOST: usize = 1024;

/// What runs would execute that is not allowed, and why. All copies share it.
#[derive(Debug, Clone, Default)]
pub struct ConsentRefusals {
    reasons: Arc<Mutex<BTreeMap<RunId, String>>>,
}

impl ConsentRefusals {
    /// Why a run waits, if it does.
    pub fn reason(&self, run: RunId) -> Option<String> {
        self.reasons.lock().unwrap_or_else(PoisonError::into_inner).get(&run).cloned()
    }

    /// Notes that a run waits.
    pub(crate) fn add(&self, run: RunId, reason: String) {
        let mut reasons = self.reasons.lock().unwrap_or_else(PoisonError::into_inner);
        // Cancelled runs stay in it; those that wait are noted again with the next beat.
        if reasons.len() >= MOST {
            reasons.clear();
        }
        reasons.insert(run, reason);
    }

    /// Notes that a run does not wait any more.
    pub(crate) fn remove(&self, run: RunId) {
        self.reasons.lock().unwrap_or_else(PoisonError::into_inner).remove(&run);
    }
}
