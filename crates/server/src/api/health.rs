//! Health of the server: whether it answers, which one it is, and what fails.

use axum::extract::State;
use axum::http::HeaderMap;
use axum::{Json, Router, routing};
use serde::Serialize;
use utoipa::{OpenApi, ToSchema};

use crate::app::App;
use crate::caller::identify;

pub(super) fn routes() -> Router<App> {
    Router::new().route("/health", routing::get(health))
}

/// What describes them.
#[derive(OpenApi)]
#[openapi(paths(health))]
pub(super) struct Document;

/// That the server lives.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Health {
    /// `ok`, or `degraded` while something fails.
    status: &'static str,
    /// The time.
    timestamp: i64,
    /// For how many seconds it has lived.
    uptime: f64,
    /// Which server it is.
    instance: String,
    /// Which Maestro it is.
    version: String,
    /// What fails, for callers that may know it; absent while nothing does.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    degraded: Vec<HealthFailure>,
}

/// Something that fails and is tried again.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct HealthFailure {
    /// What fails: `database`, or a part of the daemon and what it is about.
    pub(crate) what: String,
    /// Since when.
    pub(crate) since: i64,
    /// How often it failed since then.
    pub(crate) failures: u64,
    /// Why it failed last.
    pub(crate) reason: String,
}

/// What fails now: the database first, then parts of the daemon.
pub(crate) fn failures(app: &App) -> Vec<HealthFailure> {
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
#[utoipa::path(get, path = "/health", tag = "server", responses((status = 200, body = Health)))]
async fn health(State(app): State<App>, headers: HeaderMap) -> Json<Health> {
    let mut degraded = failures(&app);
    let status = if degraded.is_empty() { "ok" } else { "degraded" };
    // Whether the server works is no secret; why not may name what only its users may know.
    if !degraded.is_empty() && identify(&app, &headers).await.is_err() {
        degraded.clear();
    }
    Json(Health {
        status,
        timestamp: (app.clock)(),
        uptime: app.facts.started.elapsed().as_secs_f64(),
        instance: app.facts.instance.clone(),
        version: app.facts.version.clone(),
        degraded,
    })
}
