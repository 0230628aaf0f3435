//! Projects over HTTP.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::{Json, Router, routing};
use maestro_api::fields::{DeletedReply, PageQuery};
use maestro_api::projects::{NewProject, ProjectBody, ProjectChange};
use maestro_api::words::IdText;
use maestro_core::id::ProjectId;
use maestro_store::{CreateProject, DeleteProject, ProjectById, Projects, UpdateProject};
use utoipa::OpenApi;

use super::{Failures, listed};
use crate::app::App;
use crate::caller::Caller;
use crate::error::ApiError;
use crate::extract::{OneId, Paging, Retry, Sent, required};

pub(super) fn routes() -> Router<App> {
    Router::new()
        .route("/api/projects", routing::get(list).post(create))
        .route("/api/projects/{id}", routing::get(get).put(update).delete(delete))
}

/// What describes them.
#[derive(OpenApi)]
#[openapi(paths(list, create, get, update, delete))]
pub(super) struct Document;

/// All projects, oldest first
#[utoipa::path(get, path = "/api/projects", tag = "projects", params(PageQuery),
    responses((status = 200, body = [ProjectBody]), Failures))]
async fn list(State(app): State<App>, Paging(page): Paging) -> Result<Response, ApiError> {
    let found = app.store.read(Projects { page }).await?;
    Ok(listed(found, ProjectBody::from))
}

/// Make a project
#[utoipa::path(post, path = "/api/projects", tag = "projects", request_body = NewProject,
    params(Retry), responses((status = 201, body = ProjectBody), Failures))]
async fn create(
    State(app): State<App>,
    caller: Caller,
    Sent { value, once }: Sent<NewProject>,
) -> Result<Response, ApiError> {
    caller.person("make projects")?;
    let change = CreateProject {
        name: required(value.name, "Project name is required")?,
        working_dir: value.working_dir.unwrap_or_default(),
        description: value.description.unwrap_or_default(),
    };
    let project = app.store.write_once(change, once).await?;
    Ok((StatusCode::CREATED, Json(ProjectBody::from(project))).into_response())
}

/// One project
#[utoipa::path(get, path = "/api/projects/{id}", tag = "projects", params(("id" = IdText, Path)),
    responses((status = 200, body = ProjectBody), Failures))]
async fn get(State(app): State<App>, OneId(id): OneId<ProjectId>) -> Result<Json<ProjectBody>, ApiError> {
    Ok(Json(app.store.read(ProjectById(id)).await?.into()))
}

/// Change a project
#[utoipa::path(put, path = "/api/projects/{id}", tag = "projects", params(("id" = IdText, Path), Retry),
    request_body = ProjectChange, responses((status = 200, body = ProjectBody), Failures))]
async fn update(
    State(app): State<App>,
    caller: Caller,
    OneId(id): OneId<ProjectId>,
    Sent { value, once }: Sent<ProjectChange>,
) -> Result<Json<ProjectBody>, ApiError> {
    caller.person("change projects")?;
    let name = match value.name {
        Some(name) => Some(required(Some(name), "Project name cannot be empty")?),
        None => None,
    };
    let change = UpdateProject { id, name, working_dir: value.working_dir, description: value.description };
    Ok(Json(app.store.write_once(change, once).await?.into()))
}

/// Remove a project without tasks and sessions
#[utoipa::path(delete, path = "/api/projects/{id}", tag = "projects", params(("id" = IdText, Path)),
    responses((status = 200, body = DeletedReply), Failures))]
async fn delete(
    State(app): State<App>,
    caller: Caller,
    OneId(id): OneId<ProjectId>,
) -> Result<Json<DeletedReply>, ApiError> {
    caller.person("remove projects")?;
    app.store.write(DeleteProject { id: id.clone() }).await?;
    Ok(Json(DeletedReply::of(&id)))
}
