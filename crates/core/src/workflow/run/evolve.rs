//! The effect of an event on a run.

use std::collections::BTreeMap;

use serde_json::{Map, Value as Json};

use super::review_items::{self, ReviewItemStatus};
use super::{
    AcceptedRisk, CallFrame, ERROR, ExecutionProgress, GateRounds, PlannedEnding, Run, RunEvent, RunStatus, StepVisit,
    StepWait,
};
use super::{branch_switch, past_state};
use crate::workflow::definition::EndStatus;
use crate::workflow::name::{StepId, StepOutcome};

/// How many tickets are remembered, so that words that come twice are known again.
const REMEMBERED: usize = 256;
/// How many of the steps that last waited are remembered.
const WAITED: usize = 8;

/// The run after an event.
#[must_use]
pub fn evolve(mut run: Run, event: &RunEvent) -> Run {
    apply_event(&mut run, event);
    run
}

/// Changes a run by an event, in place.
pub(super) fn apply_event(run: &mut Run, event: &RunEvent) {
    match event {
        RunEvent::Began { workflow, params, variables, context, seed } => {
            run.status = RunStatus::Active;
            run.seed = *seed;
            run.context.clone_from(context);
            run.frames.push(frame(workflow, params, variables));
        }
        RunEvent::Reported { ticket, fingerprint, tree } => {
            if tree.is_some() {
                run.seen_tree.clone_from(tree);
            }
            run.reports_seen.push((ticket.clone(), *fingerprint));
            let forgotten = run.reports_seen.len().saturating_sub(REMEMBERED);
            run.reports_seen.drain(..forgotten);
        }
        RunEvent::Checked { workflow, step, outcome } => {
            run.checks.insert(format!("{workflow}:{step}"), outcome.clone());
        }
        RunEvent::RiskAccepted { gate, review, items, by } => {
            let risk = AcceptedRisk { gate: gate.clone(), review: review.clone(), items: items.clone(), by: *by };
            run.accepted_risks.push(risk);
        }
        RunEvent::ItemAdded { item } => run.person_items.push(item.clone()),
        RunEvent::ItemsMoved { ids, state } => {
            for item in run.person_items.iter_mut().filter(|item| ids.contains(&item.id)) {
                item.state = *state;
            }
        }
        RunEvent::Called { workflow, params, variables, branch } => {
            let path = branch_switch::branch_path(run, *branch);
            if let Some(branch) = branch {
                branch_switch::mark_called(run, *branch);
            }
            run.frames.push(CallFrame { branch: path, ..frame(workflow, params, variables) });
        }
        RunEvent::Switched { frame, from, to } => branch_switch::switch(run, *frame, *from, *to),
        RunEvent::Canceling {} => {
            run.status = RunStatus::Active;
            run.is_canceling = true;
        }
        RunEvent::Returned { status, message, outputs } => {
            run.frames.pop();
            if let Some(frame) = run.frames.last_mut()
                && let Some(position) = &frame.position
            {
                frame.results.insert(position.step.clone(), returned_values(*status, message.as_deref(), outputs));
            }
        }
        RunEvent::Dropped { frames } => {
            run.frames.truncate(run.frames.len() - frames);
            branch_switch::forget_front(run);
        }
        RunEvent::Branched { state, .. } => past_state::restore(run, state),
        RunEvent::Paused {} => run.status = RunStatus::Paused,
        RunEvent::Resumed {} => {
            // What goes on after its end has that end before it again.
            let was_canceled = run.status == RunStatus::Cancelled;
            for frame in run.frames.iter_mut().filter(|frame| was_canceled || frame.position.is_none()) {
                frame.ending = None;
            }
            run.is_canceling &= !was_canceled;
            run.status = RunStatus::Active;
        }
        RunEvent::ParamsChanged { params } => {
            if let Some(frame) = run.frames.first_mut() {
                frame.params.clone_from(params);
            }
        }
        RunEvent::Cancelled {} => run.status = RunStatus::Cancelled,
        RunEvent::Ended { ending } => run.status = RunStatus::Ended(ending.clone()),
        RunEvent::Waiting { wait } => {
            run.serial += 1;
            if let Some(frame) = run.frames.last_mut()
                && let Some(position) = frame.position.as_mut()
            {
                position.wait = wait.clone();
                position.serial = None;
                remember_wait(&mut frame.waited, &position.step);
            }
        }
        _ => {
            if let Some(frame) = run.frames.last_mut() {
                in_frame(frame, event, run.serial);
            }
        }
    }
}

/// What a call resulted in: the outputs, and why it did not go well where the callee has no output that says so.
fn returned_values(status: EndStatus, message: Option<&str>, outputs: &Map<String, Json>) -> Map<String, Json> {
    let mut result = outputs.clone();
    if let Some(message) = message.filter(|_| status != EndStatus::Success) {
        result.entry(ERROR).or_insert_with(|| Json::String(message.to_owned()));
    }
    result
}

fn frame(workflow: &str, params: &Map<String, Json>, variables: &Map<String, Json>) -> CallFrame {
    CallFrame {
        workflow: workflow.to_owned(),
        params: params.clone(),
        variables: variables.clone(),
        visits: BTreeMap::new(),
        transitions: 0,
        results: BTreeMap::new(),
        reviews: BTreeMap::new(),
        trees: BTreeMap::new(),
        refusals: BTreeMap::new(),
        rounds: BTreeMap::new(),
        position: None,
        waited: Vec::new(),
        attempts: BTreeMap::new(),
        ending: None,
        branch: None,
    }
}

/// Notes that a step waits, the last one last and each once.
fn remember_wait(waited: &mut Vec<StepId>, step: &StepId) {
    waited.retain(|known| known != step);
    waited.push(step.clone());
    let forgotten = waited.len().saturating_sub(WAITED);
    waited.drain(..forgotten);
}

/// What an event changes in the workflow being walked through.
fn in_frame(frame: &mut CallFrame, event: &RunEvent, serial: u64) {
    match event {
        RunEvent::Entered { step, visit, now, .. } => {
            frame.visits.insert(step.clone(), *visit);
            let (step, visit, entered, wait) = (step.clone(), *visit, *now, StepWait::Engine);
            frame.position = Some(StepVisit { step, visit, entered, entry: serial, wait, serial: None });
        }
        RunEvent::Set { name, value } => {
            frame.variables.insert(name.to_string(), value.clone());
        }
        RunEvent::Resulted { step, result } => {
            frame.results.insert(step.clone(), result.clone());
        }
        RunEvent::Progressed { progress } => {
            if let Some(position) = &mut frame.position {
                set_progress(&mut position.wait, *progress);
            }
        }
        RunEvent::BranchMoved { child, execution } => {
            if let Some(StepVisit { wait: StepWait::Children(children), .. }) = &mut frame.position
                && let Some(child) = children.get_mut(*child)
            {
                child.execution = Some(*execution);
            }
        }
        RunEvent::ChildEnded { child, outcome, result } => {
            if let Some(StepVisit { wait: StepWait::Children(children), .. }) = &mut frame.position
                && let Some(child) = children.get_mut(*child)
            {
                child.outcome = Some(outcome.clone());
                child.call = None;
                child.result.clone_from(result);
            }
        }
        RunEvent::ItemsAdded { review, items } => {
            frame.reviews.insert(review.clone(), items.clone());
        }
        RunEvent::ItemsJudged { review, judgements, tree } => {
            review_items::record(frame.reviews.entry(review.clone()).or_default(), judgements);
            match tree {
                // Of several reviewers the first saw the oldest files: what changed since then is looked at again.
                Some(_) if has_reports(frame.position.as_ref()) => {}
                Some(tree) => drop(frame.trees.insert(review.clone(), tree.clone())),
                None => drop(frame.trees.remove(review)),
            }
        }
        RunEvent::ItemsReset { review, ids, changed } => {
            for item in frame.reviews.entry(review.clone()).or_default() {
                if ids.contains(&item.id) {
                    item.status = ReviewItemStatus::Todo;
                    if !changed.is_empty() {
                        item.finding = Some(format!("changed after it was judged: {}", changed.join(", ")));
                    }
                }
            }
        }
        RunEvent::Judged { gate, round, outcome, reasons } => {
            let rounds = frame.rounds.entry(gate.clone()).or_default();
            if *outcome == StepOutcome::PASS {
                *rounds = GateRounds::default();
                frame.refusals.remove(gate);
            } else {
                rounds.done = *round;
                frame.refusals.insert(gate.clone(), reasons.clone());
            }
        }
        RunEvent::RoundsGranted { gate, rounds } => frame.rounds.entry(gate.clone()).or_default().granted += rounds,
        RunEvent::Left { step, .. } => {
            frame.transitions += 1;
            frame.position = None;
            frame.attempts.remove(step);
        }
        RunEvent::Ending { status, message, is_canceled } => {
            // The last part is done even where all transitions are used up.
            frame.transitions = 0;
            frame.ending = Some(PlannedEnding { status: *status, message: message.clone(), is_canceled: *is_canceled });
        }
        RunEvent::Retried { step, attempt, now } => {
            frame.attempts.insert(step.clone(), attempt.clone());
            if let Some(position) = &mut frame.position {
                position.entered = *now;
            }
        }
        _ => {}
    }
}

/// Whether another sub-agent of the same dispatch reported before.
fn has_reports(position: Option<&StepVisit>) -> bool {
    let Some(StepVisit { wait: StepWait::Children(children), .. }) = position else { return false };
    children.iter().any(|child| child.outcome.is_some())
}

fn set_progress(wait: &mut StepWait, to: ExecutionProgress) {
    if let StepWait::Command { progress, .. } | StepWait::Listing(progress) | StepWait::Validating { progress, .. } =
        wait
    {
        *progress = to;
    }
}
