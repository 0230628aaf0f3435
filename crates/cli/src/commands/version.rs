//! `maestro version`: the version of the program.

use serde_json::json;

use crate::host::world::World;
use crate::output::error::CommandError;
use crate::output::reply::Reply;

pub(crate) fn run(world: &World) -> Result<Reply, CommandError> {
    let version = env!("CARGO_PKG_VERSION");
    if world.json {
        return Reply::json(&json!({ "version": version }));
    }
    Ok(Reply::text(format!("maestro {version}\n")))
}
