//! The verdict of a gate. Computed from recorded items and executed checks, never from a claim.

use super::review_items::{ReviewItem, ReviewItemStatus};
use super::{CallFrame, PersonItem, Run};
use crate::workflow::definition::Gate;
use crate::workflow::name::{StepId, StepOutcome};

/// What a gate finds.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct GateVerdict {
    /// The round it is in, from 1.
    pub round: u32,
    /// The checks that did not end well, or were never executed.
    pub checks: Vec<StepId>,
    /// The items that block in this round and have not passed.
    pub items: Vec<ReviewItem>,
    /// What people said about the work and no agent has fixed yet.
    pub comments: Vec<PersonItem>,
    /// Whether there was nothing to look at: a review without items proves nothing.
    pub empty: bool,
}

impl GateVerdict {
    /// Whether it lets the run through.
    pub fn passes(&self) -> bool {
        self.checks.is_empty() && self.items.is_empty() && self.comments.is_empty() && !self.empty
    }

    /// Whether a user may let it pass: only what people judged, never what was executed.
    pub fn acceptable(&self) -> bool {
        self.checks.is_empty() && !self.empty
    }

    /// Why it does not let the run through, one reason a line.
    pub fn reasons(&self) -> Vec<String> {
        let mut reasons: Vec<String> = self.checks.iter().map(|step| format!("check `{step}` is not ok")).collect();
        if self.empty {
            reasons.push("the review has no items".to_owned());
        }
        reasons.extend(self.items.iter().map(|item| {
            let why = item.finding.as_deref().unwrap_or("not checked yet");
            format!("{} {}: {why}", item.severity.word(), item.id)
        }));
        reasons.extend(self.comments.iter().map(PersonItem::describe));
        reasons
    }
}

/// What the gate at `step` finds now.
pub fn judge_gate(run: &Run, frame: &CallFrame, step: &StepId, gate: &Gate) -> GateVerdict {
    let round = frame.rounds.get(step).copied().unwrap_or_default().done + 1;
    let red = |check: &StepId| run.checks.get(&format!("{}:{check}", frame.check_owner())) != Some(&StepOutcome::OK);
    let checks = gate.checks.iter().map(|check| check.step.clone()).filter(red).collect();
    let comments = run.open_items().cloned().collect();
    let Some((review, _)) = &gate.review else {
        return GateVerdict { round, checks, comments, ..GateVerdict::default() };
    };
    let items = frame.reviews.get(review).map_or(&[][..], Vec::as_slice);
    let blocks =
        |item: &&ReviewItem| item.status != ReviewItemStatus::Pass && gate.blocking.blocks(round, item.severity);
    let open = items.iter().filter(blocks).cloned().collect();
    GateVerdict { round, checks, comments, items: open, empty: items.is_empty() }
}
