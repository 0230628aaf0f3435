//! Work passed from one role to another, over HTTP.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::{Json, Router, routing};
use maestro_api::fields::PageQuery;
use maestro_api::handoffs::{HandoffAcceptance, HandoffBody, HandoffCompletion, HandoffQuery, NewHandoff};
use maestro_api::words::IdText;
use maestro_core::handoff::HandoffState;
use maestro_core::id::{HandoffId, ProjectId, TaskId};
use maestro_store::{AcceptHandoff, CompleteHandoff, CreateHandoff, HandoffById, Handoffs};
use utoipa::OpenApi;

use super::{Failures, listed};
use crate::app::App;
use crate::caller::Caller;
use crate::error::ApiError;
use crate::extract::{Asked, OneId, Paging, Retry, Sent, required, word};

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

/// Hand-offs, oldest first
#[utoipa::path(get, path = "/api/handoffs", tag = "handoffs", params(HandoffQuery, PageQuery),
    responses((status = 200, body = [HandoffBody]), Failures))]
async fn list(
    State(app): State<App>,
    Asked(wanted): Asked<HandoffQuery>,
    Paging(page): Paging,
) -> Result<Response, ApiError> {
    let state = match wanted.state.as_deref() {
        None => None,
        Some(word) => Some(
            HandoffState::from_word(word)
                .ok_or_else(|| ApiError::field("state", "must be one of pending, accepted, completed"))?,
        ),
    };
    let handoffs =
        Handoffs { project: word::<ProjectId>("projectId", wanted.project_id.as_deref())?, to: wanted.to, state, page };
    Ok(listed(app.store.read(handoffs).await?, HandoffBody::from))
}

/// Pass work on
#[utoipa::path(post, path = "/api/handoffs", tag = "handoffs", request_body = NewHandoff,
    params(Retry), responses((status = 201, body = HandoffBody), Failures))]
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
    Ok((StatusCode::CREATED, Json(HandoffBody::from(handoff))).into_response())
}

/// A role's name becomes part of a file's name, so it is held to the grammar of ids.
fn role(field: &str, name: Option<String>) -> Result<String, ApiError> {
    let name = required(name, &format!("{field} is required"))?;
    let fits = name.len() <= 64 && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_');
    if fits { Ok(name) } else { Err(ApiError::field(field, "must be letters, digits, `-` and `_`, at most 64")) }
}

/// One hand-off
#[utoipa::path(get, path = "/api/handoffs/{id}", tag = "handoffs", params(("id" = IdText, Path)),
    responses((status = 200, body = HandoffBody), Failures))]
async fn get(State(app): State<App>, OneId(id): OneId<HandoffId>) -> Result<Json<HandoffBody>, ApiError> {
    Ok(Json(app.store.read(HandoffById(id)).await?.into()))
}

/// Take work that was passed on; only one can
#[utoipa::path(post, path = "/api/handoffs/{id}/accept", tag = "handoffs", request_body = HandoffAcceptance,
    params(("id" = IdText, Path), Retry), responses((status = 200, body = HandoffBody), Failures))]
async fn accept(
    State(app): State<App>,
    Caller(actor): Caller,
    OneId(id): OneId<HandoffId>,
    Sent { value, once }: Sent<HandoffAcceptance>,
) -> Result<Json<HandoffBody>, ApiError> {
    let by = match (actor.session(), value.by) {
        (Some(session), _) => session.to_string(),
        (None, Some(by)) if !by.trim().is_empty() => by.trim().to_owned(),
        (None, _) => "you".to_owned(),
    };
    Ok(Json(app.store.write_once(AcceptHandoff { id, by }, once).await?.into()))
}

/// Say that work passed on is done
#[utoipa::path(post, path = "/api/handoffs/{id}/complete", tag = "handoffs", request_body = HandoffCompletion,
    params(("id" = IdText, Path), Retry), responses((status = 200, body = HandoffBody), Failures))]
async fn complete(
    State(app): State<App>,
    OneId(id): OneId<HandoffId>,
    Sent { value, once }: Sent<HandoffCompletion>,
) -> Result<Json<HandoffBody>, ApiError> {
    Ok(Json(app.store.write_once(CompleteHandoff { id, result: value.result }, once).await?.into()))
}
