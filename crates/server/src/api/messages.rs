//! Words for an agent over HTTP.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::{Json, Router, routing};
use maestro_api::fields::PageQuery;
use maestro_api::messages::{MessageBody, NewMessage};
use maestro_api::words::IdText;
use maestro_core::id::SessionId;
use maestro_store::{Messages, Say};
use utoipa::OpenApi;

use super::{Failures, listed};
use crate::app::App;
use crate::caller::Caller;
use crate::error::ApiError;
use crate::extract::{OneId, Paging, Retry, Sent, required};

pub(super) fn routes() -> Router<App> {
    Router::new().route("/api/sessions/{id}/messages", routing::get(list).post(say))
}

/// What describes them.
#[derive(OpenApi)]
#[openapi(paths(list, say))]
pub(super) struct Document;

/// What was said to a session, oldest first
#[utoipa::path(get, path = "/api/sessions/{id}/messages", tag = "messages", params(("id" = IdText, Path), PageQuery),
    responses((status = 200, body = [MessageBody]), Failures))]
async fn list(
    State(app): State<App>,
    OneId(session): OneId<SessionId>,
    Paging(page): Paging,
) -> Result<Response, ApiError> {
    let found = app.store.read(Messages { session, page }).await?;
    Ok(listed(found, MessageBody::from))
}

/// Send a message to a session's agent; it receives it with its next call
#[utoipa::path(post, path = "/api/sessions/{id}/messages", tag = "messages", request_body = NewMessage,
    params(("id" = IdText, Path), Retry), responses((status = 201, body = MessageBody), Failures))]
async fn say(
    State(app): State<App>,
    Caller(actor): Caller,
    OneId(session): OneId<SessionId>,
    Sent { value, once }: Sent<NewMessage>,
) -> Result<Response, ApiError> {
    let text = required(value.text, "text is required")?;
    let from = match (actor.session(), value.from) {
        (Some(session), _) => session.to_string(),
        (None, Some(from)) if !from.trim().is_empty() => from.trim().to_owned(),
        (None, _) => "you".to_owned(),
    };
    let message = app.store.write_once(Say { session, from, text, actor }, once).await?;
    Ok((StatusCode::CREATED, Json(MessageBody::from(message))).into_response())
}
