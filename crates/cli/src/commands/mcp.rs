//! `maestro mcp`: the MCP server on standard input and output, until the client disconnects.
//!
//! Nothing else is printed meanwhile, and nothing is read or opened before the client asks for something that needs it.

use std::sync::Arc;
use std::time::Duration;

use maestro_server::SkillChanges;
use maestro_server::mcp::{McpOptions, serve_stdio};

use crate::client::connect::connect;
use crate::client::context;
use crate::host::cli_host::CliHost;
use crate::host::world::World;
use crate::output::command_output::{CommandOutput, CommandResult};
use crate::output::error::CommandError;

/// How long running work has to end after the client disconnects.
const FAREWELL: Duration = Duration::from_secs(1);

pub(crate) fn run(world: &World) -> CommandResult {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = runtime.map_err(|error| CommandError::io("cannot start the runtime", &error))?;
    let spoken = runtime.block_on(serve_stdio(options(world)));
    // Running commands end with this process; a thread that reads standard input is not waited for.
    runtime.shutdown_timeout(FAREWELL);
    spoken.map_err(|error| CommandError::io("cannot answer the client", &error))?;
    Ok(CommandOutput::text(""))
}

fn options(world: &World) -> McpOptions {
    let changes = SkillChanges::default();
    let host = CliHost::watching(world, &changes);
    let (there, at_hand) = (world.clone(), host.clone());
    let told = |error: CommandError| error.message().to_owned();
    McpOptions {
        connect: Arc::new(move || connect(&there, &at_hand).map_err(told)),
        host: Arc::new(host),
        changes,
        directory: world.places.working_dir.clone(),
        session: context::session(world).map(str::to_owned),
        task: context::tasks(world).into_iter().next(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
    }
}
