//! How is the handler reached over HTTP? At `/mcp`, behind the same guard as the API.

use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use maestro_api::{ApiClient, RouterTransport};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};

use super::{Connection, Link, Mcp, Options};
use crate::api;
use crate::app::App;
use crate::skill_changes::Changes;

/// How large a message may be.
const BODY: usize = 1024 * 1024;
/// How many clients of the earlier protocol, which keeps sessions, may be there at once.
const MOST: usize = 4096;
/// How long one of them may say nothing.
const IDLE: Duration = Duration::from_hours(2);

/// What the handler needs of whoever starts the server.
pub struct Site {
    /// The directory that skills are looked for in and runs work in, where no project is named.
    pub directory: PathBuf,
    /// Rings when skills have changed.
    pub changes: Changes,
}

/// The route of the handler.
pub(crate) fn route(app: &App, site: &Site) -> Router<App> {
    let mcp = Mcp::new(options(app, site), app.closing.subscribe());
    // Every client that is there has a link.
    let links: Mutex<Vec<Weak<Link>>> = Mutex::default();
    let new = move || {
        let mut links = links.lock().unwrap_or_else(PoisonError::into_inner);
        links.retain(|link| link.strong_count() > 0);
        if links.len() >= MOST {
            return Err(io::Error::other("too many clients are connected"));
        }
        let mcp = mcp.for_another();
        links.push(Arc::downgrade(&mcp.link));
        Ok(mcp)
    };
    // Hosts and origins were looked at by the guard, which knows more names of ours.
    let config = StreamableHttpServerConfig::default()
        .disable_allowed_hosts()
        .disable_allowed_origins()
        .with_max_request_body_bytes(BODY);
    let (mut closing, ending) = (app.closing.subscribe(), config.cancellation_token.clone());
    tokio::spawn(async move {
        // When nobody is left who could say so, it is over too.
        let _ = closing.wait_for(|closing| *closing).await;
        ending.cancel();
    });
    let service = StreamableHttpService::new(new, Arc::new(sessions()), config);
    Router::new().route_service("/mcp", service)
}

/// Sessions of the earlier protocol, which last as long as somebody may think about a question.
fn sessions() -> LocalSessionManager {
    let mut sessions = LocalSessionManager::default();
    sessions.session_config.keep_alive = Some(IDLE);
    sessions
}

/// The way to the API is the API itself, told who asks by what the guard made out.
fn options(app: &App, site: &Site) -> Options {
    let api = api::routes().layer(DefaultBodyLimit::max(BODY)).with_state(app.clone());
    let client = ApiClient::new(Arc::new(RouterTransport(api)));
    Options {
        connect: Arc::new(move || Ok(Connection { client: client.clone(), project: None })),
        host: Arc::clone(&app.host),
        changes: site.changes.clone(),
        directory: site.directory.clone(),
        session: None,
        task: None,
        version: app.facts.version.clone(),
    }
}
