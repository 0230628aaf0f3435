//! Evidence of a run: what its gate and its review looked at, and nothing else.

use maestro_core::workflow::definition::{StepWork, Workflow};
use maestro_core::workflow::run::{CallFrame, PersonItemState, ReviewItemStatus};
use maestro_core::workflow::{StepOutcome, StepPhase};
use serde::Serialize;

use super::history::{VisitKind, VisitRecord};
use super::mapper::RunMapper;
use super::run_line::item_line;
use crate::page::badge::{StateBadge, state};
use crate::page::cards::{TITLE, worker_name};
use crate::page::run_overview::RunOverview;
use crate::page::text::DisplayText;
use crate::work_changes::WorkChanges;

/// How many items are listed.
const ITEMS: usize = 50;
/// How many characters are shown of one.
const ITEM: usize = 200;

/// Something that a gate looks at.
#[derive(Debug, Serialize)]
pub(super) struct EvidenceLine {
    state: StateBadge,
    text: DisplayText,
}

impl EvidenceLine {
    fn new(state: StateBadge, text: &str) -> Self {
        Self { state, text: DisplayText::exactly(text, TITLE) }
    }
}

impl RunMapper<'_> {
    /// What the gate of the current task looks at: executed checks and items of its review, the verdict on it, and what
    /// people want. Also whether there is a gate.
    pub(super) fn evidence(&self, changes: Option<&WorkChanges>) -> (Vec<EvidenceLine>, bool) {
        let Some(run) = &self.overview else { return (Vec::new(), false) };
        let (mut lines, mut has_gate) = (Vec::new(), false);
        for frame in run.record.run.frames.iter().rev() {
            let workflow = run.definition().and_then(|definition| definition.workflow(&frame.workflow));
            if let Some(workflow) = workflow {
                has_gate |= self.checks(run, frame, workflow, &mut lines);
            }
            lines.extend(item_lines(frame));
            if !lines.is_empty() {
                break;
            }
        }
        if lines.is_empty() {
            lines.extend(self.last_checks(run));
        }
        lines.extend(self.verdict());
        lines.extend(run.record.run.comments().take(ITEMS).map(|item| EvidenceLine {
            state: item_badge(item.state),
            text: DisplayText::exactly(&format!("you: {}", item.describe()), ITEM),
        }));
        if let Some(size) = changes.map(|changes| changes.size).filter(|size| size.files > 0) {
            let files = if size.files == 1 { "file" } else { "files" };
            let text = format!("diff +{} −{}, {} {files}", size.added, size.removed, size.files);
            lines.push(EvidenceLine::new(state("plain", "–", "changed"), &text));
        }
        (lines, has_gate)
    }

    /// The checks of the first gate, and of those that were reached. Returns whether there is a gate.
    fn checks(&self, run: &RunOverview, frame: &CallFrame, workflow: &Workflow, lines: &mut Vec<EvidenceLine>) -> bool {
        let mut is_first = true;
        for step in &workflow.steps {
            let StepWork::Gate(gate) = &step.work else { continue };
            let was_reached = frame.visits.get(&step.id).is_some_and(|visits| *visits > 0);
            if !std::mem::take(&mut is_first) && !was_reached {
                continue;
            }
            for check in &gate.checks {
                let checked = workflow.step(&check.step);
                let title = checked.map_or(check.step.as_str(), |step| &step.title);
                let outcome = run.record.run.checks.get(&format!("{}:{}", frame.workflow, check.step));
                let outcome = outcome.filter(|_| self.is_fresh(|visit| visit.step == check.step.as_str()));
                let line = EvidenceLine::new(check_badge(outcome), title);
                if !lines.iter().any(|known| known.text == line.text) {
                    lines.push(line);
                }
            }
        }
        !is_first
    }

    /// The checks as they were last executed, for a run that is at no gate any more.
    fn last_checks(&self, run: &RunOverview) -> Vec<EvidenceLine> {
        let line = |(key, outcome): (&String, &StepOutcome)| {
            let (workflow, step) = key.split_once(':')?;
            let steps = &run.definition()?.workflow(workflow)?.steps;
            let title = &steps.iter().find(|known| known.id.as_str() == step)?.title;
            let outcome = Some(outcome).filter(|_| self.is_fresh(|visit| visit.step == step));
            Some(EvidenceLine::new(check_badge(outcome), title))
        };
        run.record.run.checks.iter().take(ITEMS).filter_map(line).collect()
    }

    /// Whether the last such visit came after the last work: what was checked before it says nothing of it.
    fn is_fresh(&self, is_such: impl Fn(&VisitRecord) -> bool) -> bool {
        let visits = &self.history.visits;
        let worked = visits.iter().rposition(|visit| visit.phase == Some(StepPhase::Implement));
        visits.iter().rposition(is_such).is_none_or(|such| worked.is_none_or(|worked| such > worked))
    }

    /// What the last review said.
    fn verdict(&self) -> Option<EvidenceLine> {
        let is_review = |visit: &VisitRecord| visit.phase == Some(StepPhase::Review) && visit.kind == VisitKind::Agent;
        let at = self.history.visits.iter().rposition(is_review)?;
        let visit = &self.history.visits[at];
        let by = self.session_of(at).map(|session| format!(" by {}", worker_name(&session.session)));
        let by = by.unwrap_or_default();
        let (badge, text) = match &visit.outcome {
            Some(outcome) if *outcome == StepOutcome::SKIP => return None,
            _ if !self.is_fresh(is_review) => (state("rest", "○", "not reviewed yet"), "review of the fix".to_owned()),
            Some(outcome) if [StepOutcome::OK, StepOutcome::PASS].contains(outcome) => {
                (state("good", "✓", "passed"), format!("reviewed{by}"))
            }
            Some(_) => (state("bad", "✗", "sent back"), format!("sent back{by}")),
            None => (state("rest", "○", "not reviewed yet"), format!("review{by}")),
        };
        Some(EvidenceLine::new(badge, &text))
    }
}

fn check_badge(outcome: Option<&StepOutcome>) -> StateBadge {
    match outcome.map(StepOutcome::as_str) {
        Some("ok") => state("good", "✓", "passed"),
        Some(_) => state("bad", "✗", "failed"),
        None => state("rest", "○", "not executed yet"),
    }
}

/// How far a person's comment is.
pub(super) fn item_badge(at: PersonItemState) -> StateBadge {
    match at {
        PersonItemState::Queued => state("rest", "○", "queued"),
        PersonItemState::Delivered => state("working", "●", "delivered"),
        PersonItemState::Fixed => state("plain", "–", "fixed"),
        PersonItemState::Verified => state("good", "✓", "verified"),
    }
}

/// The items of a review.
fn item_lines(frame: &CallFrame) -> Vec<EvidenceLine> {
    let items = frame.reviews.values().flatten().take(ITEMS).map(|item| EvidenceLine {
        state: match item.status {
            ReviewItemStatus::Pass => state("good", "✓", "passed"),
            ReviewItemStatus::Fail => state("bad", "✗", "failed"),
            ReviewItemStatus::Todo => state("rest", "○", "not checked yet"),
        },
        text: DisplayText::exactly(item_line(item).trim_start_matches(['✓', '✗', ' ']), ITEM),
    });
    items.collect()
}
