//! How the user wants programs to be confined.

use std::path::PathBuf;

use maestro_core::settings::{ConfinementChoice, NetworkMode};
use maestro_engine::sandbox::{ConfinementMode, NetworkAccess, ResourceLimits, SandboxSettings};
use maestro_store::DatabaseLocation;

use crate::host::config;
use crate::host::world::World;

/// The settings of all executions; no project can change them.
pub(crate) fn of(world: &World) -> SandboxSettings {
    let settings = config::load(world).settings;
    let runtime = world.variable("XDG_RUNTIME_DIR").filter(|path| path.starts_with('/')).map(PathBuf::from);
    SandboxSettings {
        confinement: match settings.confinement.value {
            ConfinementChoice::Auto => ConfinementMode::Auto,
            ConfinementChoice::Namespaces => ConfinementMode::Namespaces,
            ConfinementChoice::Landlock => ConfinementMode::Landlock,
        },
        network: match settings.network.value {
            NetworkMode::All => NetworkAccess::All,
            NetworkMode::None => NetworkAccess::None,
            NetworkMode::Hosts => NetworkAccess::Hosts(settings.network_hosts.value),
        },
        resources: ResourceLimits {
            memory_mib: settings.agent_memory_mib.value,
            processes: settings.agent_processes.value,
        },
        agent_env: settings.agent_env.value,
        hidden: runtime.into_iter().chain(database_files(world)).collect(),
    }
}

/// The files of a database that is elsewhere than our other data.
fn database_files(world: &World) -> Vec<PathBuf> {
    let named = world.aim.database.as_deref().or_else(|| world.variable("MAESTRO_DATABASE"));
    match named.map(DatabaseLocation::parse) {
        Some(DatabaseLocation::File(path)) => {
            let beside = |end: &str| PathBuf::from(format!("{}{end}", path.display()));
            vec![path.clone(), beside("-wal"), beside("-shm")]
        }
        Some(DatabaseLocation::Postgres(_)) | None => Vec::new(),
    }
}
