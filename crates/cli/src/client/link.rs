//! The peer of a client: the named server, else the one that runs here, else a router in this process. A server that
//! restarts at another address is found there.

use std::sync::Arc;

use axum::Router;
use futures_util::future::BoxFuture;
use maestro_api::{ApiClient, HttpConnection, HttpRequest, RouterTransport, SendFuture, Transport, server};
use maestro_server::{AccessPolicy, AppState, ServerOptions, router};
use maestro_store::{AnySilentSession, ExpireSilentSessions, Store};
use tokio::runtime::Runtime;
use tokio::sync::OnceCell;

use super::ClientTarget;
use crate::host::cli_host::CliHost;
use crate::host::config;
use crate::host::server_token;
use crate::host::world::World;
use crate::output::command_output::CommandResult;
use crate::output::error::CommandError;
use crate::server_process::server_file::ServerFile;
use crate::server_process::{database, worker_host};

/// The way to what is spoken to.
pub(super) enum ApiLink {
    Remote(Arc<ServerLink>),
    Local { router: Arc<RouterTransport<Router>>, database: String },
}

/// A server, where it was said to be or where it is by now.
pub(super) struct ServerLink {
    named: Arc<HttpConnection>,
    moved: OnceCell<Arc<HttpConnection>>,
    /// By what a session looks for the server that started it, which may come back at another address.
    seeker: Option<World>,
}

impl ServerLink {
    fn at(named: Arc<HttpConnection>, world: &World) -> Arc<Self> {
        let is_session = world.variable("MAESTRO_SESSION_TOKEN").is_some() && world.aim.server.is_none();
        Arc::new(Self { named, moved: OnceCell::new(), seeker: is_session.then(|| world.clone()) })
    }

    fn connection(&self) -> &Arc<HttpConnection> {
        self.moved.get().unwrap_or(&self.named)
    }
}

impl Transport for ServerLink {
    fn send(&self, request: HttpRequest) -> SendFuture<'_> {
        self.connection().send(request)
    }

    fn find_again(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            if let Some(world) = &self.seeker
                && let Some(connection) = running(world).await
            {
                // Another request may have found the same one first.
                let _ = self.moved.set(connection);
            }
        })
    }
}

impl ApiLink {
    /// The server that was named; else the one that runs on the same database; else none.
    pub(super) fn find(world: &World, runtime: &Runtime) -> CommandResult<Self> {
        let variables = ["MAESTRO_API_URL", "MAESTRO_SERVER_URL"];
        let named = world.aim.server.as_deref().or_else(|| variables.into_iter().find_map(|name| world.variable(name)));
        if let Some(url) = named {
            return Ok(Self::Remote(ServerLink::at(Arc::new(HttpConnection::new(url)?), world)));
        }
        if let Some(connection) = runtime.block_on(running(world)) {
            return Ok(Self::Remote(ServerLink::at(connection, world)));
        }
        if world.variable("MAESTRO_SESSION_TOKEN").is_some() {
            return Err(CommandError::network("cannot reach the server of this session")
                .hint("run `maestro up`; sessions cannot open the database"));
        }
        let settings = config::settings(world)?;
        let place = database::database_url(world);
        let database = database::display_url(&place);
        // Outside of the runtime, because opening a database waits for it.
        let store = database::open(place)?;
        store.set_rules(database::rules(&settings));
        runtime.block_on(expire(&store));
        let app = AppState::new(local(store, database::retention(&settings), world));
        Ok(Self::Local { router: Arc::new(RouterTransport(router(app))), database })
    }

    /// What carries requests to it.
    pub(super) fn transport(&self) -> Arc<dyn Transport> {
        match self {
            Self::Remote(server) => Arc::clone(server) as Arc<dyn Transport>,
            Self::Local { router, .. } => Arc::clone(router) as Arc<dyn Transport>,
        }
    }

    pub(super) fn target(&self) -> ClientTarget<'_> {
        match self {
            Self::Remote(server) => ClientTarget::Server(server.connection().url()),
            Self::Local { database, .. } => ClientTarget::Database(database),
        }
    }

    /// The token that the server on this machine keeps for its user; nothing for any other server.
    pub(super) async fn stored_token(&self, world: &World) -> Option<String> {
        let Self::Remote(server) = self else { return None };
        let file = ServerFile::read(&world.maestro_home).filter(|file| file.kept_token)?;
        let token = server_token::stored(&world.maestro_home)?;
        is_instance(server.connection(), &file).await.then_some(token)
    }
}

/// What the router needs when no server runs.
pub(super) fn local(store: Store, retention: i64, world: &World) -> ServerOptions {
    ServerOptions {
        store,
        access: AccessPolicy::Local,
        hosts: Vec::new(),
        instance: String::new(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        hostname: hostname(),
        clock: database::clock(),
        retention,
        backups: None,
        host: Arc::new(CliHost::reading(world)),
        endpoints: worker_host::agent_endpoints(world, None),
        execution: None,
        mcp: None,
    }
}

/// Ends sessions that fell silent while no server was there to notice.
async fn expire(store: &Store) {
    let silent = AnySilentSession { now: database::clock()(), silence: store.rules().silence_limit };
    // Whatever is wrong with the database, the command itself will tell.
    if let Ok(true) = store.read(silent).await
        && let Err(error) = store.write(ExpireSilentSessions).await
    {
        tracing::warn!("silent sessions were not ended: {error}");
    }
}

/// The name of this machine.
pub(crate) fn hostname() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    name.trim().to_owned()
}

/// The server that wrote itself down, if it is still that one.
pub(crate) async fn running(world: &World) -> Option<Arc<HttpConnection>> {
    let file = ServerFile::read(&world.maestro_home)?;
    if file.database != database::display_url(&database::database_url(world)) {
        return None;
    }
    let connection = Arc::new(HttpConnection::new(&file.url).ok()?);
    is_instance(&connection, &file).await.then_some(connection)
}

/// Whether the server at the other end is the one that wrote this down.
async fn is_instance(connection: &Arc<HttpConnection>, file: &ServerFile) -> bool {
    let client = ApiClient::new(Arc::clone(connection) as Arc<dyn Transport>);
    client.call(server::health()).await.is_ok_and(|health| health.instance == file.instance)
}
