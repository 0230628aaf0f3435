//! Work passed from one role to another, over HTTP.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::{Router, routing};
use maestro_api::fields::PageQuery;
use maestro_api::handoffs::{HandoffAcceptance, HandoffBody, HandoffCompletion, HandoffQuery, NewHandoff};
use maestro_api::schemas::IdText;
use maestro_core::handoff::HandoffState;
use maestro_core::id::{HandoffId, ProjectId, TaskId};
use maestro_store::{AcceptHandoff, CompleteHandoff, CreateHandoff, HandoffById, HandoffList};
use utoipa::OpenApi;

use super::{ApiFailures, list_response};
use crate::app::AppState;
use crate::caller::{Caller, CallingActor};
use crate::error::ApiError;
use crate::extract::{IdempotencyHeader, JsonBody, PagingParams, PathId, UrlQuery, parse_word, required};
use crate::json_reply::JsonReply;

pub(super) fn routes() -> Router<AppState> {
    Router::new()
        .route("/api/handoffs", routing::get(list).post(create))
        .route("/api/handoffs/{id}", routing::get(get))
        .route("/api/handoffs/{id}/accept", routing::post(accept))
        .route("/api/handoffs/{id}/complete", routing::post(complete))
}

/// What describes them.
#[derive(OpenApi)]
#[openapi(paths(list, create, get, accept, complete))]
pub(super) struct HandoffsApiDoc;

/// Hand-offs, oldest first
#[utoipa::path(get, path = "/api/handoffs", tag = "handoffs", params(HandoffQuery, PageQuery),
    responses((status = 200, body = [HandoffBody]), ApiFailures))]
async fn list(
    State(app): State<AppState>,
    UrlQuery(wanted): UrlQuery<HandoffQuery>,
    PagingParams(page): PagingParams,
) -> Result<Response, ApiError> {
    let state = match wanted.state.as_deref() {
        None => None,
        Some(word) => Some(
            HandoffState::from_word(word)
                .ok_or_else(|| ApiError::field("state", "must be one of pending, accepted, completed"))?,
        ),
    };
    let handoffs = HandoffList {
        project: parse_word::<ProjectId>("projectId", wanted.project_id.as_deref())?,
        to: wanted.to,
        state,
        page,
    };
    Ok(list_response(app.store.read(handoffs).await?, HandoffBody::from))
}

/// Pass work on
#[utoipa::path(post, path = "/api/handoffs", tag = "handoffs", request_body = NewHandoff,
    params(IdempotencyHeader), responses((status = 201, body = HandoffBody), ApiFailures))]
async fn create(
    State(app): State<AppState>,
    caller: Caller,
    JsonBody { value, once }: JsonBody<NewHandoff>,
) -> Result<Response, ApiError> {
    let project = parse_word::<ProjectId>("projectId", value.project_id.as_deref())?;
    caller.check_project(project.as_ref())?;
    let change = CreateHandoff {
        project: project.ok_or_else(|| ApiError::invalid("Project ID is required"))?,
        task: parse_word::<TaskId>("taskId", value.task_id.as_deref())?,
        from: role("from", value.from)?,
        to: role("to", value.to)?,
        title: required(value.title, "title is required")?,
        body: value.body.unwrap_or_default(),
    };
    let handoff = app.store.write_once(change, once).await?;
    Ok((StatusCode::CREATED, JsonReply(HandoffBody::from(handoff))).into_response())
}

/// A role's name becomes part of a file's name, so it is held to the grammar of ids.
fn role(field: &str, name: Option<String>) -> Result<String, ApiError> {
    let name = required(name, &format!("{field} is required"))?;
    let fits = name.len() <= 64 && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_');
    if fits { Ok(name) } else { Err(ApiError::field(field, "must be letters, digits, `-` and `_`, at most 64")) }
}

/// One hand-off
#[utoipa::path(get, path = "/api/handoffs/{id}", tag = "handoffs", params(("id" = IdText, Path)),
    responses((status = 200, body = HandoffBody), ApiFailures))]
async fn get(State(app): State<AppState>, PathId(id): PathId<HandoffId>) -> Result<JsonReply<HandoffBody>, ApiError> {
    Ok(JsonReply(app.store.read(HandoffById(id)).await?.into()))
}

/// Take work that was passed on; only one can
#[utoipa::path(post, path = "/api/handoffs/{id}/accept", tag = "handoffs", request_body = HandoffAcceptance,
    params(("id" = IdText, Path), IdempotencyHeader), responses((status = 200, body = HandoffBody), ApiFailures))]
async fn accept(
    State(app): State<AppState>,
    CallingActor(actor): CallingActor,
    PathId(id): PathId<HandoffId>,
    JsonBody { value, once }: JsonBody<HandoffAcceptance>,
) -> Result<JsonReply<HandoffBody>, ApiError> {
    let by = match (actor.session(), value.by) {
        (Some(session), _) => session.to_string(),
        (None, Some(by)) if !by.trim().is_empty() => by.trim().to_owned(),
        (None, _) => "you".to_owned(),
    };
    Ok(JsonReply(app.store.write_once(AcceptHandoff { id, by }, once).await?.into()))
}

/// Say that work passed on is done
#[utoipa::path(post, path = "/api/handoffs/{id}/complete", tag = "handoffs", request_body = HandoffCompletion,
    params(("id" = IdText, Path), IdempotencyHeader), responses((status = 200, body = HandoffBody), ApiFailures))]
async fn complete(
    State(app): State<AppState>,
    PathId(id): PathId<HandoffId>,
    JsonBody { value, once }: JsonBody<HandoffCompletion>,
) -> Result<JsonReply<HandoffBody>, ApiError> {
    Ok(JsonReply(app.store.write_once(CompleteHandoff { id, result: value.result }, once).await?.into()))
}
