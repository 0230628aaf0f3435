//! Workflows over HTTP: which there are, and what one says.

use axum::extract::{Path, State};
use axum::{Router, routing};
use maestro_api::schemas::SkillName;
use maestro_api::skills::CatalogueQuery;
use maestro_api::workflows::{ParamBody, StepBody, WorkflowBody};
use maestro_core::workflow::Workflow;
use maestro_core::workflow::definition::Variable;
use maestro_engine::Freshness;
use maestro_engine::workflows::{LoadedWorkflow, WorkflowIndex};
use utoipa::OpenApi;

use super::{ApiFailures, runs, skills};
use crate::app::AppState;
use crate::error::ApiError;
use crate::extract::UrlQuery;
use crate::json_reply::JsonReply;

pub(super) fn routes() -> Router<AppState> {
    Router::new()
        .route("/api/workflows", routing::get(list))
        .route("/api/workflows/{name}", routing::get(get))
        .route("/api/workflows/{skill}/{name}", routing::get(get_beside))
}

/// What describes them.
#[derive(OpenApi)]
#[openapi(paths(list, get, get_beside))]
pub(super) struct WorkflowsApiDoc;

fn workflow_body(loaded: &LoadedWorkflow) -> WorkflowBody {
    let param = |param: &Variable| ParamBody {
        name: param.name.to_string(),
        kind: param.kind.word().to_owned(),
        required: param.required && param.default.is_none(),
        description: param.description.clone(),
    };
    let steps = |workflow: &Workflow| {
        let step = workflow.steps.iter().map(|step| StepBody {
            id: step.id.to_string(),
            kind: step.work.word().to_owned(),
            title: step.title.clone(),
            phase: step.phase.clone().map(String::from),
        });
        step.collect::<Vec<_>>()
    };
    let workflow = loaded.workflow.as_ref();
    WorkflowBody {
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

/// The workflows that can be started, and those that have errors
#[utoipa::path(get, path = "/api/workflows", tag = "workflows", params(CatalogueQuery),
    responses((status = 200, body = [WorkflowBody]), ApiFailures))]
async fn list(
    State(app): State<AppState>,
    UrlQuery(whose): UrlQuery<CatalogueQuery>,
) -> Result<JsonReply<Vec<WorkflowBody>>, ApiError> {
    let read = |workflows: &WorkflowIndex<'_>| {
        let loaded = workflows.all().iter().filter_map(|source| {
            let warn = |error: &_| tracing::warn!(workflow = source.name, "it is not listed: {error}");
            workflows.load(source).inspect_err(warn).ok()
        });
        Ok(loaded.filter(LoadedWorkflow::is_listed).map(|loaded| workflow_body(&loaded)).collect())
    };
    with_workflows(&app, whose, read).await.map(JsonReply)
}

/// One workflow, by its name or alias
#[utoipa::path(get, path = "/api/workflows/{name}", tag = "workflows", params(("name" = SkillName, Path), CatalogueQuery),
    responses((status = 200, body = WorkflowBody), ApiFailures))]
async fn get(
    State(app): State<AppState>,
    Path(name): Path<String>,
    UrlQuery(whose): UrlQuery<CatalogueQuery>,
) -> Result<JsonReply<WorkflowBody>, ApiError> {
    get_one(&app, whose, name).await
}

/// One workflow that lies beside its skill's own
#[utoipa::path(get, path = "/api/workflows/{skill}/{name}", tag = "workflows",
    params(("skill" = SkillName, Path), ("name" = SkillName, Path), CatalogueQuery),
    responses((status = 200, body = WorkflowBody), ApiFailures))]
async fn get_beside(
    State(app): State<AppState>,
    Path((skill, name)): Path<(String, String)>,
    UrlQuery(whose): UrlQuery<CatalogueQuery>,
) -> Result<JsonReply<WorkflowBody>, ApiError> {
    get_one(&app, whose, format!("{skill}/{name}")).await
}

async fn get_one(app: &AppState, whose: CatalogueQuery, name: String) -> Result<JsonReply<WorkflowBody>, ApiError> {
    let read = move |workflows: &WorkflowIndex<'_>| {
        workflows.find(&name).map(|loaded| workflow_body(&loaded)).map_err(|error| runs::workflow_error(&error))
    };
    with_workflows(app, whose, read).await.map(JsonReply)
}

/// Lists the workflows of a project, on a blocking thread.
async fn with_workflows<T: Send + 'static>(
    app: &AppState,
    whose: CatalogueQuery,
    read: impl FnOnce(&WorkflowIndex<'_>) -> Result<T, ApiError> + Send + 'static,
) -> Result<T, ApiError> {
    let project = whose.project_id.as_deref();
    let shelf = skills::project_skills(app, project, Freshness::Kept).await?;
    let directory = skills::directory(app, project).await?.unwrap_or_default();
    let looked = tokio::task::spawn_blocking(move || read(&WorkflowIndex::of(&shelf.catalogue, &directory)));
    looked.await.map_err(|error| ApiError::internal(error.to_string()))?
}
