//! How a session is steered, and how it is known to be alive, over HTTP.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::{Json, Router, routing};
use maestro_core::id::SessionId;
use maestro_store::{IssueToken, Once, Order, RenewLease, Steer};
use serde::{Deserialize, Serialize};
use utoipa::{OpenApi, ToSchema};

use super::Failures;
use super::sessions::whole;
use crate::app::App;
use crate::caller::Caller;
use crate::error::ApiError;
use crate::extract::{Nothing, OneId, Retry, Sent, whole_number};
use crate::wire::SessionJson;
use crate::wire::words::Id;

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

/// Tell a session to wait; its agent hears of it with its next call
#[utoipa::path(post, path = "/api/sessions/{id}/pause", tag = "sessions", params(("id" = Id, Path), Retry),
    responses((status = 200, body = SessionJson), Failures))]
async fn pause(
    State(app): State<App>,
    caller: Caller,
    OneId(id): OneId<SessionId>,
    Sent { once, .. }: Sent<Nothing>,
) -> Result<Response, ApiError> {
    steer(&app, caller, id, Order::Pause, once).await
}

/// Tell a session to go on
#[utoipa::path(post, path = "/api/sessions/{id}/resume", tag = "sessions", params(("id" = Id, Path), Retry),
    responses((status = 200, body = SessionJson), Failures))]
async fn resume(
    State(app): State<App>,
    caller: Caller,
    OneId(id): OneId<SessionId>,
    Sent { once, .. }: Sent<Nothing>,
) -> Result<Response, ApiError> {
    steer(&app, caller, id, Order::Resume, once).await
}

/// Tell a session to end
#[utoipa::path(post, path = "/api/sessions/{id}/cancel", tag = "sessions", params(("id" = Id, Path), Retry),
    responses((status = 200, body = SessionJson), Failures))]
async fn cancel(
    State(app): State<App>,
    caller: Caller,
    OneId(id): OneId<SessionId>,
    Sent { once, .. }: Sent<Nothing>,
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

/// A session's token.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct Token {
    #[schema(value_type = Id)]
    session_id: String,
    /// Seen this once.
    token: String,
}

/// Make a token for a session; from then on its name alone is not enough
#[utoipa::path(post, path = "/api/sessions/{id}/token", tag = "sessions", params(("id" = Id, Path)),
    responses((status = 201, body = Token), Failures))]
async fn issue_token(
    State(app): State<App>,
    caller: Caller,
    OneId(session): OneId<SessionId>,
) -> Result<Response, ApiError> {
    caller.person("make tokens")?;
    let token = app.store.write(IssueToken { session: session.clone() }).await?;
    Ok((StatusCode::CREATED, Json(Token { session_id: session.into(), token })).into_response())
}

/// For how long a session's process is certainly alive.
#[derive(Debug, Deserialize, ToSchema)]
struct Lease {
    /// Milliseconds from now, at most an hour.
    #[serde(default, deserialize_with = "whole_number")]
    #[schema(value_type = i64, required = true, minimum = 1, maximum = 3_600_000)]
    duration: Option<i64>,
}

/// Say that a session's process is alive, whatever its agent says
#[utoipa::path(post, path = "/api/sessions/{id}/lease", tag = "sessions", request_body = Lease,
    params(("id" = Id, Path)), responses((status = 204), Failures))]
async fn renew_lease(
    State(app): State<App>,
    caller: Caller,
    OneId(session): OneId<SessionId>,
    Sent { value, .. }: Sent<Lease>,
) -> Result<StatusCode, ApiError> {
    caller.speaks_for(&session)?;
    let duration = value.duration.ok_or_else(|| ApiError::field("duration", "is required"))?;
    if !(1..=3_600_000).contains(&duration) {
        return Err(ApiError::field("duration", "must be 1 to 3600000 milliseconds"));
    }
    app.store.write(RenewLease { session, duration }).await?;
    Ok(StatusCode::NO_CONTENT)
}
