//! Worker of this machine and user.

use std::sync::Arc;

use maestro_core::agent::spawn::AgentEndpoints;
use maestro_engine::ExecutionHost;
use maestro_engine::daemon::DaemonHealth;
use maestro_engine::worker::AgentWorker;
use maestro_store::{ClaimScope, Store};

use crate::host::world::World;
use crate::output::command_output::CommandResult;
use crate::output::error::CommandError;
use crate::server_process::database;

/// Where agents find Maestro, and the server if there is one.
pub(crate) fn agent_endpoints(world: &World, server: Option<String>) -> AgentEndpoints {
    let home = world.maestro_home.display().to_string();
    let named = world.variable("SESSION_DIR").filter(|path| path.starts_with('/')).map(str::to_owned);
    let unknown = |error: &std::io::Error| {
        tracing::warn!("agents will look for `maestro` on their PATH; the path of this program is unknown: {error}");
    };
    let maestro = std::env::current_exe().inspect_err(unknown).unwrap_or_default().display().to_string();
    AgentEndpoints { server, sessions: named.unwrap_or_else(|| format!("{home}/sessions")), home, maestro }
}

/// A worker of this machine.
pub(crate) fn of(
    world: &World,
    store: Store,
    server: String,
    machine: Arc<ExecutionHost>,
    most: usize,
) -> CommandResult<AgentWorker> {
    let health = DaemonHealth::new(database::clock());
    let worker = AgentWorker {
        store,
        endpoints: agent_endpoints(world, Some(server)),
        machine,
        most,
        health,
        scope: ClaimScope::Server,
    };
    worker.prepare().map_err(|error| {
        CommandError::io(format!("{} is not writable", world.maestro_home.display()), &error)
            .hint("set MAESTRO_HOME to a writable directory")
    })?;
    Ok(worker)
}
