//! Ways to reach the API: over connections, or called in the same process.

use std::path::PathBuf;

use axum::Router;
use axum::extract::{DefaultBodyLimit, Extension, State};
use axum::http::{Method, StatusCode, Uri, header};
use axum::middleware;
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use maestro_api::tokens::SignInLink;
use maestro_engine::caller_sockets::SocketOrder;
use maestro_engine::worker::AgentWorker;
use tokio::net::{TcpListener, UnixListener, UnixStream};
use tokio::sync::mpsc;

use crate::api;
use crate::app::AppState;
use crate::caller_sockets;
use crate::connections::{Acceptor, ConnectionLimits};
use crate::error::ApiError;
use crate::guard;
use crate::mcp;
use crate::metrics::ProcessCounts;
use crate::origin::RequestOrigin;
use crate::page;
use crate::peer;
use crate::run_sharing::RunSharer;

/// How large a body may be.
const BODY: usize = 1024 * 1024;

/// The whole API as one service. Where clients of the Model Context Protocol are answered too, it is made inside of a
/// runtime.
pub fn router(app: AppState) -> Router {
    let mcp = app.facts.mcp.as_ref().map(|site| mcp::route(&app, site)).unwrap_or_default();
    api::routes(&app)
        .route("/metrics", get(metrics))
        .merge(page::routes(&app))
        .merge(api::docs_page::routes())
        .merge(mcp)
        .fallback(page::not_found)
        .method_not_allowed_fallback(method_not_allowed)
        .layer(Extension(RunSharer(page::share_run)))
        .layer(DefaultBodyLimit::max(BODY))
        .layer(middleware::from_fn_with_state(app.clone(), page::note_change))
        .layer(middleware::from_fn_with_state(app.clone(), guard::guard))
        .with_state(app)
}

/// The metrics of this process.
async fn metrics(State(app): State<AppState>) -> Response {
    let (commits, changes) = app.store.commits();
    let (watchers, uptime) = (app.feed.watchers(), app.facts.started.elapsed());
    let text = app.metrics.to_text(&ProcessCounts { commits, changes, watchers, uptime });
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4")], text).into_response()
}

async fn method_not_allowed(method: Method, uri: Uri) -> ApiError {
    let message = format!("{} cannot be done with {method}", uri.path());
    ApiError::new(StatusCode::METHOD_NOT_ALLOWED, "METHOD_NOT_ALLOWED", message)
}

/// Where a server listens.
#[derive(Default)]
pub struct ServerListeners {
    /// On the network.
    pub network: Vec<TcpListener>,
    /// The user's own socket.
    pub user: Option<UnixListener>,
    /// Orders for sockets of sessions and runs.
    pub orders: Option<mpsc::Receiver<SocketOrder>>,
    /// What their connections may take.
    pub limits: ConnectionLimits,
}

/// Answers requests and runs the daemon until `shutdown` ends, and then lets open requests finish.
pub async fn serve(
    listeners: ServerListeners,
    app: AppState,
    worker: Option<AgentWorker>,
    shutdown: impl Future<Output = ()>,
) {
    let acceptor = Acceptor::new(router(app.clone()), listeners.limits);
    let mut tasks = tokio::task::JoinSet::new();
    for listener in listeners.network {
        tasks.spawn(acceptor.clone().accept_network(listener));
    }
    if let Some(listener) = listeners.user {
        let origin = |stream: &UnixStream| RequestOrigin::UserSocket(peer::examine(stream));
        tasks.spawn(acceptor.clone().accept_socket(listener, origin));
    }
    if let Some(orders) = listeners.orders {
        tasks.spawn(caller_sockets::serve_orders(orders, sessions_folder(&app), acceptor.clone()));
    }
    // Its agents end with it, and continue when there is a worker again.
    tasks.spawn(app.daemon(worker).run());
    shutdown.await;
    tasks.shutdown().await;
    app.drivers.write_summaries().await;
    app.closing.send_replace(true);
    acceptor.finish().await;
}

/// Serves the sockets of sessions and runs only: for a worker beside a server.
pub async fn serve_sockets(orders: mpsc::Receiver<SocketOrder>, app: AppState) {
    let acceptor = Acceptor::new(router(app.clone()), ConnectionLimits::default());
    caller_sockets::serve_orders(orders, sessions_folder(&app), acceptor).await;
}

fn sessions_folder(app: &AppState) -> PathBuf {
    PathBuf::from(&app.facts.endpoints.sessions)
}

/// A link by which a browser signs in, once.
pub fn sign_in_link(app: &AppState) -> Result<SignInLink, String> {
    app.sign_in.make_link(&app.facts.url, (app.clock)()).map_err(|error| error.to_string())
}

/// A link by which a phone in the same network signs in, once; nothing where the network does not reach the server.
pub fn phone_link(app: &AppState) -> Result<Option<SignInLink>, String> {
    let Some(address) = &app.facts.phone else { return Ok(None) };
    app.sign_in.make_link(address, (app.clock)()).map(Some).map_err(|error| error.to_string())
}
