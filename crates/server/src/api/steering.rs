//! Pause, resume, cancel and heartbeat of a session, over HTTP.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::{Json, Router, routing};
use maestro_api::fields::EmptyBody;
use maestro_api::sessions::{LeaseRequest, SessionBody, TokenReply};
use maestro_api::words::IdText;
use maestro_core::id::SessionId;
use maestro_store::{IssueToken, Once, Order, RenewLease, Steer};
use utoipa::OpenApi;

use super::Failures;
use super::sessions::whole;
use crate::app::App;
use crate::caller::Caller;
use crate::error::ApiError;
use crate::extract::{OneId, Retry, Sent};

pub(super) fn routes() -> Router<App> {
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
pub(super) struct Document;

/// Pause a session; its agent learns of it with its next call
#[utoipa::path(post, path = "/api/sessions/{id}/pause", tag = "sessions", params(("id" = IdText, Path), Retry),
    responses((status = 200, body = SessionBody), Failures))]
async fn pause(
    State(app): State<App>,
    caller: Caller,
    OneId(id): OneId<SessionId>,
    Sent { once, .. }: Sent<EmptyBody>,
) -> Result<Response, ApiError> {
    steer(&app, caller, id, Order::Pause, once).await
}

/// Resume a session
#[utoipa::path(post, path = "/api/sessions/{id}/resume", tag = "sessions", params(("id" = IdText, Path), Retry),
    responses((status = 200, body = SessionBody), Failures))]
async fn resume(
    State(app): State<App>,
    caller: Caller,
    OneId(id): OneId<SessionId>,
    Sent { once, .. }: Sent<EmptyBody>,
) -> Result<Response, ApiError> {
    steer(&app, caller, id, Order::Resume, once).await
}

/// Cancel a session
#[utoipa::path(post, path = "/api/sessions/{id}/cancel", tag = "sessions", params(("id" = IdText, Path), Retry),
    responses((status = 200, body = SessionBody), Failures))]
async fn cancel(
    State(app): State<App>,
    caller: Caller,
    OneId(id): OneId<SessionId>,
    Sent { once, .. }: Sent<EmptyBody>,
) -> Result<Response, ApiError> {
    steer(&app, caller, id, Order::Cancel, once).await
}

async fn steer(
    app: &App,
    Caller(actor): Caller,
    id: SessionId,
    order: Order,
    once: Option<Once>,
) -> Result<Response, ApiError> {
    app.store.write_once(Steer { id: id.clone(), order, actor }, once).await?;
    whole(app, id).await
}

/// Make a token for a session; from then on its name alone is not enough
#[utoipa::path(post, path = "/api/sessions/{id}/token", tag = "sessions", params(("id" = IdText, Path)),
    responses((status = 201, body = TokenReply), Failures))]
async fn issue_token(
    State(app): State<App>,
    caller: Caller,
    OneId(session): OneId<SessionId>,
) -> Result<Response, ApiError> {
    caller.person("make tokens")?;
    let token = app.store.write(IssueToken { session: session.clone() }).await?;
    Ok((StatusCode::CREATED, Json(TokenReply { session_id: session.into(), token })).into_response())
}

/// Say that a session's process is alive, whatever its agent says
#[utoipa::path(post, path = "/api/sessions/{id}/lease", tag = "sessions", request_body = LeaseRequest,
    params(("id" = IdText, Path)), responses((status = 204), Failures))]
async fn renew_lease(
    State(app): State<App>,
    caller: Caller,
    OneId(session): OneId<SessionId>,
    Sent { value, .. }: Sent<LeaseRequest>,
) -> Result<StatusCode, ApiError> {
    caller.speaks_for(&session)?;
    let duration = value.duration.ok_or_else(|| ApiError::field("duration", "is required"))?;
    if !(1..=3_600_000).contains(&duration) {
        return Err(ApiError::field("duration", "must be 1 to 3600000 milliseconds"));
    }
    app.store.write(RenewLease { session, duration }).await?;
    Ok(StatusCode::NO_CONTENT)
}
