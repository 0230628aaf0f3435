//! An earlier state of a run, from which it can go on as a new branch of its history.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::branch_switch::renew_tickets;
use super::evolve::apply_event;
use super::{AcceptedRisk, CallFrame, Run, RunEvent, RunStatus};
use crate::workflow::name::{StepId, StepOutcome};

/// What of a run is as it was before. People's comments, tickets and reports stay as they are now.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PastState {
    frames: Vec<CallFrame>,
    checks: BTreeMap<String, StepOutcome>,
    accepted_risks: Vec<AcceptedRisk>,
}

/// A visit of a step, from which a run goes on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BranchPoint {
    /// The step.
    pub step: StepId,
    /// Which visit of it; the last one where nothing is said.
    pub visit: Option<u32>,
}

impl std::str::FromStr for BranchPoint {
    type Err = String;

    /// `step`, or `step#2` for its second visit.
    fn from_str(text: &str) -> Result<Self, String> {
        let (step, visit) = match text.split_once('#') {
            Some((step, visit)) => (step, Some(visit)),
            None => (text, None),
        };
        let number = |visit: &str| visit.parse().ok().filter(|visit| *visit > 0);
        let visit = visit.map(|visit| number(visit).ok_or_else(|| format!("`{visit}` is no visit: write `{step}#2`")));
        Ok(Self { step: StepId::parse(step).map_err(|bad| bad.to_string())?, visit: visit.transpose()? })
    }
}

/// The state of a run right before a visit of a step, from all its events; and which visit that is. A step of the
/// workflow itself comes before one of the same name in a workflow that it calls.
pub fn state_before<'e>(
    events: impl IntoIterator<Item = &'e RunEvent>,
    point: &BranchPoint,
) -> Option<(PastState, u32)> {
    let mut run = Run::default();
    let mut found: Option<(usize, PastState, u32)> = None;
    for event in events {
        if let RunEvent::Entered { step, visit, .. } = event
            && *step == point.step
            && point.visit.is_none_or(|wanted| wanted == *visit)
            && found.as_ref().is_none_or(|(depth, ..)| run.frames.len() <= *depth)
        {
            found = Some((run.frames.len(), PastState::of(&run), *visit));
        }
        apply_event(&mut run, event);
    }
    found.map(|(_, state, visit)| (state, visit))
}

impl PastState {
    fn of(run: &Run) -> Self {
        let Run { frames, checks, accepted_risks, .. } = run;
        Self { frames: frames.clone(), checks: checks.clone(), accepted_risks: accepted_risks.clone() }
    }
}

/// Lets a run be as it was before.
pub(super) fn restore(run: &mut Run, state: &PastState) {
    run.status = RunStatus::Active;
    run.frames.clone_from(&state.frames);
    run.checks.clone_from(&state.checks);
    run.accepted_risks.clone_from(&state.accepted_risks);
    run.is_canceling = false;
    renew_tickets(run);
}
