//! History of a run, as its events tell it: the steps as they happened, and what was found on the way.

use std::collections::{BTreeMap, BTreeSet};

use maestro_core::excerpt::one_line;
use maestro_core::workflow::definition::{EndStatus, StepWork};
use maestro_core::workflow::run::{RunDefinition, RunEvent};
use maestro_core::workflow::{StepOutcome, StepPhase};
use maestro_store::EventRow;
use serde_json::{Map, Value as Json};

use super::run_line::{HistoryEvent, HistoryLine};

/// The steps of a run in the order in which they happened.
#[derive(Debug, Clone, Default)]
pub(super) struct RunHistory {
    /// The last event that was taken in.
    pub(super) seen: i64,
    pub(super) visits: Vec<VisitRecord>,
    pub(super) lines: Vec<HistoryLine>,
    /// The commits it made, oldest first.
    pub(super) commits: Vec<String>,
    /// The ways that were taken, by workflow.
    pub(super) ways: BTreeMap<String, BTreeSet<(String, String)>>,
    frames: Vec<FrameRecord>,
}

/// One visit of a step.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct VisitRecord {
    pub(super) step: String,
    pub(super) title: String,
    pub(super) kind: VisitKind,
    pub(super) phase: Option<StepPhase>,
    /// Which visit of this step, from 1.
    pub(super) visit: u32,
    pub(super) entered: i64,
    pub(super) left: Option<i64>,
    pub(super) outcome: Option<StepOutcome>,
    pub(super) is_skipped: bool,
    /// Whether it is part of a round that a gate or a review sent back.
    pub(super) is_fix: bool,
    /// The visit that called the workflow it belongs to.
    pub(super) caller: Option<usize>,
    /// The task that a call is about.
    pub(super) task: Option<String>,
    /// What is said about it in a few words.
    pub(super) note: Option<String>,
}

/// What happens at a step, as far as it changes how a visit is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum VisitKind {
    /// An agent works.
    Agent,
    /// Sub-agents work.
    Dispatch,
    /// A command is executed.
    Command,
    /// A gate decides.
    Gate,
    /// A person is asked.
    Question,
    /// Another workflow is walked through.
    Call,
    /// The engine itself takes a turn, which is not worth a row.
    Silent,
}

#[derive(Debug, Clone, Default)]
struct FrameRecord {
    workflow: String,
    /// The visit that called it.
    caller: Option<usize>,
    /// The visit it is at.
    at: Option<usize>,
    /// Whether work was sent back and has not passed since.
    is_fixing: bool,
    /// The frames of the branches that wait while another one is in front.
    aside: BTreeMap<usize, Vec<FrameRecord>>,
}

impl VisitKind {
    fn of(work: &StepWork) -> Self {
        match work {
            StepWork::Agent(_) => Self::Agent,
            StepWork::Dispatch(_) => Self::Dispatch,
            StepWork::Command { .. } => Self::Command,
            StepWork::Gate(_) => Self::Gate,
            StepWork::Question(_) => Self::Question,
            StepWork::Call(_) => Self::Call,
            StepWork::Output { .. } | StepWork::Conditional { .. } | StepWork::Set(_) | StepWork::End { .. } => {
                Self::Silent
            }
        }
    }
}

impl RunHistory {
    /// Takes in what happened since.
    pub(super) fn apply_all(&mut self, rows: &[EventRow], definition: Option<&RunDefinition>) {
        for row in rows {
            self.seen = row.seq;
            if let Ok(Some(event)) = RunEvent::from_log(&row.kind, row.payload.get()) {
                self.apply(row, &event, definition);
            }
        }
    }

    fn apply(&mut self, row: &EventRow, event: &RunEvent, definition: Option<&RunDefinition>) {
        match event {
            RunEvent::Began { workflow, .. } => {
                self.frames = vec![FrameRecord { workflow: workflow.clone(), ..FrameRecord::default() }];
            }
            RunEvent::Entered { step, visit, phase, .. } => {
                self.enter(row, step.as_str(), *visit, phase.clone(), definition);
            }
            RunEvent::Called { workflow, params, .. } => self.call(row, workflow, params),
            RunEvent::Switched { frame, from, to } => self.switch(*frame, *from, *to),
            RunEvent::Returned { status, .. } => self.give_back(row.at, Some(*status)),
            RunEvent::Dropped { frames } => (0..*frames).for_each(|_| self.give_back(row.at, None)),
            RunEvent::Left { step, outcome, phase } => self.leave(row.at, step.as_str(), outcome, phase.as_ref()),
            RunEvent::Skipped { step } => {
                if let Some(visit) = self.open_visit(step.as_str()) {
                    visit.is_skipped = true;
                }
            }
            RunEvent::Judged { outcome, reasons, .. } => self.judge(outcome, reasons),
            RunEvent::Set { value, .. } => {
                let commit = value.get("commit").and_then(Json::as_str).filter(|commit| !commit.is_empty());
                self.commits.extend(commit.map(str::to_owned));
            }
            RunEvent::Executed { outcome, reason, .. } if *outcome != StepOutcome::OK => {
                let note = reason.as_deref().map(one_line);
                if let Some(visit) = self.current() {
                    visit.note = note;
                }
            }
            // What was said to an agent shows where it was said.
            RunEvent::ItemsMoved { ids, .. } if self.deliver_messages(ids) => return,
            RunEvent::Cancelled {} | RunEvent::Ended { .. } => self.close_all(row.at),
            _ => {}
        }
        let visit = self.frames.last().and_then(|frame| frame.at);
        let kind = visit.and_then(|at| self.visits.get(at)).map_or(VisitKind::Silent, |visit| visit.kind);
        if let Some(content) = HistoryEvent::of(event).filter(|content| content.fits(kind)) {
            self.lines.push(HistoryLine { seq: row.seq, at: row.at, visit, content });
        }
    }

    /// Notes that messages were delivered. Returns whether these are ids of messages.
    fn deliver_messages(&mut self, ids: &[String]) -> bool {
        let mut are_messages = false;
        for line in &mut self.lines {
            if let HistoryEvent::Message { id, is_delivered, .. } = &mut line.content
                && ids.contains(id)
            {
                (*is_delivered, are_messages) = (true, true);
            }
        }
        are_messages
    }

    fn current(&mut self) -> Option<&mut VisitRecord> {
        let at = self.frames.last()?.at?;
        self.visits.get_mut(at)
    }

    /// The visit that it is at, if that is one of this step. What is not needed is left without being entered.
    fn open_visit(&mut self, step: &str) -> Option<&mut VisitRecord> {
        self.current().filter(|visit| visit.step == step && visit.left.is_none())
    }

    fn enter(
        &mut self,
        row: &EventRow,
        step: &str,
        visit: u32,
        phase: Option<StepPhase>,
        definition: Option<&RunDefinition>,
    ) {
        let number = self.visits.len();
        let Some(frame) = self.frames.last_mut() else { return };
        let known = definition.and_then(|definition| definition.workflow(&frame.workflow));
        let known = known.and_then(|workflow| workflow.steps.iter().find(|known| known.id.as_str() == step));
        let record = VisitRecord {
            step: step.to_owned(),
            title: known.map_or_else(|| step.to_owned(), |step| step.title.clone()),
            kind: known.map_or(VisitKind::Command, |step| VisitKind::of(&step.work)),
            phase: phase.or_else(|| known?.phase.clone()),
            visit,
            entered: row.at,
            left: None,
            outcome: None,
            is_skipped: false,
            is_fix: frame.is_fixing,
            caller: frame.caller,
            task: None,
            note: None,
        };
        let before = frame.at.and_then(|at| self.visits.get(at)).map(|before| before.step.clone());
        if let Some(before) = before {
            self.ways.entry(frame.workflow.clone()).or_default().insert((before, step.to_owned()));
        }
        frame.at = Some(number);
        self.visits.push(record);
    }

    fn call(&mut self, row: &EventRow, workflow: &str, params: &Map<String, Json>) {
        let task = params.get("task").and_then(Json::as_str).filter(|task| !task.trim().is_empty()).map(one_line);
        let caller = self.frames.last().and_then(|frame| frame.at);
        if let Some(visit) = self.current() {
            visit.task.clone_from(&task);
        }
        self.frames.push(FrameRecord { workflow: workflow.to_owned(), caller, ..FrameRecord::default() });
        if let Some(task) = task {
            let content = HistoryEvent::Task(task);
            self.lines.push(HistoryLine { seq: row.seq, at: row.at, visit: caller, content });
        }
    }

    /// Another branch of the step of a frame is in front.
    fn switch(&mut self, frame: usize, from: Option<usize>, to: Option<usize>) {
        if frame >= self.frames.len() {
            return;
        }
        let above = self.frames.split_off(frame + 1);
        let Some(base) = self.frames.last_mut() else { return };
        if let Some(from) = from {
            base.aside.insert(from, above);
        }
        if let Some(frames) = to.and_then(|to| base.aside.remove(&to)) {
            self.frames.extend(frames);
        }
    }

    fn give_back(&mut self, at: i64, status: Option<EndStatus>) {
        if self.frames.len() < 2 {
            return;
        }
        if let Some(visit) = self.current() {
            visit.left.get_or_insert(at);
        }
        self.frames.pop();
        if let Some(visit) = self.current() {
            visit.left = Some(at);
            visit.outcome = status.map(EndStatus::outcome);
        }
    }

    fn leave(&mut self, at: i64, step: &str, outcome: &StepOutcome, phase: Option<&StepPhase>) {
        let Some(visit) = self.open_visit(step) else { return };
        visit.left = Some(at);
        visit.outcome = Some(outcome.clone());
        let is_review = phase.or(visit.phase.as_ref()) == Some(&StepPhase::Review);
        if let Some(frame) = self.frames.last_mut().filter(|_| is_review) {
            frame.is_fixing = *outcome == StepOutcome::FAIL;
        }
    }

    fn judge(&mut self, outcome: &StepOutcome, reasons: &[String]) {
        let is_refused = *outcome == StepOutcome::FAIL;
        let note = match reasons {
            [] => None,
            [only] => Some(one_line(only)),
            several => Some(format!("{} findings", several.len())),
        };
        if let Some(visit) = self.current() {
            visit.is_fix = false;
            visit.note = note.filter(|_| is_refused);
        }
        if let Some(frame) = self.frames.last_mut() {
            frame.is_fixing = is_refused;
        }
    }

    fn close_all(&mut self, at: i64) {
        for frame in &self.frames {
            if let Some(visit) = frame.at.and_then(|number| self.visits.get_mut(number)) {
                visit.left.get_or_insert(at);
            }
        }
    }

    /// The visit that the run is at.
    pub(super) fn at(&self) -> Option<usize> {
        self.frames.last()?.at
    }

    /// The visit that a session works for: the last one of its step that began before it.
    pub(super) fn visit_of(&self, step: &str, started: i64) -> Option<usize> {
        self.visits.iter().rposition(|visit| visit.step == step && visit.entered <= started)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use serde_json::value::RawValue;

    use super::*;

    fn row(seq: i64, kind: &str, payload: &Json) -> EventRow {
        EventRow {
            seq,
            at: seq * 1000,
            kind: kind.to_owned(),
            version: 1,
            project: None,
            task: None,
            session: None,
            run: None,
            payload: RawValue::from_string(payload.to_string()).unwrap(),
        }
    }

    #[test]
    fn what_a_review_sends_back_is_a_round_of_its_own() {
        let enter = |seq, step: &str, visit| {
            row(
                seq,
                "run:entered",
                &json!({ "step": step, "visit": visit, "now": seq, "phase": if step == "look" { "review" } else { "implement" } }),
            )
        };
        let leave = |seq, step: &str, outcome: &str| {
            row(
                seq,
                "run:left",
                &json!({ "step": step, "outcome": outcome, "phase": if step == "look" { "review" } else { "implement" } }),
            )
        };
        let rows = [
            row(1, "run:began", &json!({ "workflow": "w", "params": {}, "variables": {}, "context": {}, "seed": 1 })),
            enter(2, "implement", 1),
            leave(3, "implement", "ok"),
            enter(4, "look", 1),
            leave(5, "look", "fail"),
            enter(6, "implement", 2),
            leave(7, "implement", "ok"),
            enter(8, "look", 2),
            leave(9, "look", "pass"),
            enter(10, "commit", 1),
        ];
        let mut history = RunHistory::default();
        history.apply_all(&rows, None);
        let fixes: Vec<bool> = history.visits.iter().map(|visit| visit.is_fix).collect();
        assert_eq!(fixes, [false, false, true, true, false]);
        assert_eq!(history.visit_of("implement", 3000), Some(0));
        assert_eq!(history.visit_of("implement", 6000), Some(2));
        assert_eq!(history.ways["w"].len(), 3, "the same way twice is one");
        assert_eq!((history.at(), history.seen), (Some(4), 10));
    }
}
