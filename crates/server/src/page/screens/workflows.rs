//! Screen of all workflows: a list, and one with its graph, steps, runs and start.

mod detail;
pub(in crate::page) mod forms;
mod history;
mod list;
mod param_field;
mod step;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use axum::http::Uri;
use maestro_core::id::ProjectId;
use maestro_core::workflow::StepId;
use maestro_engine::{Freshness, host};
use maestro_skills::Catalogue;
use maestro_store::{RecentRuns, RunRecord};
use serde::Deserialize;
use serde_json::{Value as Json, json};

use self::detail::{WorkflowDetail, read_workflows};
use self::history::{RunLine, visit_lines};
use self::list::WorkflowLine;
use self::step::StepForm;
use super::skills::directory;
use super::work::installed_agents;
use crate::api::with_states;
use crate::app::AppState;
use crate::error::ApiError;
use crate::page::address::encode;
use crate::page::fragments::{ScreenPage, ScreenRenderer};
use crate::page::shell::RailEntry;

/// How many runs are shown, and of how many the list counts.
const RUNS: i64 = 20;
const COUNTED: i64 = 500;
/// What counts as this week, in milliseconds.
const WEEK: i64 = 7 * 24 * 60 * 60 * 1000;

/// All workflows of a project or of where the server was started, and the one that is open.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub(in crate::page) struct WorkflowsAddress {
    pub(super) project: Option<ProjectId>,
    name: Option<String>,
    /// The step that is selected.
    step: Option<String>,
    /// How its directive is shown.
    form: StepForm,
    /// Whether the form that starts it is open.
    starts: bool,
}

#[derive(Deserialize)]
struct WorkflowsAddressQuery {
    project: Option<String>,
    step: Option<String>,
    #[serde(rename = "as")]
    form: Option<String>,
    start: Option<String>,
}

/// What was found on disk; it is read again when the skills have changed.
struct WorkflowsReading {
    catalogue: Arc<Catalogue>,
    lines: Vec<WorkflowLine>,
    detail: Option<WorkflowDetail>,
}

impl WorkflowsAddress {
    pub(super) fn parse(name: &[&str], uri: &Uri) -> Result<Self, ApiError> {
        let query: WorkflowsAddressQuery = super::query(uri)?;
        let filled = |text: Option<String>| text.filter(|text| !text.trim().is_empty());
        Ok(Self {
            project: crate::extract::parse_word("project", filled(query.project).as_deref())?,
            name: (!name.is_empty()).then(|| name.join("/")),
            step: filled(query.step),
            form: crate::extract::parse_word("as", filled(query.form).as_deref())?.unwrap_or_default(),
            starts: query.start.is_some(),
        })
    }

    pub(super) fn address(&self) -> String {
        let parts = self.name.iter().flat_map(|name| name.split('/')).map(encode);
        let path = ["/workflows".to_owned()].into_iter().chain(parts).collect::<Vec<_>>().join("/");
        let form = (self.form != StepForm::default()).then(|| ("as", self.form.as_str().to_owned()));
        let pairs = [
            self.project.as_ref().map(|project| ("project", project.to_string())),
            self.step.clone().map(|step| ("step", step)),
            form,
            self.starts.then(|| ("start", "yes".to_owned())),
        ];
        let pairs: Vec<String> =
            pairs.into_iter().flatten().map(|(name, value)| format!("{name}={}", encode(&value))).collect();
        if pairs.is_empty() { path } else { format!("{path}?{}", pairs.join("&")) }
    }

    /// The same for another workflow.
    fn with_name(&self, name: &str) -> Self {
        Self { project: self.project.clone(), name: Some(name.to_owned()), ..Self::default() }
    }

    /// The same with a step of its workflow selected.
    fn with_step(&self, step: &StepId) -> Self {
        Self { step: Some(step.to_string()), starts: false, ..self.clone() }
    }

    pub(super) async fn render(&self, app: &AppState, screen: &mut ScreenRenderer<'_>) -> Result<ScreenPage, ApiError> {
        let directory = directory(app, self.project.clone()).await?;
        let (reading, problem) = self.reading(app, screen, directory.as_deref()).await?;
        let since = screen.now() - WEEK;
        let name = reading.as_ref().and_then(|reading| reading.detail.as_ref()).map(|detail| detail.name.clone());
        let recent = RecentRuns { project: self.project.clone(), workflow: None, since, limit: COUNTED };
        let recent = app.store.read(recent).await?;
        let rows = reading.as_ref().map(|reading| list_rows(&reading.lines, &recent, name.as_deref()));
        screen.part("workflow-list", "workflows/list.html", json!({ "rows": rows.unwrap_or_default() }))?;
        let detail = reading.as_ref().and_then(|reading| reading.detail.as_ref());
        if let Some(detail) = detail {
            self.render_detail(app, detail, screen).await?;
        }
        let missing = self.name.as_ref().filter(|_| detail.is_none());
        let start = match detail {
            Some(detail) if self.starts => Some(self.start_form(app, detail, directory).await?),
            _ => None,
        };
        let data = json!({
            "opened": name, "missing": missing, "problem": problem, "detail": detail, "start": start,
            "here": Self { starts: false, step: None, form: StepForm::default(), ..self.clone() }.address(),
            "starts": Self { starts: true, step: None, ..self.clone() }.address(),
            "list": Self { project: self.project.clone(), ..Self::default() }.address(),
        });
        if let Some(reading) = reading {
            screen.keep(reading);
        }
        Ok(ScreenPage {
            template: "workflows/workflows.html",
            title: Some(self.name.clone().unwrap_or_else(|| "Workflows".to_owned())),
            rail: Some(RailEntry::Workflows),
            styles: &["text.css", "workflows.css"],
            scripts: &["workflows.js"],
            keys: &[("+ -", "zoom the graph"), ("0", "the whole graph")],
            live: true,
            data,
        })
    }

    async fn reading(
        &self,
        app: &AppState,
        screen: &ScreenRenderer<'_>,
        directory: Option<&Path>,
    ) -> Result<(Option<Arc<WorkflowsReading>>, Option<String>), ApiError> {
        let place = directory.map(Path::to_owned);
        let found = match host::ask(&app.host, move |host| host.skills(place.as_deref(), Freshness::Kept)).await {
            Ok(found) => found,
            Err(error) => return Ok((None, Some(error.to_string()))),
        };
        if let Some(kept) = screen.kept::<Arc<WorkflowsReading>>()
            && Arc::ptr_eq(&kept.catalogue, &found.catalogue)
        {
            return Ok((Some(Arc::clone(kept)), None));
        }
        let (address, place) = (self.clone(), directory.map(Path::to_owned).unwrap_or_default());
        let read = move || {
            let (lines, detail) = read_workflows(&address, &found.catalogue, &place);
            WorkflowsReading { lines, detail, catalogue: Arc::clone(&found.catalogue) }
        };
        let read = tokio::task::spawn_blocking(read).await.map_err(|error| ApiError::internal(error.to_string()))?;
        Ok((Some(Arc::new(read)), None))
    }

    async fn render_detail(
        &self,
        app: &AppState,
        detail: &WorkflowDetail,
        screen: &mut ScreenRenderer<'_>,
    ) -> Result<(), ApiError> {
        let wanted =
            RecentRuns { project: self.project.clone(), workflow: Some(detail.name.clone()), since: 0, limit: RUNS };
        let runs = with_states(app, app.store.read(wanted).await?).await?;
        let lines: Vec<RunLine> = runs.iter().map(RunLine::of).collect();
        screen.part("workflow-runs", "workflows/runs.html", json!({ "runs": lines }))?;
        let visits = match &detail.step {
            Some(step) => visit_lines(app, &step.id, &runs).await?,
            None => Vec::new(),
        };
        screen.part("visits", "workflows/visits.html", json!({ "visits": visits }))?;
        Ok(())
    }

    async fn start_form(
        &self,
        app: &AppState,
        detail: &WorkflowDetail,
        directory: Option<PathBuf>,
    ) -> Result<Json, ApiError> {
        let asked = host::ask(&app.host, move |host| {
            let place = directory.as_deref().unwrap_or(Path::new("."));
            let found = host.skills(directory.as_deref(), Freshness::Kept).ok();
            Ok(installed_agents(host, place, found.as_ref()))
        });
        let agents = asked.await.unwrap_or_default();
        let page = maestro_store::ListPage { limit: 200, after: 0 };
        let projects = app.store.read(maestro_store::ProjectList { page }).await?.items;
        let projects: Vec<Json> = projects
            .iter()
            .map(|it| json!({ "id": it.id, "name": it.name, "chosen": self.project.as_ref() == Some(&it.id) }))
            .collect();
        Ok(json!({ "projects": projects, "agents": agents, "params": detail.params }))
    }
}

fn list_rows(lines: &[WorkflowLine], recent: &[RunRecord], here: Option<&str>) -> Vec<Json> {
    let row = |line: &WorkflowLine| {
        let runs = recent.iter().filter(|run| run.about.workflow == line.name).count();
        json!({ "line": line, "runs": runs, "here": here == Some(line.name.as_str()) })
    };
    lines.iter().map(row).collect()
}
