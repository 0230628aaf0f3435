//! Words for an agent over HTTP.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::{Router, routing};
use maestro_api::fields::PageQuery;
use maestro_api::messages::{MessageBody, NewMessage};
use maestro_api::schemas::IdText;
use maestro_core::id::SessionId;
use maestro_store::{MessageList, SendMessage};
use utoipa::OpenApi;

use super::{ApiFailures, list_response};
use crate::app::AppState;
use crate::caller::CallingActor;
use crate::error::ApiError;
use crate::extract::{IdempotencyHeader, JsonBody, PagingParams, PathId, required};
use crate::json_reply::JsonReply;

pub(super) fn routes() -> Router<AppState> {
    Router::new().route("/api/sessions/{id}/messages", routing::get(list).post(send_message))
}

/// What describes them.
#[derive(OpenApi)]
#[openapi(paths(list, send_message))]
pub(super) struct MessagesApiDoc;

/// What was said to a session, oldest first
#[utoipa::path(get, path = "/api/sessions/{id}/messages", tag = "messages", params(("id" = IdText, Path), PageQuery),
    responses((status = 200, body = [MessageBody]), ApiFailures))]
async fn list(
    State(app): State<AppState>,
    PathId(session): PathId<SessionId>,
    PagingParams(page): PagingParams,
) -> Result<Response, ApiError> {
    let found = app.store.read(MessageList { session, page }).await?;
    Ok(list_response(found, MessageBody::from))
}

/// Send a message to a session's agent; it receives it with its next call
#[utoipa::path(post, path = "/api/sessions/{id}/messages", tag = "messages", request_body = NewMessage,
    params(("id" = IdText, Path), IdempotencyHeader), responses((status = 201, body = MessageBody), ApiFailures))]
async fn send_message(
    State(app): State<AppState>,
    CallingActor(actor): CallingActor,
    PathId(session): PathId<SessionId>,
    JsonBody { value, once }: JsonBody<NewMessage>,
) -> Result<Response, ApiError> {
    let text = required(value.text, "text is required")?;
    let from = match (actor.session(), value.from) {
        (Some(session), _) => session.to_string(),
        (None, Some(from)) if !from.trim().is_empty() => from.trim().to_owned(),
        (None, _) => "you".to_owned(),
    };
    let message = app.store.write_once(SendMessage { session, from, text, actor }, once).await?;
    Ok((StatusCode::CREATED, JsonReply(MessageBody::from(message))).into_response())
}
