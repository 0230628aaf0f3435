//! Worker of this machine and user.

use std::sync::Arc;

use maestro_core::agent::spawn::Around;
use maestro_engine::daemon::DaemonHealth;
use maestro_engine::drive::Workshop;
use maestro_engine::worker::Worker;
use maestro_store::Store;

use crate::host::agents;
use crate::host::world::World;
use crate::output::error::CommandError;
use crate::server_process::database;

/// Where agents find Maestro, and the server if there is one.
pub(crate) fn around(world: &World, server: Option<String>) -> Around {
    let home = world.maestro_home.display().to_string();
    let named = world.variable("SESSION_DIR").filter(|path| path.starts_with('/')).map(str::to_owned);
    let maestro = std::env::current_exe().map(|path| path.display().to_string()).unwrap_or_default();
    Around { server, sessions: named.unwrap_or_else(|| format!("{home}/sessions")), home, maestro }
}

/// A worker of this machine.
pub(crate) fn of(
    world: &World,
    store: Store,
    server: String,
    workshop: &Workshop,
    most: usize,
) -> Result<Worker, CommandError> {
    let site = &workshop.site;
    let (here, there) = (world.clone(), world.clone());
    let worker = Worker {
        store,
        clock: database::clock(),
        around: around(world, Some(server)),
        variables: site.variables.clone(),
        maestro: site.maestro.clone(),
        program: Arc::new(move |name| agents::program(name, &here)),
        agents: Arc::new(move |workspace| agents::table(&there.at(workspace)).agents),
        extra: site.extra.clone(),
        checks: Arc::clone(&site.abilities.checks),
        most,
        identity: workshop.identity.clone(),
        health: DaemonHealth::new(database::clock()),
    };
    worker.prepare().map_err(|error| {
        CommandError::io(format!("{} is not writable", world.maestro_home.display()), &error)
            .hint("set MAESTRO_HOME to a writable directory")
    })?;
    Ok(worker)
}
