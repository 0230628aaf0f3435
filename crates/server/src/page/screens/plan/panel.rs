//! Selected task of a plan: its attempts and rounds, what was found, its checks and its skills.

use maestro_core::excerpt::ellipsize;
use maestro_core::plan::{PlanTask, parse_plan, plan_item};
use maestro_core::work_state::WorkState;
use maestro_store::DeliveryStage;
use serde::Serialize;

use super::super::work::run_address;
use super::PlanFiles;
use super::progress::{TaskAttempt, TaskRound};
use super::query::{PlanScreenSnapshot, param};
use super::rows::label_rest;
use crate::api::RunWithState;
use crate::page::cards::{TITLE, WORDS};
use crate::page::text::DisplayText;

/// How many characters of an item are shown.
const ITEM: usize = 8000;

/// The task.
#[derive(Debug, Serialize)]
pub(super) struct TaskPanel {
    line: usize,
    label: String,
    section: Option<String>,
    /// What stands below it in the plan.
    text: Option<DisplayText>,
    attempts: usize,
    agents: Option<String>,
    rounds: Vec<RoundView>,
    skills: Vec<SkillView>,
    run: Option<String>,
    open: Option<String>,
    commit: Option<String>,
    began: Option<i64>,
    ended: Option<i64>,
    pub(super) can_retry: bool,
    can_skip: bool,
    is_deferred: bool,
    result: Option<String>,
}

/// A round.
#[derive(Debug, Serialize)]
struct RoundView {
    number: usize,
    tone: &'static str,
    glyph: &'static str,
    word: &'static str,
    summary: Option<DisplayText>,
    checks: Option<(bool, DisplayText)>,
    findings: Vec<DisplayText>,
}

/// A skill that the task's sessions received.
#[derive(Debug, Serialize)]
struct SkillView {
    name: String,
    handed: bool,
    opened: bool,
}

impl TaskPanel {
    pub(super) fn new(task: &PlanTask, seen: &PlanScreenSnapshot, runs: &[RunWithState], read: &PlanFiles) -> Self {
        let attempts = seen.history.attempts(&task.label);
        let last = attempts.last();
        let run = last.and_then(|last| runs.iter().find(|run| run.record.id == last.run));
        let lead = run.and_then(|run| param(&run.record, "lead")).map(str::to_owned);
        let text = plan_item(&read.plan.text, task.line_number, &task.label).map(|item| item.text);
        let skip = 1 + label_rest(&read.plan.text, task);
        let below = text.map(|text| own_text(&text, skip, task, read));
        let below = below.as_deref().map(str::trim_end);
        let stopped = last.is_some_and(|last| matches!(last.result, Some((false, _))));
        let run_stopped = run.is_some_and(|run| run.stands.state == WorkState::Stopped);
        Self {
            line: task.line_number,
            label: ellipsize(&task.label, TITLE * 5),
            section: task.section.as_deref().map(|section| ellipsize(section, TITLE)),
            text: below.filter(|below| !below.is_empty()).map(|below| DisplayText::exactly(below, ITEM)),
            attempts: attempts.len(),
            agents: run.map(agents_of),
            rounds: last.map(rounds).unwrap_or_default(),
            skills: skills(task, seen),
            open: lead.clone().or_else(|| run.map(|run| run.record.id.to_string())).map(|run| run_address(&run)),
            run: lead.or_else(|| run.map(|run| run.record.id.to_string())),
            commit: last.and_then(|last| last.commit.clone()),
            began: last.map(|last| last.began),
            ended: last.and_then(|last| last.ended),
            can_retry: (stopped || last.is_some_and(TaskAttempt::is_open)) && run_stopped,
            can_skip: task.is_pending() && !last.is_some_and(|last| last.is_open() && !run_stopped),
            is_deferred: matches!(task.status, maestro_core::plan::PlanTaskStatus::Deferred),
            result: last
                .and_then(|last| last.result.clone())
                .filter(|(done, _)| !done)
                .and_then(|(_, why)| why)
                .map(|why| ellipsize(&why, WORDS)),
        }
    }
}

/// What stands below a task and belongs to no task below it: those are rows of their own.
fn own_text(item: &str, skip: usize, task: &PlanTask, read: &PlanFiles) -> String {
    let lines: Vec<&str> = item.lines().collect();
    let next =
        parse_plan(&read.plan.text).tasks.iter().map(|other| other.line_number).find(|at| *at > task.line_number);
    let end = next.map_or(lines.len(), |next| (next - task.line_number).min(lines.len()));
    dedent(lines.get(skip..end).unwrap_or_default())
}

/// The lines without the indentation that all of them have.
fn dedent(lines: &[&str]) -> String {
    let indents = lines.iter().filter(|line| !line.trim().is_empty()).map(|line| line.len() - line.trim_start().len());
    let indent = indents.min().unwrap_or(0);
    lines.iter().map(|line| line.get(indent..).unwrap_or_default()).collect::<Vec<_>>().join("\n")
}

/// Who does the work, and who reviews it.
fn agents_of(run: &RunWithState) -> String {
    let (agent, reviewer) = (param(&run.record, "agent"), param(&run.record, "reviewer"));
    match (agent, reviewer) {
        (Some(agent), Some(reviewer)) => format!("{agent}, reviewed by {reviewer}"),
        (Some(agent), None) => agent.to_owned(),
        (None, _) => "the agent of the settings".to_owned(),
    }
}

fn rounds(attempt: &TaskAttempt) -> Vec<RoundView> {
    let last = attempt.rounds.len();
    let view = |(index, round): (usize, &TaskRound)| {
        let is_last = index + 1 == last;
        let (tone, glyph, word) = match (round.findings.is_empty(), is_last, &attempt.result) {
            (_, true, Some((true, _))) => ("good", "✓", "passed"),
            (false, _, _) | (_, true, Some((false, _))) => ("bad", "✗", "sent back"),
            (true, true, None) => ("working", "●", "working"),
            (true, false, _) => ("rest", "○", "repeated"),
        };
        RoundView {
            number: index + 1,
            tone,
            glyph,
            word,
            summary: round.summary.as_deref().map(|words| DisplayText::exactly(words, WORDS)),
            checks: round.checks.as_ref().map(|(passed, said)| (*passed, DisplayText::printed(said, WORDS))),
            findings: round.findings.iter().map(|finding| DisplayText::exactly(finding, WORDS * 3)).collect(),
        }
    };
    attempt.rounds.iter().enumerate().map(view).collect()
}

fn skills(task: &PlanTask, seen: &PlanScreenSnapshot) -> Vec<SkillView> {
    let label = maestro_core::excerpt::one_line(&task.label);
    let mut views: Vec<SkillView> = Vec::new();
    for given in seen.skills.get(&label).map(Vec::as_slice).unwrap_or_default() {
        let known = views.iter().position(|view| view.name == given.skill);
        let index = known.unwrap_or_else(|| {
            views.push(SkillView { name: given.skill.clone(), handed: false, opened: false });
            views.len() - 1
        });
        match given.stage {
            DeliveryStage::Handed => views[index].handed = true,
            DeliveryStage::Opened => views[index].opened = true,
            DeliveryStage::Read => {}
        }
    }
    views
}
