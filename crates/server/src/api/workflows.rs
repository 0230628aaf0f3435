//! Workflows over HTTP: which there are, and what one says.

use axum::extract::{Path, State};
use axum::{Json, Router, routing};
use maestro_core::workflow::Workflow;
use maestro_core::workflow::definition::Variable;
use maestro_engine::workflows::{Loaded, Workflows};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, OpenApi, ToSchema};

use super::{Failures, runs, skills};
use crate::app::App;
use crate::error::ApiError;
use crate::extract::Asked;
use crate::shelves::Freshness;
use crate::wire::words::Id;

pub(super) fn routes() -> Router<App> {
    Router::new()
        .route("/api/workflows", routing::get(list))
        .route("/api/workflows/{name}", routing::get(get))
        .route("/api/workflows/{skill}/{name}", routing::get(beside))
}

/// What describes them.
#[derive(OpenApi)]
#[openapi(paths(list, get, beside))]
pub(super) struct Document;

/// Whose workflows are meant.
#[derive(Debug, Default, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
struct Whose {
    /// Those of this project's directory; without it, those where the server was started.
    #[param(value_type = Option<Id>)]
    project_id: Option<String>,
}

/// A workflow.
#[derive(Debug, Serialize, ToSchema)]
struct WorkflowJson {
    name: String,
    description: Option<String>,
    category: Option<String>,
    version: Option<String>,
    /// Whether it can be started.
    sound: bool,
    path: String,
    params: Vec<ParamJson>,
    steps: Vec<StepJson>,
    /// What is wrong with it, one line each.
    findings: Vec<String>,
}

/// What a workflow is started with.
#[derive(Debug, Serialize, ToSchema)]
struct ParamJson {
    name: String,
    #[serde(rename = "type")]
    kind: String,
    required: bool,
    description: Option<String>,
}

/// A step of a workflow.
#[derive(Debug, Serialize, ToSchema)]
struct StepJson {
    id: String,
    #[serde(rename = "type")]
    kind: String,
    title: String,
    phase: Option<String>,
}

impl From<Loaded> for WorkflowJson {
    fn from(loaded: Loaded) -> Self {
        let param = |param: &Variable| ParamJson {
            name: param.name.to_string(),
            kind: param.kind.word().to_owned(),
            required: param.required && param.default.is_none(),
            description: param.description.clone(),
        };
        let steps = |workflow: &Workflow| {
            let step = workflow.steps.iter().map(|step| StepJson {
                id: step.id.to_string(),
                kind: step.work.word().to_owned(),
                title: step.title.clone(),
                phase: step.phase.clone(),
            });
            step.collect::<Vec<_>>()
        };
        let workflow = loaded.workflow.as_ref();
        Self {
            name: loaded.source.name.clone(),
            description: workflow.map(|workflow| workflow.description.clone()),
            category: workflow.and_then(|workflow| workflow.category.clone()),
            version: workflow.and_then(|workflow| workflow.version.clone()),
            sound: loaded.is_sound(),
            path: loaded.source.path.to_string_lossy().into_owned(),
            params: workflow.map(|workflow| workflow.params.iter().map(param).collect()).unwrap_or_default(),
            steps: workflow.map(steps).unwrap_or_default(),
            findings: loaded.findings.iter().map(ToString::to_string).collect(),
        }
    }
}

/// The workflows that can be started, and those that have errors
#[utoipa::path(get, path = "/api/workflows", tag = "workflows", params(Whose),
    responses((status = 200, body = [WorkflowJson]), Failures))]
async fn list(State(app): State<App>, Asked(whose): Asked<Whose>) -> Result<Json<Vec<WorkflowJson>>, ApiError> {
    let read = |workflows: &Workflows<'_>| {
        let loaded = workflows.all().iter().filter_map(|source| workflows.load(source).ok());
        Ok(loaded.filter(Loaded::is_listed).map(WorkflowJson::from).collect())
    };
    look(&app, whose, read).await.map(Json)
}

/// One workflow, by its name or alias
#[utoipa::path(get, path = "/api/workflows/{name}", tag = "workflows", params(("name" = String, Path), Whose),
    responses((status = 200, body = WorkflowJson), Failures))]
async fn get(
    State(app): State<App>,
    Path(name): Path<String>,
    Asked(whose): Asked<Whose>,
) -> Result<Json<WorkflowJson>, ApiError> {
    one(&app, whose, name).await
}

/// One workflow that lies beside its skill's own
#[utoipa::path(get, path = "/api/workflows/{skill}/{name}", tag = "workflows",
    params(("skill" = String, Path), ("name" = String, Path), Whose),
    responses((status = 200, body = WorkflowJson), Failures))]
async fn beside(
    State(app): State<App>,
    Path((skill, name)): Path<(String, String)>,
    Asked(whose): Asked<Whose>,
) -> Result<Json<WorkflowJson>, ApiError> {
    one(&app, whose, format!("{skill}/{name}")).await
}

async fn one(app: &App, whose: Whose, name: String) -> Result<Json<WorkflowJson>, ApiError> {
    let read = move |workflows: &Workflows<'_>| {
        workflows.find(&name).map(WorkflowJson::from).map_err(|error| runs::unfound(&error))
    };
    look(app, whose, read).await.map(Json)
}

/// Looks through the workflows of a project, where that holds nobody up.
async fn look<T: Send + 'static>(
    app: &App,
    whose: Whose,
    read: impl FnOnce(&Workflows<'_>) -> Result<T, ApiError> + Send + 'static,
) -> Result<T, ApiError> {
    let project = whose.project_id.as_deref();
    let shelf = skills::shelf(app, project, Freshness::Kept).await?;
    let directory = skills::directory(app, project).await?.unwrap_or_default();
    let looked = tokio::task::spawn_blocking(move || read(&Workflows::of(&shelf.catalogue, &directory)));
    looked.await.map_err(|error| ApiError::internal(error.to_string()))?
}
