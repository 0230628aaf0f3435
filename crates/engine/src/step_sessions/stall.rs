//! Detection of work that makes no progress or goes in circles.
//!
//! It follows from what the store keeps of earlier rounds: what was to be fixed, and what all files were then.

use std::fmt;

use maestro_core::step_session::StepSessionEnd;
use maestro_core::workflow::run;
use maestro_store::hash_secret;

use super::prompt;

/// How often the same may be wrong, word for word, until it is enough.
const MOST_TIMES: usize = 2;

/// A round of work that has ended.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct WorkRound {
    /// What all files together were before it, as git names it.
    before: Option<String>,
    /// What they were after it.
    after: Option<String>,
    /// The hash of the findings to fix, if there were any.
    feedback: Option<String>,
}

/// Why the work gets nowhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StallReason {
    /// There were findings to fix, and nothing was changed.
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
    fn of(end: &StepSessionEnd) -> Self {
        let after = end.outcome.as_ref().and_then(|outcome| outcome.tree()).map(str::to_owned);
        Self { before: end.tree.clone(), after, feedback: end.metadata.feedback.clone() }
    }
}

/// The rounds of a step in one pass through its workflow, oldest first.
pub(super) fn rounds(ends: &[StepSessionEnd], invocation: &str, step: &str) -> Vec<WorkRound> {
    let own = |end: &&StepSessionEnd| {
        end.metadata.invocation_id.as_deref() == Some(invocation) && end.metadata.step.as_deref() == Some(step)
    };
    ends.iter().filter(own).map(WorkRound::of).collect()
}

/// The hash of what is to be fixed, by which it is recognized.
pub(super) fn feedback_hash(seat: &run::SessionRequest) -> Option<String> {
    seat.feedback.as_ref().map(|feedback| hash_secret(feedback.as_bytes()))
}

/// Whether the last round made no progress. A round without findings may leave all as it is.
pub(super) fn stalled_after(rounds: &[WorkRound]) -> Option<StallReason> {
    let (last, earlier) = rounds.split_last()?;
    last.feedback.as_ref()?;
    let after = last.after.as_ref()?;
    if last.before.as_ref() == Some(after) {
        return Some(StallReason::Unchanged);
    }
    let as_before = earlier.iter().position(|round| round.after.as_ref() == Some(after))?;
    Some(StallReason::AsBefore { round: as_before + 1 })
}

/// Whether another round would have to fix the same findings.
pub(super) fn stalled_before(rounds: &[WorkRound], feedback: &str) -> Option<StallReason> {
    let times = rounds.iter().filter(|round| round.feedback.as_deref() == Some(feedback)).count();
    (times >= MOST_TIMES).then_some(StallReason::SameAgain)
}

impl fmt::Display for StallReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unchanged => f.write_str("the agent made no changes in response to the findings"),
            Self::AsBefore { round } => write!(f, "all files are the same as after round {round}"),
            Self::SameAgain => f.write_str("the same findings came up for the third time"),
        }
    }
}

/// The message for people.
pub(super) fn reason(stuck: StallReason, feedback: &str) -> String {
    format!("No progress: {stuck}. The work is not committed. Findings: {}", prompt::shorten(feedback))
}

#[cfg(test)]
mod tests {
    use maestro_core::agent::{SessionOutcome, SessionResult, SessionWork};
    use maestro_core::step_session::StepSessionMetadata;

    use super::*;

    fn round(before: &str, after: &str, feedback: &str) -> WorkRound {
        let text = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
        WorkRound { before: text(before), after: text(after), feedback: text(feedback) }
    }

    #[test]
    fn work_that_changes_something_new_goes_on() {
        let rounds = [round("0", "1", ""), round("1", "2", "a"), round("2", "3", "b"), round("3", "4", "a")];
        for end in 1..=rounds.len() {
            assert_eq!(stalled_after(&rounds[..end]), None);
        }
        assert_eq!(stalled_before(&rounds, "b"), None, "it comes back for the second time");
        assert_eq!(stalled_after(&[]), None);
    }

    #[test]
    fn who_changes_nothing_is_stuck_only_if_there_was_something_to_mend() {
        assert_eq!(stalled_after(&[round("0", "0", "")]), None, "a task may need no change");
        assert_eq!(stalled_after(&[round("0", "1", ""), round("1", "1", "a")]), Some(StallReason::Unchanged));
        assert_eq!(stalled_after(&[round("", "", ""), round("", "", "a")]), None, "git knows nothing here");
    }

    #[test]
    fn who_comes_back_to_an_earlier_round_goes_in_circles() {
        let rounds = [round("0", "1", ""), round("1", "2", "a"), round("2", "1", "b")];
        assert_eq!(stalled_after(&rounds), Some(StallReason::AsBefore { round: 1 }));
        let undone = [round("0", "1", ""), round("1", "0", "a")];
        assert_eq!(stalled_after(&undone), None, "that all of it was wrong may be what was found");
    }

    #[test]
    fn what_comes_back_word_for_word_a_third_time_is_enough() {
        let rounds = [round("0", "1", ""), round("1", "2", "a"), round("2", "3", "b"), round("3", "4", "a")];
        assert_eq!(stalled_before(&rounds, "a"), Some(StallReason::SameAgain));
        let told = reason(StallReason::SameAgain, "line 3 is wrong\nand line 4");
        assert!(told.contains("for the third time") && told.ends_with("line 3 is wrong and line 4"), "{told}");
    }

    #[test]
    fn only_rounds_of_the_same_invocation_and_step_count() {
        let end = |invocation: &str, step: &str| {
            let text = |text: &str| Some(text.to_owned());
            let work = SessionWork { attempt: 1, tree: text("1"), ..SessionWork::default() };
            StepSessionEnd {
                metadata: StepSessionMetadata {
                    invocation_id: text(invocation),
                    step: text(step),
                    feedback: text("a"),
                    ..StepSessionMetadata::default()
                },
                tree: text("0"),
                outcome: Some(SessionOutcome { result: SessionResult::Done, work: Some(work) }),
                ..StepSessionEnd::default()
            }
        };
        let ends = [end("r/work#1", "implement"), end("r/work#2", "implement"), end("r/work#2", "look")];
        assert_eq!(rounds(&ends, "r/work#2", "implement"), [round("0", "1", "a")]);
    }
}
