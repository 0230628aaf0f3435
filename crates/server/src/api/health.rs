//! Does the server live, and which one is it?

use axum::extract::State;
use axum::{Json, Router, routing};
use serde::Serialize;
use utoipa::{OpenApi, ToSchema};

use crate::app::App;

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
    /// Always `ok`.
    status: &'static str,
    /// The time.
    timestamp: i64,
    /// For how many seconds it has lived.
    uptime: f64,
    /// Which server it is.
    instance: String,
    /// Which Maestro it is.
    version: String,
}

/// Whether the server lives
#[utoipa::path(get, path = "/health", tag = "server", responses((status = 200, body = Health)))]
async fn health(State(app): State<App>) -> Json<Health> {
    Json(Health {
        status: "ok",
        timestamp: (app.clock)(),
        uptime: app.facts.started.elapsed().as_secs_f64(),
        instance: app.facts.instance.clone(),
        version: app.facts.version.clone(),
    })
}
