//! Health of the server: whether it answers, which one it is, and what fails.

use axum::extract::{Extension, State};
use axum::{Router, routing};
use maestro_api::server::{HealthFailure, HealthReply};
use utoipa::OpenApi;

use crate::app::AppState;
use crate::caller::Caller;
use crate::json_reply::JsonReply;

pub(super) fn routes() -> Router<AppState> {
    Router::new().route("/health", routing::get(health))
}

/// What describes them.
#[derive(OpenApi)]
#[openapi(paths(health))]
pub(super) struct HealthApiDoc;

/// What fails now: the database first, then parts of the daemon.
pub(crate) fn failures(app: &AppState) -> Vec<HealthFailure> {
    let database = app.store.failure().map(|failure| HealthFailure {
        what: "database".to_owned(),
        since: failure.since,
        failures: failure.failures,
        reason: failure.reason,
    });
    let parts = app.drivers.health().failures().into_iter().map(|failure| HealthFailure {
        what: format!("{}: {}", failure.task.part, failure.task.subject),
        since: failure.since,
        failures: failure.failures,
        reason: failure.reason,
    });
    database.into_iter().chain(parts).collect()
}

/// Whether the server lives
#[utoipa::path(get, path = "/health", tag = "server", responses((status = 200, body = HealthReply)))]
async fn health(State(app): State<AppState>, caller: Option<Extension<Caller>>) -> JsonReply<HealthReply> {
    let mut degraded = failures(&app);
    let status = if degraded.is_empty() { "ok" } else { "degraded" };
    // Whether the server works is no secret; why not may name what only its users may know.
    if caller.is_none_or(|Extension(caller)| caller == Caller::Stranger) {
        degraded.clear();
    }
    JsonReply(HealthReply {
        status: status.into(),
        timestamp: (app.clock)(),
        uptime: app.facts.started.elapsed().as_secs_f64(),
        instance: app.facts.instance.clone(),
        version: app.facts.version.clone(),
        degraded,
    })
}
