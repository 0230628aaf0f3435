//! Contents of a plan's screen, as of one moment: its runs, their history, and what they cost.

use std::collections::BTreeMap;

use maestro_core::id::ProjectId;
use maestro_core::{Project, RunId};
use maestro_store::{
    DbTx, ProjectById, Query, RecentRuns, RunLog, RunRecord, SkillDeliveries, SkillDelivery, StepSessionEnds,
    StoreError,
};
use serde_json::Value as Json;

use super::progress::PlanHistory;

/// How many runs of a project are looked through, and for how long ended ones count.
const RUNS: i64 = 300;
const RECENT: i64 = 90 * 24 * 60 * 60 * 1000;
/// How many runs of the plan are read.
const MOST_RUNS: usize = 12;
/// How many events of a run are read at once.
const EVENTS: i64 = 5000;

/// The query of the screen.
#[derive(Debug, Clone)]
pub(super) struct PlanScreenQuery {
    pub(super) project: ProjectId,
    pub(super) path: String,
    pub(super) at: i64,
    /// What was read before.
    pub(super) history: PlanHistory,
}

/// The contents.
#[derive(Debug)]
pub(super) struct PlanScreenSnapshot {
    pub(super) project: Project,
    /// The runs of the plan, the latest first.
    pub(super) runs: Vec<RunRecord>,
    pub(super) history: PlanHistory,
    /// What the sessions of each run cost, as far as it was reported.
    pub(super) costs: BTreeMap<RunId, f64>,
    /// The skills of each task, by the line it was at.
    pub(super) skills: BTreeMap<String, Vec<SkillDelivery>>,
}

/// The text of a parameter that a run was started with.
pub(super) fn param<'r>(run: &'r RunRecord, name: &str) -> Option<&'r str> {
    run.run.frames.first()?.params.get(name).and_then(Json::as_str).filter(|text| !text.is_empty())
}

impl Query for PlanScreenQuery {
    type Output = PlanScreenSnapshot;

    fn load(&self, db: &mut DbTx<'_>) -> Result<PlanScreenSnapshot, StoreError> {
        let project = ProjectById(self.project.clone()).load(db)?;
        let recent =
            RecentRuns { project: Some(self.project.clone()), workflow: None, since: self.at - RECENT, limit: RUNS };
        let mut runs = recent.load(db)?;
        runs.retain(|run| param(run, "plan") == Some(&self.path));
        runs.truncate(MOST_RUNS);
        let mut history = self.history.clone();
        let (mut costs, mut skills) = (BTreeMap::new(), BTreeMap::new());
        for run in runs.iter().rev() {
            read_events(run.id, &mut history, db)?;
            let ends = StepSessionEnds(run.id).load(db)?;
            let cost =
                ends.iter().filter_map(|end| end.outcome.as_ref()?.work.as_ref()).map(|work| work.spent.cost_usd);
            costs.insert(run.id, cost.sum());
            for end in &ends {
                let (Some(session), Some(task)) = (end.session.clone(), task_of(end)) else { continue };
                let given: &mut Vec<SkillDelivery> = skills.entry(task).or_default();
                given.extend(SkillDeliveries(session).load(db)?);
            }
        }
        Ok(PlanScreenSnapshot { project, runs, history, costs, skills })
    }
}

/// The task that a step session worked on.
fn task_of(end: &maestro_core::step_session::StepSessionEnd) -> Option<String> {
    let metadata = serde_json::to_value(&end.metadata).ok()?;
    let task = metadata.get("task").and_then(|task| task.as_str().or_else(|| task.get("label")?.as_str()))?;
    Some(maestro_core::excerpt::one_line(task))
}

fn read_events(run: RunId, history: &mut PlanHistory, db: &mut DbTx<'_>) -> Result<(), StoreError> {
    loop {
        let events = RunLog { id: run, after: history.seen(run), limit: EVENTS }.load(db)?;
        for event in &events {
            history.apply(run, event);
        }
        if i64::try_from(events.len()).unwrap_or(0) < EVENTS {
            return Ok(());
        }
    }
}
