//! Waves of milestones: which can be worked on next, beside each other.

use serde::Serialize;

use super::{AcceptanceCriterion, ChangeKind, MilestonePlan, PlanMilestone};

/// At most so many milestones are given out at once.
pub const MAX_WAVE: usize = 4;

/// A milestone that is given out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MilestoneJob {
    /// Its id.
    pub id: String,
    /// What works afterwards.
    pub title: String,
    /// The files it may change.
    pub files: Vec<String>,
    /// What must be observed.
    pub acceptance: Vec<AcceptanceCriterion>,
}

/// The milestones of a kind, or of any, that have not been given out and whose dependencies have.
pub fn next_wave(plan: &MilestonePlan, given: &[String], kind: Option<ChangeKind>) -> Vec<MilestoneJob> {
    let is_of_kind = |milestone: &PlanMilestone| kind.is_none() || milestone.kind.or(plan.kind) == kind;
    // A milestone of another kind is never given out, and holds nothing up.
    let is_met =
        |id: &String| given.contains(id) || plan.milestones.iter().any(|other| other.id == *id && !is_of_kind(other));
    let is_next = |milestone: &&PlanMilestone| {
        is_of_kind(milestone) && !given.contains(&milestone.id) && milestone.depends_on.iter().all(is_met)
    };
    let job = |milestone: &PlanMilestone| MilestoneJob {
        id: milestone.id.clone(),
        title: milestone.title.clone(),
        files: milestone.files.clone(),
        acceptance: milestone.acceptance.clone(),
    };
    plan.milestones.iter().filter(is_next).take(MAX_WAVE).map(job).collect()
}
