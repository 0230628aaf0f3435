//! Where is a conversation opened, and who listens?

use axum::extract::ws::WebSocketUpgrade;
use axum::extract::{FromRequestParts, Request, State};
use axum::response::Response;
use axum::{Json, Router, routing};
use serde::Serialize;
use utoipa::{OpenApi, ToSchema};

use super::Failures;
use crate::app::App;
use crate::error::ApiError;
use crate::live::ws;

pub(super) fn routes() -> Router<App> {
    // The document describes requests and answers; a conversation is neither.
    Router::new().route("/ws-status", routing::get(status)).route("/ws", routing::get(open))
}

/// What describes them.
#[derive(OpenApi)]
#[openapi(paths(status))]
pub(super) struct Document;

/// Opens a WebSocket; there is nothing else here.
pub(crate) async fn open(State(app): State<App>, request: Request) -> Result<Response, ApiError> {
    if !ws::is_upgrade(request.headers()) {
        return Err(ApiError::not_found(format!("there is nothing at {} but a WebSocket", request.uri().path())));
    }
    let (mut parts, _) = request.into_parts();
    let upgrade = WebSocketUpgrade::from_request_parts(&mut parts, &app).await;
    let upgrade = upgrade.map_err(|rejection| ApiError::invalid(rejection.body_text()))?;
    ws::upgrade(app, upgrade).await
}

/// Who listens.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct Listeners {
    /// How many there are.
    connected_clients: usize,
    /// Each of them.
    clients: Vec<Listener>,
}

/// Somebody who listens.
#[derive(Debug, Clone, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct Listener {
    /// Always 1: whoever left is not in the list.
    ready_state: u8,
    /// Always `OPEN`.
    ready_state_text: &'static str,
}

/// Who listens over a WebSocket
#[utoipa::path(get, path = "/ws-status", tag = "server", responses((status = 200, body = Listeners), Failures))]
async fn status(State(app): State<App>) -> Json<Listeners> {
    let connected_clients = app.hub.clients();
    let listener = Listener { ready_state: 1, ready_state_text: "OPEN" };
    Json(Listeners { connected_clients, clients: vec![listener; connected_clients] })
}
