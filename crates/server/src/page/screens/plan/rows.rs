//! Rows of a plan: its prose as written, and each task with how it stands.

use std::collections::HashMap;

use maestro_core::RunId;
use maestro_core::excerpt::{ellipsize, one_line};
use maestro_core::plan::{Plan, PlanTask, PlanTaskStatus, SetAsideReason};
use maestro_core::work_state::WorkState;
use maestro_engine::plan_files::CommitSize;
use serde::Serialize;

use super::progress::{PlanHistory, TaskAttempt};
use crate::api::RunWithState;
use crate::page::badge::{StateBadge, state};
use crate::page::cards::TITLE;
use crate::page::text::DisplayText;

/// How many characters of a piece of prose are shown.
const PROSE: usize = 20_000;

/// A box that was ticked, by an earlier run or a person.
const TICKED: StateBadge = state("good", "✓", "ticked");
/// A box that no run picks.
const ASIDE: StateBadge = state("rest", "–", "set aside");

/// A part of a plan.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(super) enum PlanRow {
    /// A heading.
    Heading { id: String, level: usize, text: String },
    /// Anything else that is no task.
    Prose { id: String, text: DisplayText, belongs_to_task: bool },
    /// A task.
    Task(TaskRow),
}

/// A task of a plan.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct TaskRow {
    pub(super) id: String,
    pub(super) line: usize,
    depth: usize,
    pub(super) label: String,
    pub(super) state: StateBadge,
    /// How it counts in the header.
    #[serde(skip)]
    pub(super) counts: TaskCounts,
    /// Where it is, why it stopped, or why it waits.
    pub(super) note: Option<String>,
    pub(super) commit: Option<String>,
    pub(super) added: Option<u64>,
    pub(super) removed: Option<u64>,
    began: Option<i64>,
    ended: Option<i64>,
}

/// How a task counts in the header of its plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TaskCounts {
    Done,
    Working,
    Waiting,
    Stopped,
    Open,
    Aside,
}

impl PlanRow {
    pub(super) fn task(&self) -> Option<&TaskRow> {
        match self {
            Self::Task(task) => Some(task),
            Self::Heading { .. } | Self::Prose { .. } => None,
        }
    }
}

/// The rows of a plan in the order of its text.
pub(super) fn plan_rows(
    text: &str,
    plan: &Plan,
    history: &PlanHistory,
    runs: &[RunWithState],
    sizes: &HashMap<String, CommitSize>,
) -> Vec<PlanRow> {
    let mut rows = Vec::new();
    let mut prose: Vec<&str> = Vec::new();
    let mut tasks = plan.tasks.iter().peekable();
    let mut skip = 0;
    let mut fenced = false;
    for (index, line) in text.trim_start_matches('\u{feff}').lines().enumerate() {
        let number = index + 1;
        if let Some(task) = tasks.next_if(|task| task.line_number == number) {
            flush(&mut prose, number, &mut rows);
            skip = label_rest(text, task);
            rows.push(PlanRow::Task(task_row(task, history, runs, sizes)));
            continue;
        }
        if skip > 0 {
            skip -= 1;
            continue;
        }
        fenced ^= line.trim_start().starts_with("```");
        match heading(line).filter(|_| !fenced) {
            Some((level, words)) => {
                flush(&mut prose, number, &mut rows);
                rows.push(PlanRow::Heading { id: format!("line-{number}"), level, text: words.to_owned() });
            }
            None => prose.push(line),
        }
    }
    flush(&mut prose, text.lines().count() + 1, &mut rows);
    rows
}

fn heading(line: &str) -> Option<(usize, &str)> {
    let level = line.chars().take_while(|c| *c == '#').count();
    let words = line.get(level..)?.strip_prefix(' ')?.trim();
    ((1..=6).contains(&level) && !words.is_empty()).then_some((level, words))
}

/// How many lines behind its box still belong to a task's label.
pub(super) fn label_rest(text: &str, task: &PlanTask) -> usize {
    let wanted = one_line(&task.label);
    let mut found = String::new();
    for (index, line) in text.lines().skip(task.line_number - 1).enumerate() {
        let words =
            if index == 0 { line.split_once(']').map_or(line, |(_, rest)| rest).trim_start_matches('?') } else { line };
        found = one_line(&format!("{found} {words}"));
        if found == wanted {
            return index;
        }
        if !wanted.starts_with(&found) {
            break;
        }
    }
    0
}

fn flush(prose: &mut Vec<&str>, number: usize, rows: &mut Vec<PlanRow>) {
    let first = prose.iter().position(|line| !line.trim().is_empty());
    if let Some(first) = first {
        let indent = prose.iter().skip(first).filter(|line| !line.trim().is_empty());
        let indent = indent.map(|line| line.len() - line.trim_start().len()).min().unwrap_or(0);
        let lines = prose.iter().skip(first).map(|line| line.get(indent..).unwrap_or(line.trim_start()));
        let text = lines.collect::<Vec<_>>().join("\n");
        let id = format!("line-{}", number - prose.len() + first);
        // What is indented continues the task above it.
        let belongs_to_task = indent > 0 && matches!(rows.last(), Some(PlanRow::Task(_)));
        rows.push(PlanRow::Prose { id, text: DisplayText::exactly(text.trim_end(), PROSE), belongs_to_task });
    }
    prose.clear();
}

fn task_row(
    task: &PlanTask,
    history: &PlanHistory,
    runs: &[RunWithState],
    sizes: &HashMap<String, CommitSize>,
) -> TaskRow {
    let attempt = history.attempts(&task.label).last();
    let (state, counts, note) = task_state(task, attempt, runs);
    let commit = attempt.and_then(|attempt| attempt.commit.clone());
    let size = commit.as_ref().and_then(|commit| sizes.get(commit));
    TaskRow {
        id: format!("line-{}", task.line_number),
        line: task.line_number,
        depth: task.depth.min(6),
        label: ellipsize(&task.label, TITLE * 5),
        state,
        counts,
        note,
        added: size.map(|size| size.added),
        removed: size.map(|size| size.removed),
        commit: commit.map(|commit| commit.chars().take(7).collect()),
        began: attempt.map(|attempt| attempt.began),
        ended: attempt.and_then(|attempt| attempt.ended),
    }
}

fn run_of(runs: &[RunWithState], id: RunId) -> Option<&RunWithState> {
    runs.iter().find(|run| run.record.id == id)
}

/// How a task stands: as its box says, unless a run says more.
fn task_state(
    task: &PlanTask,
    attempt: Option<&TaskAttempt>,
    runs: &[RunWithState],
) -> (StateBadge, TaskCounts, Option<String>) {
    let is_ticked = matches!(task.status, PlanTaskStatus::Done | PlanTaskStatus::Reviewed);
    let run = attempt.and_then(|attempt| run_of(runs, attempt.run));
    match (attempt, run) {
        (Some(attempt), Some(run)) if attempt.is_open() && !is_ticked => open_state(attempt, run),
        (Some(TaskAttempt { result: Some((true, _)), .. }), Some(run)) => {
            let landed = matches!(run.stands.state, WorkState::Merged | WorkState::Discarded);
            let state = if landed { run.stands.state } else { WorkState::Ready };
            (state.into(), TaskCounts::Done, None)
        }
        (Some(TaskAttempt { result: Some((false, why)), .. }), _) if !is_ticked && task.is_pending() => {
            let why = why.as_deref().map(|why| ellipsize(&one_line(why), TITLE));
            (WorkState::Stopped.into(), TaskCounts::Stopped, why)
        }
        _ if is_ticked => (TICKED, TaskCounts::Done, None),
        _ if task.is_pending() => (WorkState::Queued.into(), TaskCounts::Open, None),
        _ => (ASIDE, TaskCounts::Aside, Some(aside_words(task).to_owned())),
    }
}

fn open_state(attempt: &TaskAttempt, run: &RunWithState) -> (StateBadge, TaskCounts, Option<String>) {
    let state = run.stands.state;
    let why = run.stands.reason.as_deref().map(|why| ellipsize(&one_line(why), TITLE));
    match state {
        WorkState::Waiting => (state.into(), TaskCounts::Waiting, why),
        WorkState::Paused => (state.into(), TaskCounts::Working, Some(attempt.place())),
        WorkState::Queued | WorkState::Working => {
            (WorkState::Working.into(), TaskCounts::Working, Some(attempt.place()))
        }
        _ => (WorkState::Stopped.into(), TaskCounts::Stopped, why),
    }
}

/// Why no run picks a task.
fn aside_words(task: &PlanTask) -> &'static str {
    match (task.status, task.set_aside) {
        (
            _,
            Some(
                SetAsideReason::VerificationSection
                | SetAsideReason::ChecklistSection
                | SetAsideReason::ManualQaSection,
            ),
        ) => "not the agent's",
        (_, Some(SetAsideReason::UnderOptionalParent)) | (PlanTaskStatus::Optional, _) => "optional",
        (_, Some(SetAsideReason::UnderDeferredParent)) | (PlanTaskStatus::Deferred, _) => "put off",
        _ => "not open",
    }
}
