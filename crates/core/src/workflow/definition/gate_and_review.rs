//! Reviews, and the gates that let work through.

use serde::{Deserialize, Serialize};

use super::PlacedValue;
use crate::workflow::name::{Name, StepId};
use crate::workflow::template::Template;
use crate::yaml::SourcePosition;

/// How much an item of a review matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum ReviewSeverity {
    /// It would be nice.
    #[serde(rename = "COULD")]
    Could,
    /// It ought to be.
    #[serde(rename = "SHOULD")]
    Should,
    /// It has to be.
    #[serde(rename = "MUST")]
    Must,
}

impl ReviewSeverity {
    /// All of them, the weightiest first.
    pub const ALL: [Self; 3] = [Self::Must, Self::Should, Self::Could];

    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Must => "MUST",
            Self::Should => "SHOULD",
            Self::Could => "COULD",
        }
    }
}

/// What a step does for a review.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepReview {
    /// Which review.
    pub review: Name,
    /// Where that is said.
    pub place: SourcePosition,
    /// What it does for it.
    pub part: ReviewStage,
}

crate::word_enum! {
    /// The three parts of a review.
    pub enum ReviewStage {
        /// Says what is to be checked, once.
        Decompose = "decompose",
        /// Checks the open items.
        Verify = "verify",
        /// Fixes what failed.
        Fix = "fix",
    }
}

/// Lets a run through, or does not.
#[derive(Debug, Clone, PartialEq)]
pub struct Gate {
    /// The review that must have passed.
    pub review: Option<(Name, SourcePosition)>,
    /// The executed commands that must have ended well.
    pub checks: Vec<GateCheck>,
    /// Which items block in which round.
    pub blocking: BlockingRule,
    /// How often work may come back before the user decides.
    pub max_rounds: u32,
    /// What is said when it passes.
    pub pass_message: Option<PlacedValue<Template>>,
    /// Who fixes what failed.
    pub fix_target: Option<(Name, SourcePosition)>,
    /// Whether the reader of the directive fixes it itself.
    pub self_fix: bool,
}

/// An executed command whose last outcome must be `ok`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GateCheck {
    /// The step that executes it.
    pub step: StepId,
    /// Where that is said.
    pub place: SourcePosition,
}

/// From which round on only weightier items block. The last entry whose round has come counts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BlockingRule(pub Vec<(u32, ReviewSeverity)>);

impl Default for BlockingRule {
    fn default() -> Self {
        Self(vec![(1, ReviewSeverity::Could), (4, ReviewSeverity::Should), (5, ReviewSeverity::Must)])
    }
}

impl BlockingRule {
    /// Whether an item of this severity blocks in this round.
    pub fn blocks(&self, round: u32, severity: ReviewSeverity) -> bool {
        let least = self.0.iter().rev().find(|(from, _)| *from <= round).map(|(_, least)| *least);
        severity >= least.unwrap_or(ReviewSeverity::Could)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_let_go_of_what_matters_less_and_never_of_what_must_be() {
        let blocking = BlockingRule::default();
        let blocked = |round| ReviewSeverity::ALL.map(|severity| blocking.blocks(round, severity));
        assert_eq!(blocked(1), [true, true, true]);
        assert_eq!(blocked(3), [true, true, true]);
        assert_eq!(blocked(4), [true, true, false]);
        assert_eq!(blocked(5), [true, false, false]);
        assert_eq!(blocked(99), [true, false, false]);
    }
}
