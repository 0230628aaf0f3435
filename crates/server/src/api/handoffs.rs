//! Work passed from one role to another, over HTTP.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::{Json, Router, routing};
use maestro_core::handoff::{Handoff, HandoffState};
use maestro_core::id::{HandoffId, ProjectId, TaskId};
use maestro_store::{AcceptHandoff, CompleteHandoff, CreateHandoff, HandoffById, Handoffs};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, OpenApi, ToSchema};

use super::{Failures, listed};
use crate::app::App;
use crate::caller::Caller;
use crate::error::ApiError;
use crate::extract::{Asked, OneId, Paging, Retry, Sent, required, word};
use crate::wire::words::{HandoffStep, Id, RoleName, Text};

pub(super) fn routes() -> Router<App> {
    Router::new()
        .route("/api/handoffs", routing::get(list).post(create))
        .route("/api/handoffs/{id}", routing::get(get))
        .route("/api/handoffs/{id}/accept", routing::post(accept))
        .route("/api/handoffs/{id}/complete", routing::post(complete))
}

/// What describes them.
#[derive(OpenApi)]
#[openapi(paths(list, create, get, accept, complete))]
pub(super) struct Document;

/// Work passed from one role to another.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct HandoffJson {
    #[schema(value_type = Id)]
    id: String,
    #[schema(value_type = Id)]
    project_id: String,
    #[schema(value_type = Option<Id>)]
    task_id: Option<String>,
    #[schema(value_type = RoleName)]
    from: String,
    #[schema(value_type = RoleName)]
    to: String,
    title: String,
    body: String,
    #[schema(value_type = HandoffStep)]
    state: String,
    accepted_by: Option<String>,
    result: Option<String>,
    created_at: i64,
    accepted_at: Option<i64>,
    completed_at: Option<i64>,
}

impl From<Handoff> for HandoffJson {
    fn from(handoff: Handoff) -> Self {
        Self {
            id: handoff.id.into(),
            project_id: handoff.project_id.into(),
            task_id: handoff.task_id.map(Into::into),
            from: handoff.from,
            to: handoff.to,
            title: handoff.title,
            body: handoff.body,
            state: handoff.state.as_str().to_owned(),
            accepted_by: handoff.accepted_by,
            result: handoff.result,
            created_at: handoff.created_at,
            accepted_at: handoff.accepted_at,
            completed_at: handoff.completed_at,
        }
    }
}

/// Which hand-offs are wanted.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
struct Wanted {
    /// Only this project's.
    #[param(value_type = Option<Id>)]
    project_id: Option<String>,
    /// Only those for this role.
    to: Option<String>,
    /// Only those that far.
    #[param(value_type = Option<HandoffStep>)]
    state: Option<String>,
    /// How many at most.
    #[param(minimum = 1, maximum = 10_000)]
    limit: Option<i64>,
    /// The `Maestro-Next-Cursor` of the part before.
    #[param(minimum = 0, maximum = 9_007_199_254_740_991_i64)]
    cursor: Option<i64>,
}

/// Hand-offs, oldest first
#[utoipa::path(get, path = "/api/handoffs", tag = "handoffs", params(Wanted),
    responses((status = 200, body = [HandoffJson]), Failures))]
async fn list(State(app): State<App>, Asked(wanted): Asked<Wanted>) -> Result<Response, ApiError> {
    let state = match wanted.state.as_deref() {
        None => None,
        Some(word) => Some(
            HandoffState::from_word(word)
                .ok_or_else(|| ApiError::field("state", "must be one of pending, accepted, completed"))?,
        ),
    };
    let handoffs = Handoffs {
        project: word::<ProjectId>("projectId", wanted.project_id.as_deref())?,
        to: wanted.to,
        state,
        page: Paging { limit: wanted.limit, cursor: wanted.cursor }.page()?,
    };
    Ok(listed::<Handoff, HandoffJson>(app.store.read(handoffs).await?))
}

/// What is passed on.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct NewHandoff {
    #[schema(value_type = Id)]
    project_id: Option<String>,
    #[schema(value_type = Option<Id>)]
    task_id: Option<String>,
    /// The role that passes it on.
    #[schema(value_type = RoleName)]
    from: Option<String>,
    /// The role that gets it.
    #[schema(value_type = RoleName)]
    to: Option<String>,
    #[schema(value_type = Text)]
    title: Option<String>,
    /// What the other needs to know.
    body: Option<String>,
}

/// Pass work on
#[utoipa::path(post, path = "/api/handoffs", tag = "handoffs", request_body = NewHandoff,
    params(Retry), responses((status = 201, body = HandoffJson), Failures))]
async fn create(State(app): State<App>, Sent { value, once }: Sent<NewHandoff>) -> Result<Response, ApiError> {
    let project = word::<ProjectId>("projectId", value.project_id.as_deref())?;
    let change = CreateHandoff {
        project: project.ok_or_else(|| ApiError::invalid("Project ID is required"))?,
        task: word::<TaskId>("taskId", value.task_id.as_deref())?,
        from: role("from", value.from)?,
        to: role("to", value.to)?,
        title: required(value.title, "title is required")?,
        body: value.body.unwrap_or_default(),
    };
    let handoff = app.store.write_once(change, once).await?;
    Ok((StatusCode::CREATED, Json(HandoffJson::from(handoff))).into_response())
}

/// A role's name becomes part of a file's name, so it is held to the grammar of ids.
fn role(field: &str, name: Option<String>) -> Result<String, ApiError> {
    let name = required(name, &format!("{field} is required"))?;
    let fits = name.len() <= 64 && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_');
    if fits { Ok(name) } else { Err(ApiError::field(field, "must be letters, digits, `-` and `_`, at most 64")) }
}

/// One hand-off
#[utoipa::path(get, path = "/api/handoffs/{id}", tag = "handoffs", params(("id" = Id, Path)),
    responses((status = 200, body = HandoffJson), Failures))]
async fn get(State(app): State<App>, OneId(id): OneId<HandoffId>) -> Result<Json<HandoffJson>, ApiError> {
    Ok(Json(app.store.read(HandoffById(id)).await?.into()))
}

/// Who takes it.
#[derive(Debug, Deserialize, ToSchema)]
struct Acceptance {
    by: Option<String>,
}

/// Take work that was passed on; only one can
#[utoipa::path(post, path = "/api/handoffs/{id}/accept", tag = "handoffs", request_body = Acceptance,
    params(("id" = Id, Path), Retry), responses((status = 200, body = HandoffJson), Failures))]
async fn accept(
    State(app): State<App>,
    Caller(actor): Caller,
    OneId(id): OneId<HandoffId>,
    Sent { value, once }: Sent<Acceptance>,
) -> Result<Json<HandoffJson>, ApiError> {
    let by = match (actor.session(), value.by) {
        (Some(session), _) => session.to_string(),
        (None, Some(by)) if !by.trim().is_empty() => by.trim().to_owned(),
        (None, _) => "you".to_owned(),
    };
    Ok(Json(app.store.write_once(AcceptHandoff { id, by }, once).await?.into()))
}

/// What came of it.
#[derive(Debug, Deserialize, ToSchema)]
struct Completion {
    result: Option<String>,
}

/// Say that work passed on is done
#[utoipa::path(post, path = "/api/handoffs/{id}/complete", tag = "handoffs", request_body = Completion,
    params(("id" = Id, Path), Retry), responses((status = 200, body = HandoffJson), Failures))]
async fn complete(
    State(app): State<App>,
    OneId(id): OneId<HandoffId>,
    Sent { value, once }: Sent<Completion>,
) -> Result<Json<HandoffJson>, ApiError> {
    Ok(Json(app.store.write_once(CompleteHandoff { id, result: value.result }, once).await?.into()))
}
