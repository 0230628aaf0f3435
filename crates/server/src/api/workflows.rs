//! Workflows over HTTP: which there are, and what one says.

use axum::extract::{Path, State};
use axum::{Json, Router, routing};
use maestro_api::skills::CatalogueQuery;
use maestro_api::words::SkillName;
use maestro_api::workflows::{ParamBody, StepBody, WorkflowBody};
use maestro_core::workflow::Workflow;
use maestro_core::workflow::definition::Variable;
use maestro_engine::Freshness;
use maestro_engine::workflows::{Loaded, Workflows};
use utoipa::OpenApi;

use super::{Failures, runs, skills};
use crate::app::App;
use crate::error::ApiError;
use crate::extract::Asked;

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

fn workflow_body(loaded: &Loaded) -> WorkflowBody {
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
    responses((status = 200, body = [WorkflowBody]), Failures))]
async fn list(
    State(app): State<App>,
    Asked(whose): Asked<CatalogueQuery>,
) -> Result<Json<Vec<WorkflowBody>>, ApiError> {
    let read = |workflows: &Workflows<'_>| {
        let loaded = workflows.all().iter().filter_map(|source| workflows.load(source).ok());
        Ok(loaded.filter(Loaded::is_listed).map(|loaded| workflow_body(&loaded)).collect())
    };
    look(&app, whose, read).await.map(Json)
}

/// One workflow, by its name or alias
#[utoipa::path(get, path = "/api/workflows/{name}", tag = "workflows", params(("name" = SkillName, Path), CatalogueQuery),
    responses((status = 200, body = WorkflowBody), Failures))]
async fn get(
    State(app): State<App>,
    Path(name): Path<String>,
    Asked(whose): Asked<CatalogueQuery>,
) -> Result<Json<WorkflowBody>, ApiError> {
    one(&app, whose, name).await
}

/// One workflow that lies beside its skill's own
#[utoipa::path(get, path = "/api/workflows/{skill}/{name}", tag = "workflows",
    params(("skill" = SkillName, Path), ("name" = SkillName, Path), CatalogueQuery),
    responses((status = 200, body = WorkflowBody), Failures))]
async fn beside(
    State(app): State<App>,
    Path((skill, name)): Path<(String, String)>,
    Asked(whose): Asked<CatalogueQuery>,
) -> Result<Json<WorkflowBody>, ApiError> {
    one(&app, whose, format!("{skill}/{name}")).await
}

async fn one(app: &App, whose: CatalogueQuery, name: String) -> Result<Json<WorkflowBody>, ApiError> {
    let read = move |workflows: &Workflows<'_>| {
        workflows.find(&name).map(|loaded| workflow_body(&loaded)).map_err(|error| runs::unfound(&error))
    };
    look(app, whose, read).await.map(Json)
}

/// Lists the workflows of a project, on a blocking thread.
async fn look<T: Send + 'static>(
    app: &App,
    whose: CatalogueQuery,
    read: impl FnOnce(&Workflows<'_>) -> Result<T, ApiError> + Send + 'static,
) -> Result<T, ApiError> {
    let project = whose.project_id.as_deref();
    let shelf = skills::shelf(app, project, Freshness::Kept).await?;
    let directory = skills::directory(app, project).await?.unwrap_or_default();
    let looked = tokio::task::spawn_blocking(move || read(&Workflows::of(&shelf.catalogue, &directory)));
    looked.await.map_err(|error| ApiError::internal(error.to_string()))?
}
