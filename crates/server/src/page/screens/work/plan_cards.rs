//! Cards of the open boxes of plans that runs worked at, and the plans of projects.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use maestro_core::excerpt::ellipsize;
use maestro_core::id::ProjectId;
use maestro_core::plan::parse_plan;
use maestro_core::{Project, WorkState};
use maestro_engine::plan_files::{find_plans, read_plan};

use super::card::CardView;
use super::run_card::{plan_address, plan_of, task_of};
use crate::api::RunWithState;
use crate::page::cards::TITLE;

/// In how many projects plans are looked for.
const PROJECTS: usize = 20;
/// How many plans are read for their boxes.
const PLANS: usize = 20;

/// A plan that runs worked at, and where the latest of them has it.
struct WorkedPlan {
    run: String,
    project: ProjectId,
    path: String,
    places: Vec<PathBuf>,
    since: i64,
    /// The tasks that runs are at; they have cards of their own.
    at: Vec<String>,
}

/// The open boxes of the plans that runs worked at, in the order of each plan.
pub(super) async fn plan_cards(
    runs: &[RunWithState],
    projects: &[Project],
    names: &BTreeMap<ProjectId, String>,
) -> Vec<CardView> {
    let plans = worked_plans(runs, projects);
    let names = names.clone();
    let read = tokio::task::spawn_blocking(move || plans.iter().flat_map(|plan| plan.cards(&names)).collect());
    read.await.unwrap_or_default()
}

/// Each plan once, however many runs share it.
fn worked_plans(runs: &[RunWithState], projects: &[Project]) -> Vec<WorkedPlan> {
    let mut plans: Vec<WorkedPlan> = Vec::new();
    for run in runs.iter().filter(|run| run.stands.state != WorkState::Discarded) {
        let (Some((path, _)), Some(project)) = (plan_of(run), run.record.about.project.clone()) else { continue };
        let has_card = run.stands.state.is_live() || run.stands.state == WorkState::Stopped;
        let at = task_of(run).filter(|_| has_card).map(str::to_owned);
        if let Some(known) = plans.iter_mut().find(|plan| plan.path == path && plan.project == project) {
            known.at.extend(at);
            continue;
        }
        let own = projects.iter().find(|known| known.id == project).map(|known| PathBuf::from(&known.working_dir));
        plans.push(WorkedPlan {
            run: run.record.id.to_string(),
            places: copy_of(run).into_iter().chain(own).collect(),
            since: run.record.created_at,
            at: at.into_iter().collect(),
            project,
            path,
        });
    }
    plans.truncate(PLANS);
    plans
}

/// Where a run has its copy of the plan.
fn copy_of(run: &RunWithState) -> Option<PathBuf> {
    let place = run.record.run.frames.first()?.variables.get("plan_place")?.as_str()?;
    Some(PathBuf::from(place)).filter(|place| place.is_absolute())
}

impl WorkedPlan {
    fn cards(&self, names: &BTreeMap<ProjectId, String>) -> Vec<CardView> {
        let Some(read) = self.places.iter().find_map(|place| read_plan(place, &self.path).ok()) else {
            return Vec::new();
        };
        let address = plan_address(&self.project.to_string(), &self.path);
        let project = names.get(&self.project).filter(|_| names.len() > 1).map(|name| ellipsize(name, TITLE));
        let tasks = parse_plan(&read.text).tasks;
        let open = tasks.iter().filter(|task| task.is_pending() && !self.at.contains(&task.label));
        open.map(|task| CardView {
            id: format!("card-plan-{}-{}", self.run, task.line_number),
            task: None,
            title: ellipsize(&task.label, TITLE),
            href: Some(format!("{address}?task={}", task.line_number)),
            project: project.clone(),
            priority: "medium",
            origin: Some(ellipsize(&self.path, TITLE)),
            state: None,
            reason: None,
            subtasks: None,
            agents: Vec::new(),
            phases: Vec::new(),
            round: None,
            since: self.since,
            runs: false,
        })
        .collect()
    }
}

/// The plans of projects in the usual places, each with its project.
pub(super) async fn plans_in(projects: &[Project], only: Option<&ProjectId>) -> Vec<(ProjectId, String)> {
    let wanted = projects.iter().filter(|project| only.is_none_or(|only| project.id == *only)).take(PROJECTS);
    let places: Vec<(ProjectId, String)> =
        wanted.map(|project| (project.id.clone(), project.working_dir.clone())).collect();
    let find = move || {
        let of = |(project, directory): &(ProjectId, String)| {
            let directory = Path::new(directory);
            let found = if directory.is_absolute() { find_plans(directory) } else { Vec::new() };
            found.into_iter().map(|path| (project.clone(), path)).collect::<Vec<_>>()
        };
        places.iter().flat_map(of).collect()
    };
    tokio::task::spawn_blocking(find).await.unwrap_or_default()
}
