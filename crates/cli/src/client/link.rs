//! Lookup of the server: the named one, else the one that runs here, else none; a server that
//! restarted at another address is found there.

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::http::{Request, header};
use maestro_server::{Access, App, Options, router};
use maestro_store::{AnySilent, ExpireSilent, Store};
use serde_json::Value as Json;
use tokio::runtime::Runtime;
use tokio::sync::OnceCell;

use super::all;
use super::http::Remote;
use crate::host::world::World;
use crate::host::{config, shelves};
use crate::output::error::CommandError;
use crate::server_process::found::ServerFile;
use crate::server_process::{database, token, workers};

/// The way to what is spoken to.
pub(super) enum Link {
    Remote(Box<Reached>),
    Local { router: Box<Router>, database: String },
}

/// A server, where it was said to be or where it is by now.
pub(super) struct Reached {
    named: Remote,
    moved: OnceCell<Remote>,
    /// By what a session looks for the server that started it, which may come back at another address.
    seeker: Option<World>,
}

impl Reached {
    fn at(named: Remote, world: &World) -> Box<Self> {
        let is_session = world.variable("MAESTRO_SESSION_TOKEN").is_some() && world.aim.server.is_none();
        Box::new(Self { named, moved: OnceCell::new(), seeker: is_session.then(|| world.clone()) })
    }

    /// The server.
    pub(super) fn remote(&self) -> &Remote {
        self.moved.get().unwrap_or(&self.named)
    }

    /// Looks whether it is somewhere else now.
    pub(super) async fn look_again(&self) {
        if let Some(world) = &self.seeker
            && let Some(remote) = running(world).await
        {
            // An earlier lookup found the same.
            let _ = self.moved.set(remote);
        }
    }
}

impl Link {
    /// The server that was named; else the one that runs on the same database; else none.
    pub(super) fn find(world: &World, runtime: &Runtime) -> Result<Self, CommandError> {
        let variables = ["MAESTRO_API_URL", "MAESTRO_SERVER_URL"];
        let named = world.aim.server.as_deref().or_else(|| variables.into_iter().find_map(|name| world.variable(name)));
        if let Some(url) = named {
            return Ok(Self::Remote(Reached::at(Remote::new(url)?, world)));
        }
        if let Some(remote) = runtime.block_on(running(world)) {
            return Ok(Self::Remote(Reached::at(remote, world)));
        }
        if world.variable("MAESTRO_SESSION_TOKEN").is_some() {
            return Err(CommandError::network("cannot reach the server of this session")
                .hint("run `maestro up`; sessions cannot open the database"));
        }
        let settings = config::settings(world)?;
        let place = database::place(world);
        let database = database::shown(&place);
        // Outside of the runtime, because opening a database waits for it.
        let store = database::open(place)?;
        store.set_rules(database::rules(&settings));
        runtime.block_on(expire(&store));
        let app = App::new(local(store, database::retention(&settings), world));
        Ok(Self::Local { router: Box::new(router(app)), database })
    }

    /// The token that the server on this machine keeps for its user; nothing for any other server.
    pub(super) async fn kept_token(&self, world: &World) -> Option<String> {
        let Self::Remote(reached) = self else { return None };
        let file = ServerFile::read(&world.maestro_home).filter(|file| file.kept_token)?;
        let token = token::kept(&world.maestro_home)?;
        is_that(reached.remote(), &file).await.then_some(token)
    }

    pub(super) fn host(&self) -> &str {
        match self {
            Self::Remote(reached) => reached.remote().authority(),
            Self::Local { .. } => "localhost",
        }
    }
}

/// What the router needs when no server runs.
pub(super) fn local(store: Store, retention: i64, world: &World) -> Options {
    Options {
        store,
        access: Access::Local,
        hosts: Vec::new(),
        instance: String::new(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        hostname: hostname(),
        clock: database::clock(),
        retention,
        shelves: shelves::once(world),
        around: workers::around(world, None),
        workshop: None,
        journal: Arc::new(|_| {}),
        mcp: None,
    }
}

/// Ends sessions that fell silent while no server was there to notice.
async fn expire(store: &Store) {
    let silent = AnySilent { now: database::clock()(), silence: store.rules().silence };
    // Whatever is wrong with the database, the command itself will tell.
    if let Ok(true) = store.read(silent).await {
        let _ = store.write(ExpireSilent).await;
    }
}

/// The name of this machine.
pub(crate) fn hostname() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    name.trim().to_owned()
}

/// The server that wrote itself down, if it is still that one.
pub(crate) async fn running(world: &World) -> Option<Remote> {
    let file = ServerFile::read(&world.maestro_home)?;
    if file.database != database::shown(&database::place(world)) {
        return None;
    }
    let remote = Remote::new(&file.url).ok()?;
    is_that(&remote, &file).await.then_some(remote)
}

/// Whether the server at the other end is the one that wrote this down.
async fn is_that(remote: &Remote, file: &ServerFile) -> bool {
    let ask = async || {
        let request = Request::get("/health").header(header::HOST, remote.authority()).body(Body::empty()).ok()?;
        let answer = all(remote.send(request).await.ok()?).await.ok()?;
        serde_json::from_slice::<Json>(&answer).ok()
    };
    ask().await.is_some_and(|health| health["instance"] == file.instance.as_str())
}
