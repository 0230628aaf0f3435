//! Card of a run: the task it does now, the plan it works through, and the phases it has passed.

use maestro_core::excerpt::ellipsize;
use maestro_core::work_state::WorkState;
use maestro_core::workflow::run::CallFrame;
use serde::Serialize;
use serde_json::Value as Json;

use super::card::CardView;
use crate::api::RunWithState;
use crate::page::address;
use crate::page::badge::StateBadge;
use crate::page::cards::TITLE;
use crate::page::screens::ScreenId;
use crate::page::text::stop_reason;

/// The phases of a task of a plan.
const PHASES: [&str; 4] = ["implement", "check", "review", "commit"];

/// A phase of a task, and whether it is passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub(super) struct CardPhase {
    name: &'static str,
    tone: &'static str,
    glyph: &'static str,
}

fn text<'f>(values: &'f serde_json::Map<String, Json>, name: &str) -> Option<&'f str> {
    values.get(name).and_then(Json::as_str).filter(|text| !text.trim().is_empty())
}

/// The plan of a run: its path, and the address of its screen.
pub(super) fn plan_of(run: &RunWithState) -> Option<(String, String)> {
    let frame = run.record.run.frames.first()?;
    let plan = text(&frame.params, "plan")?;
    let project = run.record.about.project.as_ref()?;
    Some((plan.to_owned(), plan_address(&project.to_string(), plan)))
}

/// The address of a run: its screen, or what happened in it where runs have none.
pub(in crate::page) fn run_address(run: &str) -> String {
    let has_screen = ScreenId::ROUTES.iter().any(|route| route.starts_with("/runs/"));
    if has_screen { format!("/runs/{run}") } else { format!("/activity?run={run}") }
}

/// The address of a plan's screen.
pub(in crate::page) fn plan_address(project: &str, plan: &str) -> String {
    let path: Vec<String> = plan.split('/').filter(|part| !part.is_empty()).map(address::encode).collect();
    format!("/work/{}/plan/{}", address::encode(project), path.join("/"))
}

/// The task that a run does, in a line: the one it was started for, or the one of its plan that it is at.
pub(in crate::page) fn task_of(run: &RunWithState) -> Option<&str> {
    let frame = run.record.run.frames.first()?;
    let picked = || {
        let task = frame.variables.get("task")?;
        let done = task.get("done").and_then(Json::as_bool).unwrap_or(true);
        task.get("label").and_then(Json::as_str).filter(|label| !done && !label.is_empty())
    };
    text(&frame.params, "only").or_else(picked)
}

/// The phases of the task that a run is at, and the round.
pub(super) fn phases(run: &RunWithState) -> (Vec<CardPhase>, Option<u32>) {
    let Some(frame) = run.record.run.frame().filter(|frame| frame.workflow == "plan-task") else {
        return (Vec::new(), None);
    };
    let Some(now) = frame.position.as_ref().and_then(|position| phase_of(position.step.as_str())) else {
        return (Vec::new(), None);
    };
    let mark = |(index, name): (usize, &&'static str)| {
        let (tone, glyph) = match index.cmp(&now) {
            // That an agent finished is its own word.
            std::cmp::Ordering::Less if index == 0 => ("plain", "✓"),
            std::cmp::Ordering::Less => ("good", "✓"),
            std::cmp::Ordering::Equal => ("working", "●"),
            std::cmp::Ordering::Greater => ("rest", "○"),
        };
        CardPhase { name, tone, glyph }
    };
    let round = rounds(frame).filter(|round| *round > 1);
    (PHASES.iter().enumerate().map(mark).collect(), round)
}

fn rounds(frame: &CallFrame) -> Option<u32> {
    frame.visits.iter().find(|(step, _)| step.as_str() == "implement").map(|(_, visits)| *visits)
}

/// The phase of a step of the built-in workflow for a task.
fn phase_of(step: &str) -> Option<usize> {
    match step {
        "begin" | "who-chooses" | "choose" | "implement" | "who-decides" => Some(0),
        "verify" | "gate" | "any-change" | "note-change" | "note-unchanged" => Some(1),
        "look" | "explained" | "feed" => Some(2),
        "shared" | "catch-up" | "land" | "tick" | "commit" | "tick-after" | "ticked" => Some(3),
        _ => None,
    }
}

/// What a run is known by, and its plan.
pub(in crate::page) fn run_title(run: &RunWithState) -> (String, Option<String>) {
    let plan = plan_of(run).map(|(plan, _)| plan);
    let task = task_of(run).filter(|_| run.stands.state.is_live() || plan.is_none());
    (task.or(plan.as_deref()).unwrap_or(&run.record.about.workflow).to_owned(), plan)
}

/// The card of a run that belongs to no stored task.
pub(super) fn card_of_run(run: &RunWithState, project: Option<String>) -> CardView {
    let record = &run.record;
    let state = run.stands.state;
    let plan = plan_of(run).map(|(plan, _)| plan);
    // A plan that is done is known by its name, and not by its last task.
    let is_open = state.is_live() || state == WorkState::Stopped;
    let task = task_of(run).filter(|_| is_open || plan.is_none());
    let title = task.or(plan.as_deref()).unwrap_or(&record.about.workflow);
    let says_itself = matches!(state, WorkState::Queued | WorkState::Working | WorkState::Waiting | WorkState::Ready);
    let (phases, round) = if state == WorkState::Working { phases(run) } else { Default::default() };
    let origin = match (&plan, task) {
        (Some(plan), Some(_)) => Some(plan.clone()),
        (None, Some(_)) => Some("maestro do".to_owned()),
        (Some(_), None) => Some("plan".to_owned()),
        (None, None) => Some("workflow".to_owned()),
    };
    CardView {
        id: format!("card-run-{}", record.id),
        task: None,
        title: ellipsize(title, TITLE),
        href: Some(run_address(&record.id.to_string())),
        project,
        priority: "medium",
        origin: origin.map(|origin| ellipsize(&origin, TITLE)),
        state: (!says_itself).then(|| StateBadge::from(state)),
        reason: run.stands.reason.as_deref().map(stop_reason).map(|reason| ellipsize(&reason, TITLE)),
        subtasks: None,
        agents: Vec::new(),
        phases,
        round,
        since: if state.is_live() { record.created_at } else { record.ended_at.unwrap_or(record.updated_at) },
        runs: state == WorkState::Working,
    }
}
