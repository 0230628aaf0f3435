//! Projects over HTTP.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::{Json, Router, routing};
use maestro_core::Project;
use maestro_core::id::ProjectId;
use maestro_store::{CreateProject, DeleteProject, ProjectById, Projects, UpdateProject};
use serde::Deserialize;
use utoipa::{OpenApi, ToSchema};

use super::{Failures, listed};
use crate::app::App;
use crate::caller::Caller;
use crate::error::ApiError;
use crate::extract::{Asked, OneId, Paging, Retry, Sent, required};
use crate::wire::words::{Id, Text};
use crate::wire::{Deleted, ProjectJson};

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
#[utoipa::path(get, path = "/api/projects", tag = "projects", params(Paging),
    responses((status = 200, body = [ProjectJson]), Failures))]
async fn list(State(app): State<App>, Asked(paging): Asked<Paging>) -> Result<Response, ApiError> {
    let found = app.store.read(Projects { page: paging.page()? }).await?;
    Ok(listed::<Project, ProjectJson>(found))
}

/// What a project is made of.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct NewProject {
    /// What people call it.
    #[schema(value_type = Text)]
    name: Option<String>,
    /// Its directory.
    working_dir: Option<String>,
    /// What it is about.
    description: Option<String>,
}

/// Make a project
#[utoipa::path(post, path = "/api/projects", tag = "projects", request_body = NewProject,
    params(Retry), responses((status = 201, body = ProjectJson), Failures))]
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
    Ok((StatusCode::CREATED, Json(ProjectJson::from(project))).into_response())
}

/// One project
#[utoipa::path(get, path = "/api/projects/{id}", tag = "projects", params(("id" = Id, Path)),
    responses((status = 200, body = ProjectJson), Failures))]
async fn get(State(app): State<App>, OneId(id): OneId<ProjectId>) -> Result<Json<ProjectJson>, ApiError> {
    Ok(Json(app.store.read(ProjectById(id)).await?.into()))
}

/// What of a project is to change.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct ProjectChange {
    #[schema(value_type = Option<Text>)]
    name: Option<String>,
    working_dir: Option<String>,
    description: Option<String>,
}

/// Change a project
#[utoipa::path(put, path = "/api/projects/{id}", tag = "projects", params(("id" = Id, Path), Retry),
    request_body = ProjectChange, responses((status = 200, body = ProjectJson), Failures))]
async fn update(
    State(app): State<App>,
    caller: Caller,
    OneId(id): OneId<ProjectId>,
    Sent { value, once }: Sent<ProjectChange>,
) -> Result<Json<ProjectJson>, ApiError> {
    caller.person("change projects")?;
    let name = match value.name {
        Some(name) => Some(required(Some(name), "Project name cannot be empty")?),
        None => None,
    };
    let change = UpdateProject { id, name, working_dir: value.working_dir, description: value.description };
    Ok(Json(app.store.write_once(change, once).await?.into()))
}

/// Remove a project without tasks and sessions
#[utoipa::path(delete, path = "/api/projects/{id}", tag = "projects", params(("id" = Id, Path)),
    responses((status = 200, body = Deleted), Failures))]
async fn delete(
    State(app): State<App>,
    caller: Caller,
    OneId(id): OneId<ProjectId>,
) -> Result<Json<Deleted>, ApiError> {
    caller.person("remove projects")?;
    app.store.write(DeleteProject { id: id.clone() }).await?;
    Ok(Json(Deleted::of(&id)))
}
