//! Runs as screens show them: what they are about, how they stand, how far they are, and what they cost.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use maestro_api::runs::RunSummary;
use maestro_core::agent::BudgetLimit;
use maestro_core::excerpt::ellipsize;
use maestro_core::plan::{PlanTaskStatus, parse_plan};
use maestro_core::workflow::StepPhase;
use maestro_core::workflow::definition::Workflow;
use maestro_core::workflow::run::{CallFrame, Run, RunDefinition};
use maestro_store::RunRecord;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

use super::cards::TITLE;
use crate::api::RunSurroundings;
use crate::app::AppState;
use crate::error::ApiError;

/// The largest plan that is read for a bar.
const LARGEST_PLAN: u64 = 1024 * 1024;

/// A run with what a screen needs to show it in a line.
#[derive(Debug)]
pub(super) struct RunOverview {
    pub(super) record: RunRecord,
    /// How it stands.
    pub(super) summary: RunSummary,
    definition: Option<Arc<RunDefinition>>,
    params: RunParams,
    /// How far its plan is.
    pub(super) plan: Option<PlanPosition>,
}

/// What a run was started with, as far as it says what it is for.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct RunParams {
    plan: String,
    only: String,
    task: String,
    agent: String,
    task_budget: String,
    plan_budget: String,
    reviewer: String,
    model: String,
    reviewer_model: String,
    permission: String,
    continues: String,
    lead: String,
    shared: bool,
    checks: bool,
}

/// A task of a plan, as a run keeps it.
#[derive(Debug, Deserialize)]
struct OpenTask {
    #[serde(default)]
    label: String,
    #[serde(default = "closed")]
    done: bool,
}

const fn closed() -> bool {
    true
}

/// How far a plan is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct PlanPosition {
    pub(super) path: String,
    /// Its first heading.
    heading: Option<String>,
    pub(super) done: usize,
    pub(super) all: usize,
}

/// A phase in the strip of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(super) struct PhaseMark {
    name: &'static str,
    tone: &'static str,
    glyph: &'static str,
    word: &'static str,
}

impl PhaseMark {
    pub(super) fn name(self) -> &'static str {
        self.name
    }
}

/// Reads how runs stand.
pub(super) async fn read_runs(app: &AppState, records: Vec<RunRecord>) -> Result<Vec<RunOverview>, ApiError> {
    let mut around = RunSurroundings::load(app).await?;
    around.add_questions(app, &records).await;
    let mut runs = Vec::new();
    for record in records {
        let refused = app.drivers.not_allowed(record.id);
        let summary = around.summary(record.clone(), refused.as_deref());
        // A run whose definition cannot be read is shown without its steps.
        let view = app.runs.get(record.id, (app.clock)()).await;
        let params = started_with(&record.run);
        let plan = plan_position(&params, &record.run, &summary.workspace).await;
        runs.push(RunOverview { definition: view.ok().map(|view| view.definition), record, summary, params, plan });
    }
    Ok(runs)
}

fn params_of(params: &Map<String, Json>) -> RunParams {
    RunParams::deserialize(Json::Object(params.clone())).unwrap_or_default()
}

fn started_with(run: &Run) -> RunParams {
    run.frames.first().map(|frame| params_of(&frame.params)).unwrap_or_default()
}

/// Reads the plan of a run where it works on it, and in its project once that place is gone.
async fn plan_position(params: &RunParams, run: &Run, workspace: &str) -> Option<PlanPosition> {
    let path = Some(params.plan.clone()).filter(|plan| !plan.is_empty())?;
    let variables = &run.frames.first()?.variables;
    let place = variables.get("plan_place").and_then(Json::as_str).unwrap_or_default();
    let places = [Path::new(workspace).join(place), PathBuf::from(workspace)];
    let file = path.clone();
    let read_at = move |place: &PathBuf| {
        let file = place.join(&file);
        let size = std::fs::metadata(&file).ok()?.len();
        if size > LARGEST_PLAN { None } else { std::fs::read_to_string(&file).ok() }
    };
    let read = tokio::task::spawn_blocking(move || places.iter().find_map(read_at));
    let text = read.await.ok()??;
    let heading = text.lines().find_map(|line| line.strip_prefix("# ")).map(|words| words.trim().to_owned());
    let tasks = parse_plan(&text).tasks;
    let is_done = |status| matches!(status, PlanTaskStatus::Done | PlanTaskStatus::Reviewed);
    let done = tasks.iter().filter(|task| is_done(task.status)).count();
    // What is set aside counts neither here nor on the plan's own screen.
    let all = tasks.iter().filter(|task| is_done(task.status) || task.is_pending()).count();
    Some(PlanPosition { path, heading: heading.filter(|words| !words.is_empty()), done, all })
}

impl RunOverview {
    /// What it works on: the task in words, otherwise the plan or the workflow.
    pub(super) fn title(&self) -> String {
        let called = self.record.run.frames.iter().rev().map(|frame| params_of(&frame.params).task);
        let words = called.chain([self.params.only.clone(), self.open_task(), self.plan_name()]);
        let title = words.into_iter().find(|words| !words.trim().is_empty());
        ellipsize(title.as_deref().unwrap_or(&self.record.about.workflow), TITLE)
    }

    /// The task of its plan that it is at, or stopped at.
    fn open_task(&self) -> String {
        let task = self.record.run.frames.first().and_then(|frame| frame.variables.get("task"));
        let task = task.and_then(|task| OpenTask::deserialize(task).ok()).filter(|task| !task.done);
        task.map(|task| task.label).unwrap_or_default()
    }

    /// The plan by its heading and its path.
    fn plan_name(&self) -> String {
        match self.plan.as_ref().and_then(|plan| plan.heading.as_deref()) {
            Some(heading) => format!("{heading} ({})", self.params.plan),
            None => self.params.plan.clone(),
        }
    }

    /// The agent it was started with.
    pub(super) fn agent(&self) -> Option<&str> {
        Some(self.params.agent.as_str()).filter(|agent| !agent.is_empty())
    }

    /// What it may cost.
    pub(super) fn cost_limit(&self) -> Option<f64> {
        let limit = |text: &str| text.parse::<BudgetLimit>().ok()?.cost_usd;
        let plan = (!self.params.plan.is_empty()).then(|| limit(&self.params.plan_budget)).flatten();
        plan.or_else(|| limit(&self.params.task_budget))
    }

    /// How many checks passed the last time they were executed.
    pub(super) fn passed_checks(&self) -> usize {
        self.record.run.checks.values().filter(|outcome| outcome.as_str() == "ok").count()
    }

    /// The frame whose steps have phases, and its workflow.
    fn phased(&self) -> Option<(&CallFrame, &Workflow)> {
        let definition = self.definition.as_deref()?;
        let of = |frame: &CallFrame| definition.workflow(&frame.workflow);
        let known = |workflow: &Workflow| {
            workflow.steps.iter().any(|step| step.phase.as_ref().is_some_and(|phase| *phase == StepPhase::Implement))
        };
        self.record
            .run
            .frames
            .iter()
            .rev()
            .filter_map(|frame| Some((frame, of(frame)?)))
            .find(|(_, workflow)| known(workflow))
    }

    /// Its phases, where it has the usual ones, each with how far it is.
    pub(super) fn strip(&self) -> Vec<PhaseMark> {
        let Some((frame, workflow)) = self.phased() else { return Vec::new() };
        let at = frame.position.as_ref().and_then(|position| phase_at(workflow, position.step.as_str()));
        let now = at.and_then(|phase| StepPhase::KNOWN.iter().position(|known| known == phase));
        let mark = |(index, phase): (usize, &StepPhase)| {
            let mut steps = workflow.steps.iter().filter(|step| step.phase.as_ref() == Some(phase)).peekable();
            steps.peek()?;
            let visited = steps.any(|step| frame.visits.get(&step.id).is_some_and(|visits| *visits > 0));
            Some(phase_mark(phase, index, now, visited))
        };
        StepPhase::KNOWN.iter().enumerate().filter_map(mark).collect()
    }

    /// Which time it goes through its phases, from the second on.
    pub(super) fn round(&self) -> Option<u32> {
        self.rounds().map(|(round, _)| round).filter(|round| *round > 1)
    }

    /// Which time it goes through its phases, and how often it may.
    pub(super) fn rounds(&self) -> Option<(u32, Option<u32>)> {
        let (frame, workflow) = self.phased()?;
        let working = workflow.steps.iter().filter(|step| step.phase.as_ref() == Some(&StepPhase::Implement));
        let visited = working.map(|step| (frame.visits.get(&step.id).copied().unwrap_or(0), step.max_visits));
        let sent_back = frame.rounds.values().map(|rounds| rounds.done + 1).max().unwrap_or(1);
        visited.max().map(|(visits, most)| (visits.max(sent_back), most))
    }

    /// The phase it is in, where it has the usual ones.
    pub(super) fn phase(&self) -> Option<&'static str> {
        self.strip().into_iter().find(|mark| mark.tone == "working").map(|mark| mark.name)
    }

    /// Its definition, if that can be read.
    pub(super) fn definition(&self) -> Option<&RunDefinition> {
        self.definition.as_deref()
    }

    /// The plan that it works through, and the line of the task that it is at.
    pub(super) fn plan_place(&self) -> Option<(&str, Option<u64>)> {
        let plan = Some(self.params.plan.as_str()).filter(|plan| !plan.is_empty())?;
        let line = self.record.run.frames.iter().rev().find_map(|frame| frame.params.get("line"));
        let line = line.and_then(|line| line.as_u64().or_else(|| line.as_str()?.parse().ok()));
        Some((plan, line.filter(|line| *line > 0)))
    }

    /// The run whose branch it works on: its own, that of the run it continues, or that of the first of several.
    pub(super) fn branch_owner(&self) -> String {
        let others = [&self.params.continues, &self.params.lead];
        others.into_iter().find(|run| !run.is_empty()).cloned().unwrap_or_else(|| self.record.id.to_string())
    }

    /// Whether several runs work on one branch.
    pub(super) fn is_shared(&self) -> bool {
        self.params.shared || !self.params.lead.is_empty()
    }

    /// Whether it runs the project's checks before it commits.
    pub(super) fn runs_checks(&self) -> bool {
        self.params.checks
    }

    /// The agent that reviews, and what agents may do, as it was started.
    pub(super) fn review_params(&self) -> (&str, &str) {
        (&self.params.reviewer, &self.params.permission)
    }

    /// The models of the agent that does the work and of the one that reviews it, where they were named.
    pub(super) fn models(&self) -> (&str, &str) {
        (&self.params.model, &self.params.reviewer_model)
    }

    /// What a task of it may use up.
    pub(super) fn task_budget(&self) -> Option<BudgetLimit> {
        self.params.task_budget.parse().ok().filter(|limit: &BudgetLimit| !limit.is_unlimited())
    }

    /// The title of the step it is at.
    pub(super) fn step_title(&self) -> Option<String> {
        let (_, _, _, step) = self.record.run.current(self.definition.as_deref()?)?;
        Some(ellipsize(&step.title, TITLE))
    }
}

/// The phase of a step, or of the nearest one before it.
fn phase_at<'w>(workflow: &'w Workflow, step: &str) -> Option<&'w StepPhase> {
    let at = workflow.steps.iter().position(|known| known.id.as_str() == step)?;
    workflow.steps[..=at].iter().rev().find_map(|step| step.phase.as_ref())
}

fn phase_mark(phase: &StepPhase, index: usize, now: Option<usize>, visited: bool) -> PhaseMark {
    let name = match phase {
        StepPhase::Implement => "implement",
        StepPhase::Check => "check",
        StepPhase::Review => "review",
        StepPhase::Commit | StepPhase::Label(_) => "commit",
    };
    let (tone, glyph, word) = match now {
        Some(now) if now == index => ("working", "●", "now"),
        // That it did the task is the agent's word.
        Some(now) if index < now && visited && *phase == StepPhase::Implement => ("plain", "✓", "reported done"),
        Some(now) if index < now && visited => ("good", "✓", "passed"),
        Some(now) if index < now => ("rest", "–", "skipped"),
        _ => ("rest", "○", "to come"),
    };
    PhaseMark { name, tone, glyph, word }
}
