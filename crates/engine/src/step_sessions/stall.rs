//! Detection of work that makes no progress or goes in circles.
//!
//! It follows from what the store keeps of earlier rounds: what was to be fixed, and what all files were then.

use std::fmt;

use maestro_core::workflow::run;
use maestro_store::{SeatEnd, hash};
use serde_json::Value as Json;

use super::budget::WALK;
use super::prompt;

/// What is noted of a session: the hash of what it was to mend.
pub(super) const MENDS: &str = "mends";
/// What is noted of a session: its step.
pub(super) const STEP: &str = "step";
/// How often the same may be wrong, word for word, until it is enough.
const MOST_TIMES: usize = 2;

/// A round of work that has ended.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct WorkRound {
    /// What all files together were before it, as git names it.
    before: Option<String>,
    /// What they were after it.
    after: Option<String>,
    /// The hash of what was to be mended, if anything was.
    mends: Option<String>,
}

/// Why the work gets nowhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StallReason {
    /// Something was to be mended, and nothing was changed.
    Unchanged,
    /// All is again as it was after an earlier round.
    AsBefore {
        /// Which, from 1.
        round: usize,
    },
    /// The same is wrong, word for word, for the third time.
    SameAgain,
}

impl WorkRound {
    fn of(end: &SeatEnd) -> Self {
        let text = |value: &Json| value.as_str().map(str::to_owned);
        let after = end.outcome.as_ref().and_then(|outcome| text(&outcome["tree"]));
        Self { before: end.tree.clone(), after, mends: text(&end.metadata[MENDS]) }
    }
}

/// The rounds of a step in one walk through its workflow, oldest first.
pub(super) fn rounds(ends: &[SeatEnd], walk: &str, step: &str) -> Vec<WorkRound> {
    let own = |end: &&SeatEnd| end.metadata[WALK] == walk && end.metadata[STEP] == step;
    ends.iter().filter(own).map(WorkRound::of).collect()
}

/// The hash of what is to be mended, by which it is known again.
pub(super) fn known_by(seat: &run::Seat) -> Option<String> {
    seat.mends.as_ref().map(|mends| hash(mends.as_bytes()))
}

/// Whether the work is stuck by what the last round did. One that had nothing to mend may leave all as it is.
pub(super) fn stuck_after(rounds: &[WorkRound]) -> Option<StallReason> {
    let (last, earlier) = rounds.split_last()?;
    last.mends.as_ref()?;
    let after = last.after.as_ref()?;
    if last.before.as_ref() == Some(after) {
        return Some(StallReason::Unchanged);
    }
    let as_before = earlier.iter().position(|round| round.after.as_ref() == Some(after))?;
    Some(StallReason::AsBefore { round: as_before + 1 })
}

/// Whether the work is stuck by what another round would have to mend.
pub(super) fn stuck_before(rounds: &[WorkRound], mends: &str) -> Option<StallReason> {
    let times = rounds.iter().filter(|round| round.mends.as_deref() == Some(mends)).count();
    (times >= MOST_TIMES).then_some(StallReason::SameAgain)
}

impl fmt::Display for StallReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unchanged => f.write_str("something was to be mended, and the agent changed nothing"),
            Self::AsBefore { round } => write!(f, "it goes in circles, all files are again as after round {round}"),
            Self::SameAgain => f.write_str("the same is wrong, word for word, for the third time"),
        }
    }
}

/// What people are told of it.
pub(super) fn reason(stuck: StallReason, mends: &str) -> String {
    format!(
        "The work is stuck: {stuck}. It is not committed; look at it, and at this, which was to be mended: {}",
        prompt::shortened(mends)
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn round(before: &str, after: &str, mends: &str) -> WorkRound {
        let text = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
        WorkRound { before: text(before), after: text(after), mends: text(mends) }
    }

    #[test]
    fn work_that_changes_something_new_goes_on() {
        let rounds = [round("0", "1", ""), round("1", "2", "a"), round("2", "3", "b"), round("3", "4", "a")];
        for end in 1..=rounds.len() {
            assert_eq!(stuck_after(&rounds[..end]), None);
        }
        assert_eq!(stuck_before(&rounds, "b"), None, "it comes back for the second time");
        assert_eq!(stuck_after(&[]), None);
    }

    #[test]
    fn who_changes_nothing_is_stuck_only_if_there_was_something_to_mend() {
        assert_eq!(stuck_after(&[round("0", "0", "")]), None, "a task may need no change");
        assert_eq!(stuck_after(&[round("0", "1", ""), round("1", "1", "a")]), Some(StallReason::Unchanged));
        assert_eq!(stuck_after(&[round("", "", ""), round("", "", "a")]), None, "git knows nothing here");
    }

    #[test]
    fn who_comes_back_to_an_earlier_round_goes_in_circles() {
        let rounds = [round("0", "1", ""), round("1", "2", "a"), round("2", "1", "b")];
        assert_eq!(stuck_after(&rounds), Some(StallReason::AsBefore { round: 1 }));
        let undone = [round("0", "1", ""), round("1", "0", "a")];
        assert_eq!(stuck_after(&undone), None, "that all of it was wrong may be what was found");
    }

    #[test]
    fn what_comes_back_word_for_word_a_third_time_is_enough() {
        let rounds = [round("0", "1", ""), round("1", "2", "a"), round("2", "3", "b"), round("3", "4", "a")];
        assert_eq!(stuck_before(&rounds, "a"), Some(StallReason::SameAgain));
        let told = reason(StallReason::SameAgain, "line 3 is wrong\nand line 4");
        assert!(told.contains("for the third time") && told.ends_with("line 3 is wrong and line 4"), "{told}");
    }

    #[test]
    fn only_rounds_of_the_same_walk_and_step_count() {
        let end = |walk: &str, step: &str| SeatEnd {
            metadata: json!({ "walk": walk, "step": step, "mends": "a" }),
            tree: Some("0".to_owned()),
            outcome: Some(json!({ "kind": "done", "tree": "1" })),
        };
        let ends = [end("r/work#1", "implement"), end("r/work#2", "implement"), end("r/work#2", "look")];
        assert_eq!(rounds(&ends, "r/work#2", "implement"), [round("0", "1", "a")]);
    }
}
