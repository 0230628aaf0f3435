//! Spine of a run: its steps as they happened, rounds below the gate that sent them back, and what is to come.

use maestro_core::session::SessionStatus;
use maestro_core::work_state::WorkState;
use maestro_core::workflow::run::{DispatchChild, StepWait};
use maestro_core::workflow::{StepOutcome, StepPhase};
use serde::Serialize;

use super::history::{VisitKind, VisitRecord};
use super::mapper::RunMapper;
use crate::page::badge::{PAUSED, StateBadge, WAITING, state};
use crate::page::cards::{TITLE, worker_name};
use crate::page::text::DisplayText;

/// The step that is worked on.
pub(super) const NOW: StateBadge = state("working", "●", "now");
/// From this many sub-agents on they are counted, not named.
const MANY: usize = 6;
/// How many groups of steps are shown; those before are a number.
const GROUPS: usize = 60;

/// The steps.
#[derive(Debug, Default, Serialize)]
pub(super) struct RunSpine {
    groups: Vec<SpineGroup>,
    /// How many groups are left out before them.
    left_out: usize,
    /// The phases that are to come.
    ahead: Vec<&'static str>,
    /// The address without a selected step.
    all: String,
    has_selection: bool,
}

/// The steps of a task, or those between two tasks.
#[derive(Debug, Default, Serialize)]
struct SpineGroup {
    /// Whether the first row is a task, and the others are its steps.
    has_task: bool,
    rows: Vec<SpineRow>,
    is_open: bool,
}

impl SpineGroup {
    /// The visit that called the workflow of its steps.
    fn caller(&self) -> Option<usize> {
        self.rows.first().filter(|_| self.has_task).map(|task| task.number - 1)
    }
}

/// A step in the spine.
#[derive(Debug, Clone, Serialize)]
struct SpineRow {
    number: usize,
    href: String,
    state: StateBadge,
    title: DisplayText,
    /// Which visit, from the second on.
    visit: Option<u32>,
    who: Option<String>,
    note: Option<DisplayText>,
    since: i64,
    until: Option<i64>,
    is_fix: bool,
    is_selected: bool,
    is_current: bool,
    subagents: Vec<SubagentRow>,
    /// How many sub-agents there are in each state, where they are too many to name.
    subagent_counts: Option<String>,
}

/// A sub-agent of a dispatch.
#[derive(Debug, Clone, Serialize)]
struct SubagentRow {
    state: StateBadge,
    name: DisplayText,
}

impl RunMapper<'_> {
    /// The spine.
    pub(super) fn spine(&self, tab: &str) -> RunSpine {
        let base = self.subject.path();
        if self.overview.is_none() {
            return RunSpine { groups: vec![self.session_group(&base, tab)], all: base, ..RunSpine::default() };
        }
        let mut groups: Vec<SpineGroup> = Vec::new();
        for (number, visit) in self.history.visits.iter().enumerate() {
            if visit.kind == VisitKind::Silent || visit.is_skipped {
                continue;
            }
            let row = self.row(number, visit, &base, tab);
            let is_task = visit.kind == VisitKind::Call && visit.task.is_some();
            match groups.last_mut() {
                _ if is_task => groups.push(SpineGroup { has_task: true, rows: vec![row], is_open: false }),
                Some(group) if group.caller() == visit.caller => group.rows.push(row),
                _ => groups.push(SpineGroup { rows: vec![row], ..SpineGroup::default() }),
            }
        }
        let last = groups.iter().rposition(|group| group.has_task);
        for (index, group) in groups.iter_mut().enumerate() {
            group.is_open = Some(index) == last || group.rows.iter().any(|row| row.is_selected);
        }
        let left_out = groups.len().saturating_sub(GROUPS);
        groups.drain(..left_out);
        RunSpine { groups, left_out, ahead: self.ahead(), all: base, has_selection: self.visit.is_some() }
    }

    /// A session alone is a run with one step.
    fn session_group(&self, base: &str, tab: &str) -> SpineGroup {
        let Some(focus) = self.focus() else { return SpineGroup::default() };
        let row = SpineRow {
            number: 1,
            href: format!("{base}?tab={tab}"),
            state: self.session_badge(),
            title: DisplayText::exactly("work", TITLE),
            visit: focus.spawn.as_ref().and_then(|spawn| u32::try_from(spawn.attempt).ok()).filter(|times| *times > 1),
            who: Some(worker_name(&focus.session)),
            note: None,
            since: focus.session.started_at,
            until: focus.session.completed_at.filter(|_| focus.session.status.is_over()),
            is_fix: false,
            is_selected: false,
            is_current: !focus.session.status.is_over(),
            subagents: Vec::new(),
            subagent_counts: None,
        };
        SpineGroup { rows: vec![row], is_open: true, ..SpineGroup::default() }
    }

    fn session_badge(&self) -> StateBadge {
        match self.focus() {
            Some(focus) if focus.session.status.is_over() => state("plain", "–", "ended"),
            Some(focus) if focus.session.status == SessionStatus::Paused => PAUSED,
            Some(focus) if focus.session.needs_input.is_some() => WAITING,
            _ => NOW,
        }
    }

    /// How the current step stands: as the run does.
    fn current_badge(&self) -> StateBadge {
        match self.overview.as_ref().map(|run| run.summary.state) {
            Some(WorkState::Waiting) => WAITING,
            Some(WorkState::Paused) => PAUSED,
            _ => NOW,
        }
    }

    fn row(&self, number: usize, visit: &VisitRecord, base: &str, tab: &str) -> SpineRow {
        let is_current = self.history.at() == Some(number) && visit.left.is_none() && !self.is_over();
        let is_open_call = visit.kind == VisitKind::Call && visit.left.is_none() && !self.is_over();
        let (subagents, subagent_counts) = if is_current { self.subagents() } else { Default::default() };
        let title = visit.task.as_deref().unwrap_or(&visit.title);
        SpineRow {
            number: number + 1,
            href: format!("{base}?tab={tab}&step={}", number + 1),
            state: if is_open_call || (is_current && visit.outcome.is_none()) {
                self.current_badge()
            } else {
                visit_badge(visit)
            },
            title: DisplayText::exactly(title, TITLE),
            visit: Some(visit.visit).filter(|times| *times > 1 && visit.task.is_none()),
            who: self.session_of(number).map(|session| worker_name(&session.session)),
            note: visit.note.as_deref().map(|note| DisplayText::exactly(note, TITLE)),
            since: visit.entered,
            until: visit.left,
            is_fix: visit.is_fix,
            is_selected: self.visit == Some(number),
            is_current,
            subagents,
            subagent_counts,
        }
    }

    /// The sub-agents that the run waits for.
    fn subagents(&self) -> (Vec<SubagentRow>, Option<String>) {
        let position = self.overview.as_ref().and_then(|run| run.record.run.position());
        let Some(StepWait::Children(children)) = position.map(|position| &position.wait) else {
            return (Vec::new(), None);
        };
        if children.len() > MANY {
            let count = |wanted: &str| children.iter().filter(|child| child_badge(child).glyph() == wanted).count();
            let counts = format!("{}: {} ✓ {} ● {} ✗", children.len(), count("✓"), count("●"), count("✗"));
            return (Vec::new(), Some(counts));
        }
        let row = |child: &DispatchChild| SubagentRow {
            state: child_badge(child),
            name: DisplayText::exactly(&child.name, TITLE),
        };
        (children.iter().map(row).collect(), None)
    }

    /// The phases that are to come, where it has the usual ones.
    fn ahead(&self) -> Vec<&'static str> {
        let run = self.overview.as_ref().filter(|run| run.summary.state.is_live());
        let Some((phase, run)) = run.and_then(|run| Some((run.phase()?, run))) else { return Vec::new() };
        let marks = run.strip();
        let names = marks.iter().map(|mark| mark.name()).skip_while(|name| *name != phase).skip(1);
        names.collect()
    }
}

fn child_badge(child: &DispatchChild) -> StateBadge {
    match child.outcome.as_ref() {
        None => state("working", "●", "working"),
        Some(outcome) if *outcome == StepOutcome::OK || *outcome == StepOutcome::PASS => state("plain", "✓", "done"),
        Some(_) => state("bad", "✗", "failed"),
    }
}

/// How a visit went. Only what was executed or judged is green; an agent's word is not.
pub(super) fn visit_badge(visit: &VisitRecord) -> StateBadge {
    let Some(outcome) = &visit.outcome else { return state("rest", "○", "given up") };
    let is_well = [StepOutcome::OK, StepOutcome::PASS].contains(outcome);
    let is_evidence = match visit.kind {
        VisitKind::Command | VisitKind::Gate | VisitKind::Call => true,
        VisitKind::Agent => visit.phase == Some(StepPhase::Review),
        VisitKind::Dispatch | VisitKind::Question | VisitKind::Silent => false,
    };
    match (is_well, is_evidence) {
        (true, true) => state("good", "✓", "passed"),
        (true, false) => state("plain", "✓", "done"),
        (false, _) if *outcome == StepOutcome::SKIP => state("rest", "–", "skipped"),
        (false, _) => state("bad", "✗", "failed"),
    }
}
