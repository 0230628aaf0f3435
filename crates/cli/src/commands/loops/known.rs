//! Loops of a project, what each of them works on, and their runs.

use std::path::Path;

use serde_json::Value as Json;

use super::bar::Progress;
use crate::client::runs;
use crate::client::{Client, with_query};
use crate::host::world::World;
use crate::output::error::CommandError;

/// A plan that is worked through, or a single task: by one run, or by several at once.
pub(crate) struct Loop {
    /// The run that began first.
    pub(crate) lead: Json,
    /// Those that joined it.
    pub(crate) lanes: Vec<Json>,
    /// What it was started with.
    params: Json,
}

impl Loop {
    /// The loops of this project, the oldest first.
    pub(crate) fn all(client: &Client, world: &World) -> Result<Vec<Self>, CommandError> {
        Self::all_in(client, &world.places.project)
    }

    /// The loop of a run whose id begins so. A run that joined another is meant alone.
    pub(crate) fn named(client: &Client, id: &str) -> Result<Self, CommandError> {
        let run = runs::named(client, id)?;
        let workspace = run["workspace"].as_str().unwrap_or_default().to_owned();
        let known = Self::all_in(client, Path::new(&workspace))?.into_iter().find(|one| one.lead["id"] == run["id"]);
        known.map_or_else(|| Self::alone(client, run), Ok)
    }

    fn all_in(client: &Client, project: &Path) -> Result<Vec<Self>, CommandError> {
        let mut all: Vec<Self> = Vec::new();
        for run in client.list("/api/runs")?.into_iter().filter(|run| is_loop_of(run, project)) {
            let one = Self::alone(client, run)?;
            // The list is in the order of time, and a run that joins starts later.
            match all.iter_mut().find(|known| known.lead["id"] == one.params["lead"]) {
                Some(known) => known.lanes.push(one.lead),
                None => all.push(one),
            }
        }
        Ok(all)
    }

    fn alone(client: &Client, run: Json) -> Result<Self, CommandError> {
        let first = with_query("/api/events", &[("runId", run["id"].as_str()), ("limit", Some("1"))]);
        let mut first: Vec<Json> = client.get(&first)?;
        let params = first.first_mut().map(|event| event["payload"]["params"].take()).unwrap_or_default();
        Ok(Self { lead: run, lanes: Vec::new(), params })
    }

    /// What it is called by.
    pub(crate) fn id(&self) -> &str {
        self.lead["id"].as_str().unwrap_or_default()
    }

    /// All of its runs, the first one first.
    pub(crate) fn runs(&self) -> impl Iterator<Item = &Json> {
        std::iter::once(&self.lead).chain(&self.lanes)
    }

    /// The ids of all its runs.
    pub(crate) fn ids(&self) -> Vec<String> {
        self.runs().filter_map(|run| run["id"].as_str().map(str::to_owned)).collect()
    }

    /// Whether something still happens in it.
    pub(crate) fn goes_on(&self) -> bool {
        !self.runs().all(runs::is_over)
    }

    /// The plan that it works through, where it has one.
    pub(super) fn plan(&self) -> Option<&str> {
        self.params["plan"].as_str().filter(|plan| !plan.is_empty())
    }

    /// The task that it does, where that is all.
    pub(super) fn task(&self) -> Option<&str> {
        self.params["only"].as_str().filter(|task| !task.is_empty())
    }

    /// What happened in all of its runs, oldest first.
    pub(super) fn events(&self, client: &Client) -> Result<Vec<Json>, CommandError> {
        let mut all = Vec::new();
        for run in self.ids() {
            all.append(&mut runs::events(client, &run)?);
        }
        all.sort_by_key(|event| event["seq"].as_i64());
        Ok(all)
    }

    /// How far it is.
    pub(super) fn progress(&self, client: &Client) -> Result<Progress, CommandError> {
        let mut progress = Progress::default();
        self.events(client)?.iter().for_each(|event| progress.heard(event));
        Ok(progress)
    }
}

/// Whether a run is a loop of this project, whatever its workflow is called.
fn is_loop_of(run: &Json, project: &Path) -> bool {
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let here = run["workspace"].as_str().is_some_and(|workspace| real(Path::new(workspace)) == real(project));
    here && run["driver"] == "server" && run["parentRun"].is_null()
}
