//! HTTP transport of the MCP server at `/mcp`, behind the same guard as the API.

use std::io;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use maestro_api::{ApiClient, RouterTransport};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};

use super::{ClientLink, Connection, McpHandler, McpOptions, McpPlace, OpenFolders};
use crate::api;
use crate::app::{AppState, McpSite};

/// The largest message.
const BODY: usize = 1024 * 1024;
/// How many clients of the earlier protocol, which keeps sessions, may be connected at once.
const MOST: usize = 4096;
/// How long one of them may be idle.
const IDLE: Duration = Duration::from_hours(2);

/// The route of the handler.
pub(crate) fn route(app: &AppState, site: &McpSite) -> Router<AppState> {
    let mcp = McpHandler::new(options(app, site), app.closing.subscribe());
    // Every connected client has a link.
    let links: Mutex<Vec<Weak<ClientLink>>> = Mutex::default();
    let new = move || {
        let mut links = links.lock().unwrap_or_else(PoisonError::into_inner);
        links.retain(|link| link.strong_count() > 0);
        if links.len() >= MOST {
            return Err(io::Error::other("too many clients are connected"));
        }
        let mcp = mcp.for_client();
        links.push(Arc::downgrade(&mcp.link));
        Ok(mcp)
    };
    // The guard has checked hosts and origins; it knows more names of ours.
    let config = StreamableHttpServerConfig::default()
        .disable_allowed_hosts()
        .disable_allowed_origins()
        .with_max_request_body_bytes(BODY);
    let (mut closing, ending) = (app.closing.subscribe(), config.cancellation_token.clone());
    tokio::spawn(async move {
        // Without a sender it is over too.
        let _ = closing.wait_for(|closing| *closing).await;
        ending.cancel();
    });
    let service = StreamableHttpService::new(new, Arc::new(sessions()), config);
    Router::new().route_service("/mcp", service)
}

/// Sessions of the earlier protocol, which live as long as a person may think about a question.
fn sessions() -> LocalSessionManager {
    let mut sessions = LocalSessionManager::default();
    sessions.session_config.keep_alive = Some(IDLE);
    sessions
}

/// The transport is the API itself, with the caller that the guard identified.
fn options(app: &AppState, site: &McpSite) -> McpOptions {
    let api = api::routes(app).layer(DefaultBodyLimit::max(BODY)).with_state(app.clone());
    let client = ApiClient::new(Arc::new(RouterTransport(api)));
    McpOptions {
        connect: Arc::new(move |_| Ok(Connection { client: client.clone(), project: None })),
        host: Arc::clone(&app.host),
        changes: site.changes.clone(),
        place: McpPlace { directory: site.directory.clone(), folders: OpenFolders::Ignore, home: None },
        session: None,
        task: None,
        version: app.facts.version.clone(),
    }
}
