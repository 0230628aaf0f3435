//! Projects over HTTP.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::{Router, routing};
use maestro_api::fields::{DeletedReply, PageQuery};
use maestro_api::projects::{NewProject, ProjectBody, ProjectChange};
use maestro_api::schemas::IdText;
use maestro_core::id::ProjectId;
use maestro_store::{CreateProject, DeleteProject, ProjectById, ProjectList, UpdateProject};
use utoipa::OpenApi;

use super::{ApiFailures, list_response};
use crate::app::AppState;
use crate::caller::Caller;
use crate::error::ApiError;
use crate::extract::{IdempotencyHeader, JsonBody, PagingParams, PathId, required};
use crate::json_reply::JsonReply;

pub(super) fn routes() -> Router<AppState> {
    Router::new()
        .route("/api/projects", routing::get(list).post(create))
        .route("/api/projects/{id}", routing::get(get).put(update).delete(delete))
}

/// What describes them.
#[derive(OpenApi)]
#[openapi(paths(list, create, get, update, delete))]
pub(super) struct ProjectsApiDoc;

/// All projects, oldest first
#[utoipa::path(get, path = "/api/projects", tag = "projects", params(PageQuery),
    responses((status = 200, body = [ProjectBody]), ApiFailures))]
async fn list(
    State(app): State<AppState>,
    caller: Caller,
    PagingParams(page): PagingParams,
) -> Result<Response, ApiError> {
    if let Some(own) = caller.project() {
        let own = app.store.read(ProjectById(own.clone())).await?;
        return Ok(JsonReply([ProjectBody::from(own)]).into_response());
    }
    let found = app.store.read(ProjectList { page }).await?;
    Ok(list_response(found, ProjectBody::from))
}

/// Make a project
#[utoipa::path(post, path = "/api/projects", tag = "projects", request_body = NewProject,
    params(IdempotencyHeader), responses((status = 201, body = ProjectBody), ApiFailures))]
async fn create(
    State(app): State<AppState>,
    caller: Caller,
    JsonBody { value, once }: JsonBody<NewProject>,
) -> Result<Response, ApiError> {
    caller.require_person("make projects")?;
    let change = CreateProject {
        name: required(value.name, "Project name is required")?,
        working_dir: value.working_dir.unwrap_or_default(),
        description: value.description.unwrap_or_default(),
    };
    let project = app.store.write_once(change, once).await?;
    Ok((StatusCode::CREATED, JsonReply(ProjectBody::from(project))).into_response())
}

/// One project
#[utoipa::path(get, path = "/api/projects/{id}", tag = "projects", params(("id" = IdText, Path)),
    responses((status = 200, body = ProjectBody), ApiFailures))]
async fn get(State(app): State<AppState>, PathId(id): PathId<ProjectId>) -> Result<JsonReply<ProjectBody>, ApiError> {
    Ok(JsonReply(app.store.read(ProjectById(id)).await?.into()))
}

/// Change a project
#[utoipa::path(put, path = "/api/projects/{id}", tag = "projects", params(("id" = IdText, Path), IdempotencyHeader),
    request_body = ProjectChange, responses((status = 200, body = ProjectBody), ApiFailures))]
async fn update(
    State(app): State<AppState>,
    caller: Caller,
    PathId(id): PathId<ProjectId>,
    JsonBody { value, once }: JsonBody<ProjectChange>,
) -> Result<JsonReply<ProjectBody>, ApiError> {
    caller.require_person("change projects")?;
    let name = match value.name {
        Some(name) => Some(required(Some(name), "Project name cannot be empty")?),
        None => None,
    };
    let change = UpdateProject { id, name, working_dir: value.working_dir, description: value.description };
    Ok(JsonReply(app.store.write_once(change, once).await?.into()))
}

/// Remove a project without tasks and sessions
#[utoipa::path(delete, path = "/api/projects/{id}", tag = "projects", params(("id" = IdText, Path)),
    responses((status = 200, body = DeletedReply), ApiFailures))]
async fn delete(
    State(app): State<AppState>,
    caller: Caller,
    PathId(id): PathId<ProjectId>,
) -> Result<JsonReply<DeletedReply>, ApiError> {
    caller.require_person("remove projects")?;
    app.store.write(DeleteProject { id: id.clone() }).await?;
    Ok(JsonReply(DeletedReply::of(&id)))
}
