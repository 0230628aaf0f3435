//! WebSocket endpoint, and its clients.

use axum::extract::ws::WebSocketUpgrade;
use axum::extract::{FromRequestParts, Request, State};
use axum::response::Response;
use axum::{Json, Router, routing};
use maestro_api::server::{ListenerBody, ListenerList};
use utoipa::OpenApi;

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

/// Who listens over a WebSocket
#[utoipa::path(get, path = "/ws-status", tag = "server", responses((status = 200, body = ListenerList), Failures))]
async fn status(State(app): State<App>) -> Json<ListenerList> {
    let connected_clients = app.hub.clients();
    let listener = ListenerBody { ready_state: 1, ready_state_text: "OPEN".into() };
    Json(ListenerList { connected_clients, clients: vec![listener; connected_clients] })
}
