//! Loops of a project, what each of them works on, and their runs.

use std::path::Path;

use maestro_api::events::{self, EventBody, EventQuery};
use maestro_api::runs::{self as runs_api, RunQuery, RunSummary};
use maestro_core::Event;
use maestro_core::workflow::run::{RunDriver, RunEvent};

use super::progress_bar::{LoopParams, LoopProgress};
use crate::client::CliClient;
use crate::client::runs;
use crate::host::world::World;
use crate::output::command_output::CommandResult;

/// A plan that is worked through, or a single task: by one run, or by several at once.
pub(crate) struct PlanLoop {
    /// The run that began first.
    pub(crate) lead: RunSummary,
    /// Those that joined it.
    pub(crate) lanes: Vec<RunSummary>,
    /// What it was started with.
    params: LoopParams,
}

impl PlanLoop {
    /// The loops of this project, the oldest first.
    pub(crate) fn all(client: &CliClient, world: &World) -> CommandResult<Vec<Self>> {
        Self::all_in(client, &world.places.project)
    }

    /// The loop of a run whose id begins so. A run that joined another is meant alone.
    pub(crate) fn find(client: &CliClient, id: &str) -> CommandResult<Self> {
        let run = runs::find_run(client, id)?;
        let known = Self::all_in(client, Path::new(&run.workspace))?.into_iter().find(|one| one.lead.id == run.id);
        known.map_or_else(|| Self::single(client, run), Ok)
    }

    fn all_in(client: &CliClient, project: &Path) -> CommandResult<Vec<Self>> {
        let mut all: Vec<Self> = Vec::new();
        let runs = client.list(runs_api::list(&RunQuery::default()))?;
        for run in runs.into_iter().filter(|run| is_loop_of(run, project)) {
            let one = Self::single(client, run)?;
            // The list is in the order of time, and a run that joins starts later.
            match all.iter_mut().find(|known| Some(&known.lead.id) == one.params.lead.as_ref()) {
                Some(known) => known.lanes.push(one.lead),
                None => all.push(one),
            }
        }
        Ok(all)
    }

    fn single(client: &CliClient, run: RunSummary) -> CommandResult<Self> {
        let query = EventQuery { run_id: Some(run.id.clone()), limit: Some(1), ..EventQuery::default() };
        let first = client.call(events::list(&query))?;
        let params = match first.first().and_then(EventBody::event) {
            Some(Event::Run(RunEvent::Began { params, .. })) => LoopParams::of(&params),
            _ => LoopParams::default(),
        };
        Ok(Self { lead: run, lanes: Vec::new(), params })
    }

    /// What it is called by.
    pub(crate) fn id(&self) -> &str {
        &self.lead.id
    }

    /// All of its runs, the first one first.
    pub(crate) fn runs(&self) -> impl Iterator<Item = &RunSummary> {
        std::iter::once(&self.lead).chain(&self.lanes)
    }

    /// The ids of all its runs.
    pub(crate) fn ids(&self) -> Vec<String> {
        self.runs().map(|run| run.id.clone()).collect()
    }

    /// Whether something still happens in it.
    pub(crate) fn is_active(&self) -> bool {
        !self.runs().all(|run| run.status.is_over())
    }

    /// The plan that it works through, where it has one.
    pub(super) fn plan(&self) -> Option<&str> {
        Some(self.params.plan.as_str()).filter(|plan| !plan.is_empty())
    }

    /// The task that it does, where that is all.
    pub(super) fn task(&self) -> Option<&str> {
        Some(self.params.only.as_str()).filter(|task| !task.is_empty())
    }

    /// What happened in all of its runs, oldest first.
    pub(super) fn events(&self, client: &CliClient) -> CommandResult<Vec<EventBody>> {
        let mut all = Vec::new();
        for run in self.ids() {
            all.append(&mut runs::events(client, &run)?);
        }
        all.sort_by_key(|event| event.seq);
        Ok(all)
    }

    /// How far it is.
    pub(super) fn progress(&self, client: &CliClient) -> CommandResult<LoopProgress> {
        let mut progress = LoopProgress::default();
        for event in self.events(client)?.iter().filter_map(EventBody::event) {
            if let Event::Run(event) = event {
                progress.apply(&event);
            }
        }
        Ok(progress)
    }
}

/// Whether a run is a loop of this project, whatever its workflow is called.
fn is_loop_of(run: &RunSummary, project: &Path) -> bool {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let is_lead = run.driver == RunDriver::Server && run.parent_run.is_none();
    is_lead && real(Path::new(&run.workspace)) == real(project)
}
