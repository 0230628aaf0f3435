//! Long-lived access to what is stored, for a process that serves others: as a command has it, but without a server it
//! also executes directives of runs and does maintenance.

use std::sync::Arc;

use axum::http::HeaderMap;
use maestro_engine::daemon::run_maintenance;
use maestro_server::mcp::{Door, Opened};
use maestro_server::{App, Options, Shelves, router};
use tokio::runtime::Handle;
use tokio::task::AbortHandle;
use tower::ServiceExt as _;

use super::Target;
use super::http::Remote;
use super::link::local;
use crate::client::runs;
use crate::host::world::World;
use crate::host::{config, workshop};
use crate::output::error::CommandError;
use crate::server_process::database;

/// Finds the server or opens the database. Called from a thread of a runtime that may wait.
pub(crate) fn open(world: &World, shelves: &Shelves) -> Result<Opened, CommandError> {
    let client = runs::client(world)?;
    let project = runs::project(&client, world);
    let unfit = |error| CommandError::invalid(format!("cannot send the caller's identity to a server: {error}"));
    let signature = client.signature().map_err(unfit)?;
    let door = match client.target() {
        Target::Server(url) => to_server(Remote::new(url)?, signature),
        Target::Database(_) => {
            drop(client);
            to_database(world, shelves, signature)?
        }
    };
    Ok(Opened { door, project })
}

fn to_server(remote: Remote, signature: HeaderMap) -> Door {
    let remote = Arc::new(remote);
    Arc::new(move |mut request| {
        request.headers_mut().extend(signature.clone());
        let remote = Arc::clone(&remote);
        Box::pin(async move { remote.send(request).await.map_err(|error| error.message().to_owned()) })
    })
}

/// What is done beside all requests, as long as there is a door.
struct House(AbortHandle);

impl Drop for House {
    fn drop(&mut self) {
        self.0.abort();
    }
}

fn to_database(world: &World, shelves: &Shelves, signature: HeaderMap) -> Result<Door, CommandError> {
    let settings = config::settings(world)?;
    let store = database::open(database::place(world))?;
    store.set_rules(database::rules(&settings));
    let app = App::new(Options {
        shelves: Arc::clone(shelves),
        workshop: Some(workshop::of(world, shelves)?),
        ..local(store, database::retention(&settings), world)
    });
    let house = House(Handle::current().spawn(run_maintenance(app.maintenance())).abort_handle());
    let router = router(app);
    Ok(Arc::new(move |mut request| {
        // A caller that drops this has found a server, which does its own maintenance.
        let _ = &house;
        request.headers_mut().extend(signature.clone());
        let router = router.clone();
        Box::pin(async move { Ok(router.oneshot(request).await.unwrap_or_else(|never| match never {})) })
    }))
}
