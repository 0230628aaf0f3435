//! WebSocket endpoint, and its clients.

use std::sync::Arc;

use axum::extract::ws::WebSocketUpgrade;
use axum::extract::{FromRequestParts, Request, State};
use axum::response::Response;
use axum::{Router, routing};
use maestro_api::server::{ListenerBody, ListenerList};
use utoipa::OpenApi;

use super::ApiFailures;
use crate::app::AppState;
use crate::caller::Caller;
use crate::error::ApiError;
use crate::json_reply::JsonReply;
use crate::live::ws;
use crate::request_limits::RequestTurn;

pub(super) fn routes() -> Router<AppState> {
    // The document describes requests and answers; a conversation is neither.
    Router::new().route("/ws-status", routing::get(socket_status)).route("/ws", routing::get(open_socket))
}

/// What describes them.
#[derive(OpenApi)]
#[openapi(paths(socket_status))]
pub(super) struct LiveApiDoc;

/// Opens a WebSocket; there is nothing else here.
pub(crate) async fn open_socket(State(app): State<AppState>, request: Request) -> Result<Response, ApiError> {
    if !ws::is_upgrade(request.headers()) {
        return Err(ApiError::not_found(format!("there is nothing at {} but a WebSocket", request.uri().path())));
    }
    let (mut parts, _) = request.into_parts();
    let caller = Caller::from_request_parts(&mut parts, &app).await?;
    let upgrade = WebSocketUpgrade::from_request_parts(&mut parts, &app).await;
    let upgrade = upgrade.map_err(|rejection| ApiError::invalid(rejection.body_text()))?;
    let turn = parts.extensions.get::<RequestTurn>().cloned();
    let scope = caller.project().cloned();
    ws::upgrade(Arc::clone(&app.hub), app.closing.subscribe(), scope, turn, upgrade).await
}

/// Who listens over a WebSocket
#[utoipa::path(get, path = "/ws-status", tag = "server", responses((status = 200, body = ListenerList), ApiFailures))]
async fn socket_status(State(app): State<AppState>) -> JsonReply<ListenerList> {
    let connected_clients = app.hub.clients();
    let listener = ListenerBody { ready_state: 1, ready_state_text: "OPEN".into() };
    JsonReply(ListenerList { connected_clients, clients: vec![listener; connected_clients] })
}
