//! `maestro version`: the version of the program.

use serde_json::json;

use crate::host::world::World;
use crate::output::command_output::{CommandOutput, CommandResult};

pub(crate) fn run(world: &World) -> CommandResult {
    let version = env!("CARGO_PKG_VERSION");
    if world.json {
        return CommandOutput::json(&json!({ "version": version }));
    }
    Ok(CommandOutput::text(format!("maestro {version}\n")))
}
