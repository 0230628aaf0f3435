//! The peer of a client: the named server, else the one that runs here, else a router in this process. A server that
//! restarts at another address is found there.

use std::path::Path;
use std::sync::Arc;

use axum::Router;
use futures_util::future::BoxFuture;
use maestro_api::{ApiClient, HttpConnection, HttpRequest, RouterTransport, SendFuture, Transport, server};
use maestro_engine::caller_sockets;
use maestro_engine::daemon::EventRetention;
use maestro_server::{AccessPolicy, AppState, ServerOptions, router};
use maestro_store::{AnySilentSession, ExpireSilentSessions, Store};
use tokio::runtime::Runtime;
use tokio::sync::OnceCell;

use super::ClientTarget;
use crate::host::cli_host::CliHost;
use crate::host::config;
use crate::host::runtime;
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
        let is_session = is_program_of_ours(world) && world.aim.server.is_none();
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
        let named = world.aim.server.as_deref().or_else(|| named_by_variable(world));
        if let Some(connection) = by_given_socket(world, named) {
            return Ok(Self::Remote(ServerLink::at(Arc::new(connection), world)));
        }
        if let Some(url) = named {
            return Ok(Self::Remote(ServerLink::at(Arc::new(named_server(world, url)?), world)));
        }
        if let Some(connection) = runtime::wait(runtime, running(world)) {
            return Ok(Self::Remote(ServerLink::at(connection, world)));
        }
        if is_program_of_ours(world) {
            return Err(CommandError::network("cannot reach the server of this session")
                .hint("run `maestro up`; sessions cannot open the database"));
        }
        let settings = config::settings(world)?;
        let place = database::database_url(world);
        let database = database::display_url(&place);
        // Outside of the runtime, because opening a database waits for it.
        let store = database::open(place, world)?;
        store.set_rules(database::rules(&settings));
        runtime::wait(runtime, expire(&store));
        let app = AppState::new(local(store, world));
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

    /// The same way for another runtime; nothing where it ends in this process.
    pub(super) fn another_connection(&self) -> Option<HttpConnection> {
        match self {
            Self::Remote(server) => Some(server.connection().another()),
            Self::Local { .. } => None,
        }
    }
}

/// The server that the environment names.
pub(crate) fn named_by_variable(world: &World) -> Option<&str> {
    ["MAESTRO_API_URL", "MAESTRO_SERVER_URL"].into_iter().find_map(|name| world.variable(name))
}

/// Whether this is a program of a session or a step, which has no way to the database.
fn is_program_of_ours(world: &World) -> bool {
    [caller_sockets::VARIABLE, "MAESTRO_SESSION_TOKEN"].into_iter().any(|name| world.variable(name).is_some())
}

/// The socket that a program of a session or a step was given, unless another server is meant.
fn by_given_socket(world: &World, named: Option<&str>) -> Option<HttpConnection> {
    let socket = Path::new(world.variable(caller_sockets::VARIABLE)?);
    let own = named_by_variable(world);
    let is_meant = named.is_none() || named == own;
    // A server that ended took the socket with it; its successor may be found otherwise.
    (is_meant && socket.exists()).then(|| HttpConnection::over_socket(own.unwrap_or("http://localhost"), socket))
}

/// The server at an address; this home's own is reached by its socket, which identifies the user.
fn named_server(world: &World, url: &str) -> Result<HttpConnection, CommandError> {
    let own = ServerFile::read(&world.maestro_home).filter(|file| file.is_at(url));
    let socket = own.and_then(|file| file.socket).filter(|socket| socket.exists());
    Ok(match socket {
        Some(socket) => HttpConnection::over_socket(url, &socket),
        None => HttpConnection::new(url)?,
    })
}

/// What the router needs when no server runs.
pub(crate) fn local(store: Store, world: &World) -> ServerOptions {
    ServerOptions {
        store,
        access: AccessPolicy::Open,
        hosts: Vec::new(),
        instance: String::new(),
        site: String::new(),
        url: String::new(),
        phone: None,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        hostname: hostname(),
        clock: database::clock(),
        retention: EventRetention::Keep,
        backups: None,
        host: Arc::new(CliHost::reading(world)),
        endpoints: worker_host::agent_endpoints(world, None),
        hosting: None,
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
    let connection = Arc::new(match &file.socket {
        Some(socket) => HttpConnection::over_socket(&file.url, socket),
        None => HttpConnection::new(&file.url).ok()?,
    });
    is_instance(&connection, &file).await.then_some(connection)
}

/// Whether the server at the other end is the one that wrote this down.
async fn is_instance(connection: &Arc<HttpConnection>, file: &ServerFile) -> bool {
    let client = ApiClient::new(Arc::clone(connection) as Arc<dyn Transport>);
    client.call(server::health()).await.is_ok_and(|health| health.instance == file.instance)
}
