//! State of a thing on the page: a glyph, a word, and a color that repeats them.

use maestro_core::task::TaskStatus;
use maestro_core::work_state::WorkState;
use serde::Serialize;

/// A state: always a glyph and a word; the color repeats them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub(in crate::page) struct StateBadge {
    /// working, waits, bad, good, rest or plain. `good` takes evidence, not an agent's claim.
    pub(in crate::page) tone: &'static str,
    glyph: &'static str,
    word: &'static str,
}

impl StateBadge {
    pub(in crate::page) fn glyph(self) -> &'static str {
        self.glyph
    }
}

/// A state with a word of its own.
pub(in crate::page) const fn state(tone: &'static str, glyph: &'static str, word: &'static str) -> StateBadge {
    StateBadge { tone, glyph, word }
}

pub(in crate::page) const WORKING: StateBadge = state("working", "●", "working");
pub(in crate::page) const WAITING: StateBadge = state("waits", "?", "waiting for you");
pub(in crate::page) const PAUSED: StateBadge = state("rest", "○", "paused");
pub(in crate::page) const QUEUED: StateBadge = state("rest", "○", "queued");

/// The badge of a state of work. The words are those of the terminal and the API.
impl From<WorkState> for StateBadge {
    fn from(work: WorkState) -> Self {
        let (tone, glyph) = match work {
            WorkState::Queued | WorkState::Paused | WorkState::Discarded | WorkState::Skipped => ("rest", "○"),
            WorkState::Working => ("working", "●"),
            WorkState::Waiting => ("waits", "?"),
            WorkState::Stopped => ("bad", "✗"),
            WorkState::Ready | WorkState::Merged => ("good", "✓"),
        };
        state(tone, glyph, work.label())
    }
}

/// The words for the status of a task: those of all work, and *done* for what people ticked off.
pub(in crate::page) fn status_words(status: TaskStatus) -> &'static str {
    match status {
        TaskStatus::Todo => WorkState::Queued.label(),
        TaskStatus::InProgress => WorkState::Working.label(),
        TaskStatus::InReview => WorkState::Ready.label(),
        TaskStatus::Blocked => WorkState::Waiting.label(),
        TaskStatus::Completed => "done",
        TaskStatus::Cancelled => WorkState::Discarded.label(),
        TaskStatus::Archived => WorkState::Skipped.label(),
    }
}
