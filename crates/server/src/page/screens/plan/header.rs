//! Header of a plan: how its loop stands, how far it is, what it cost, and what is left at its end.

use maestro_core::agent::BudgetLimit;
use maestro_core::excerpt::ellipsize;
use maestro_core::work_state::WorkState;
use serde::Serialize;

use super::super::work::run_address;
use super::query::{PlanScreenSnapshot, param};
use super::rows::{PlanRow, TaskCounts, TaskRow};
use crate::api::RunWithState;
use crate::page::badge::StateBadge;
use crate::page::cards::TITLE;

/// How many finished tasks an estimate needs.
const ENOUGH: usize = 3;

/// The header.
#[derive(Debug, Serialize)]
pub(super) struct PlanHeader {
    path: String,
    project: String,
    state: Option<StateBadge>,
    reason: Option<String>,
    /// The run that leads, where there is one.
    run: Option<String>,
    open: Option<String>,
    lanes: usize,
    since: Option<i64>,
    until: Option<i64>,
    cost: Option<String>,
    budget: Option<String>,
    /// `pause` or `resume`, as its run allows.
    steer: Option<&'static str>,
    can_stop: bool,
    can_review: bool,
    all: usize,
    counts: Vec<HeaderCount>,
    bar: Vec<BarPart>,
    /// The number of the task it is at.
    current: Option<usize>,
    /// How many minutes are left, at least and at most.
    left: Option<(i64, i64)>,
    pub(super) end: Option<PlanEnd>,
}

/// How many tasks stand so.
#[derive(Debug, Serialize)]
struct HeaderCount {
    count: usize,
    word: &'static str,
    tone: &'static str,
    glyph: &'static str,
}

/// A part of the bar.
#[derive(Debug, Serialize)]
struct BarPart {
    tone: &'static str,
    from: usize,
    width: usize,
}

/// What became of a plan whose loop is over.
#[derive(Debug, Serialize)]
pub(super) struct PlanEnd {
    commits: Vec<EndLine>,
    left: Vec<EndLine>,
}

/// A task at the end of a loop.
#[derive(Debug, Serialize)]
struct EndLine {
    label: String,
    commit: Option<String>,
    added: Option<u64>,
    removed: Option<u64>,
    why: Option<String>,
}

const TONES: [(TaskCounts, &str, &str, &str); 5] = [
    (TaskCounts::Done, "done", "good", "✓"),
    (TaskCounts::Working, "working", "working", "●"),
    (TaskCounts::Waiting, "waiting for you", "waits", "?"),
    (TaskCounts::Stopped, "stopped", "bad", "✗"),
    (TaskCounts::Open, "open", "rest", "○"),
];

impl PlanHeader {
    pub(super) fn new(path: &str, seen: &PlanScreenSnapshot, runs: &[RunWithState], rows: &[PlanRow]) -> Self {
        let tasks: Vec<&TaskRow> = rows.iter().filter_map(PlanRow::task).collect();
        let count = |wanted: TaskCounts| tasks.iter().filter(|task| task.counts == wanted).count();
        let all = tasks.len() - count(TaskCounts::Aside);
        let lead = lead_of(runs);
        let lanes: Vec<&RunWithState> = lead.map(|lead| lanes_of(runs, lead)).unwrap_or_default();
        let state = deciding(&lanes).map(|run| &run.stands);
        let is_over = lanes.iter().all(|run| run.record.run.is_over());
        let cost: f64 = lanes.iter().filter_map(|run| seen.costs.get(&run.record.id)).sum();
        let current = tasks.iter().filter(|task| task.counts != TaskCounts::Aside);
        let current = current.clone().position(|task| matches!(task.counts, TaskCounts::Working | TaskCounts::Waiting));
        Self {
            path: ellipsize(path, TITLE),
            project: ellipsize(&seen.project.name, TITLE),
            state: state.map(|stands| stands.state.into()),
            reason: state.and_then(|stands| stands.reason.as_deref()).map(|reason| ellipsize(reason, TITLE)),
            run: lead.map(|lead| lead.record.id.to_string()),
            open: lead.map(|lead| run_address(&lead.record.id.to_string())),
            lanes: lanes.iter().filter(|run| run.stands.state.is_live()).count(),
            since: lead.map(|lead| lead.record.created_at),
            until: lanes.iter().filter_map(|run| run.record.ended_at).max().filter(|_| is_over),
            cost: (cost > 0.0).then(|| format!("${cost:.2}")),
            budget: lead.and_then(budget_of),
            steer: if lead.is_some_and(|lead| lead.stands.state.can_resume()) {
                Some("resume")
            } else {
                let goes_on = |run: &&RunWithState| matches!(run.stands.state, WorkState::Working | WorkState::Waiting);
                lanes.iter().any(goes_on).then_some("pause")
            },
            can_stop: lanes.iter().any(|run| run.stands.state.is_live()),
            can_review: lead.is_some_and(|lead| lead.stands.state == WorkState::Ready),
            counts: TONES
                .iter()
                .map(|(wanted, word, tone, glyph)| HeaderCount { count: count(*wanted), word, tone, glyph })
                .filter(|part| part.count > 0)
                .collect(),
            bar: bar(count),
            all,
            current: current.map(|index| index + 1),
            left: time_left(seen, count(TaskCounts::Open) + count(TaskCounts::Working), lanes.len())
                .filter(|_| lanes.iter().any(|run| run.stands.state == WorkState::Working)),
            end: lead.filter(|_| is_over).map(|_| end_of(&tasks)),
        }
    }
}

/// The latest run that is no lane of another.
fn lead_of(runs: &[RunWithState]) -> Option<&RunWithState> {
    runs.iter().find(|run| param(&run.record, "lead").is_none())
}

/// A run with those that joined it.
fn lanes_of<'r>(runs: &'r [RunWithState], lead: &'r RunWithState) -> Vec<&'r RunWithState> {
    let id = lead.record.id.to_string();
    let joined = |run: &&RunWithState| param(&run.record, "lead") == Some(&id);
    std::iter::once(lead).chain(runs.iter().filter(joined)).collect()
}

/// The run that says how a loop of several stands.
fn deciding<'r>(lanes: &[&'r RunWithState]) -> Option<&'r RunWithState> {
    let urgency = |run: &&&RunWithState| match run.stands.state {
        WorkState::Waiting => 0,
        WorkState::Working | WorkState::Queued => 1,
        WorkState::Paused => 2,
        WorkState::Stopped => 3,
        _ => 4,
    };
    lanes.iter().min_by_key(urgency).copied()
}

fn budget_of(lead: &RunWithState) -> Option<String> {
    let budget: BudgetLimit = param(&lead.record, "plan_budget")?.parse().ok()?;
    budget.cost_usd.map(|cost| format!("${cost:.0}"))
}

fn bar(count: impl Fn(TaskCounts) -> usize) -> Vec<BarPart> {
    let mut from = 0;
    let mut parts = Vec::new();
    for (wanted, _, tone, _) in TONES {
        let width = count(wanted);
        if width > 0 {
            parts.push(BarPart { tone, from, width });
        }
        from += width;
    }
    parts
}

/// How long the rest takes, by how long the middle half of the tasks took.
fn time_left(seen: &PlanScreenSnapshot, open: usize, lanes: usize) -> Option<(i64, i64)> {
    let done = seen.history.all().filter(|(_, attempt)| matches!(attempt.result, Some((true, _))));
    let mut took: Vec<i64> = done.filter_map(|(_, attempt)| Some(attempt.ended? - attempt.began)).collect();
    if took.len() < ENOUGH || open == 0 {
        return None;
    }
    took.sort_unstable();
    let open = i64::try_from(open).ok()?;
    let lanes = i64::try_from(lanes.max(1)).ok()?;
    let minutes = |each: i64| (each * open / lanes / 60_000).max(1);
    Some((minutes(took[took.len() / 4]), minutes(took[took.len() * 3 / 4]) + 1))
}

fn end_of(tasks: &[&TaskRow]) -> PlanEnd {
    let line = |task: &&&TaskRow| EndLine {
        label: task.label.clone(),
        commit: task.commit.clone(),
        added: task.added,
        removed: task.removed,
        why: task.note.clone(),
    };
    let is_left = |task: &&&TaskRow| !matches!(task.counts, TaskCounts::Done | TaskCounts::Aside);
    PlanEnd {
        commits: tasks.iter().filter(|task| task.commit.is_some()).map(|task| line(&task)).collect(),
        left: tasks.iter().filter(is_left).map(|task| line(&task)).collect(),
    }
}
