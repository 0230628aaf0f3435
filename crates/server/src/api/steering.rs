//! Pause, resume, cancel and heartbeat of a session, over HTTP.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::{Router, routing};
use maestro_api::fields::EmptyBody;
use maestro_api::schemas::IdText;
use maestro_api::sessions::{LeaseRequest, SessionBody, TokenReply};
use maestro_core::id::SessionId;
use maestro_core::session::SessionControl;
use maestro_store::{ControlSession, IdempotencyKey, IssueToken, RenewLease};
use utoipa::OpenApi;

use super::ApiFailures;
use super::sessions::session_response;
use crate::app::AppState;
use crate::caller::Caller;
use crate::error::ApiError;
use crate::extract::{IdempotencyHeader, JsonBody, PathId};
use crate::json_reply::JsonReply;

pub(super) fn routes() -> Router<AppState> {
    Router::new()
        .route("/api/sessions/{id}/pause", routing::post(pause))
        .route("/api/sessions/{id}/resume", routing::post(resume))
        .route("/api/sessions/{id}/cancel", routing::post(cancel))
        .route("/api/sessions/{id}/token", routing::post(issue_token))
        .route("/api/sessions/{id}/lease", routing::post(renew_lease))
}

/// What describes them.
#[derive(OpenApi)]
#[openapi(paths(pause, resume, cancel, issue_token, renew_lease))]
pub(super) struct SteeringApiDoc;

/// Pause a session; its agent learns of it with its next call
#[utoipa::path(post, path = "/api/sessions/{id}/pause", tag = "sessions", params(("id" = IdText, Path), IdempotencyHeader),
    responses((status = 200, body = SessionBody), ApiFailures))]
async fn pause(
    State(app): State<AppState>,
    caller: Caller,
    PathId(id): PathId<SessionId>,
    JsonBody { once, .. }: JsonBody<EmptyBody>,
) -> Result<Response, ApiError> {
    steer(&app, caller, id, SessionControl::Pause, once).await
}

/// Resume a session
#[utoipa::path(post, path = "/api/sessions/{id}/resume", tag = "sessions", params(("id" = IdText, Path), IdempotencyHeader),
    responses((status = 200, body = SessionBody), ApiFailures))]
async fn resume(
    State(app): State<AppState>,
    caller: Caller,
    PathId(id): PathId<SessionId>,
    JsonBody { once, .. }: JsonBody<EmptyBody>,
) -> Result<Response, ApiError> {
    steer(&app, caller, id, SessionControl::Resume, once).await
}

/// Cancel a session
#[utoipa::path(post, path = "/api/sessions/{id}/cancel", tag = "sessions", params(("id" = IdText, Path), IdempotencyHeader),
    responses((status = 200, body = SessionBody), ApiFailures))]
async fn cancel(
    State(app): State<AppState>,
    caller: Caller,
    PathId(id): PathId<SessionId>,
    JsonBody { once, .. }: JsonBody<EmptyBody>,
) -> Result<Response, ApiError> {
    steer(&app, caller, id, SessionControl::Cancel, once).await
}

async fn steer(
    app: &AppState,
    caller: Caller,
    id: SessionId,
    order: SessionControl,
    once: Option<IdempotencyKey>,
) -> Result<Response, ApiError> {
    app.store.write_once(ControlSession { id: id.clone(), control: order, actor: caller.actor() }, once).await?;
    session_response(app, id).await
}

/// Make a token for a session; from then on its name alone is not enough
#[utoipa::path(post, path = "/api/sessions/{id}/token", tag = "sessions", params(("id" = IdText, Path)),
    responses((status = 201, body = TokenReply), ApiFailures))]
async fn issue_token(
    State(app): State<AppState>,
    caller: Caller,
    PathId(session): PathId<SessionId>,
) -> Result<Response, ApiError> {
    caller.require_hand_out("make tokens")?;
    let token = app.store.write(IssueToken { session: session.clone() }).await?;
    Ok((StatusCode::CREATED, JsonReply(TokenReply { session_id: session.into(), token })).into_response())
}

/// Say that a session's process is alive, whatever its agent says
#[utoipa::path(post, path = "/api/sessions/{id}/lease", tag = "sessions", request_body = LeaseRequest,
    params(("id" = IdText, Path)), responses((status = 204), ApiFailures))]
async fn renew_lease(
    State(app): State<AppState>,
    caller: Caller,
    PathId(session): PathId<SessionId>,
    JsonBody { value, .. }: JsonBody<LeaseRequest>,
) -> Result<StatusCode, ApiError> {
    caller.check_session(&session)?;
    let duration = value.duration.ok_or_else(|| ApiError::field("duration", "is required"))?;
    if !(1..=3_600_000).contains(&duration) {
        return Err(ApiError::field("duration", "must be 1 to 3600000 milliseconds"));
    }
    app.store.write(RenewLease { session, duration }).await?;
    Ok(StatusCode::NO_CONTENT)
}
