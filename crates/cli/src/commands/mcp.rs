//! `maestro mcp`: the MCP server on standard input and output, until the client disconnects.
//!
//! Nothing else is printed meanwhile, and nothing is read or opened before the client asks for something that needs it.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use maestro_server::SkillChanges;
use maestro_server::mcp::{McpOptions, McpPlace, OpenFolders, serve_stdio};

use crate::args::McpArgs;
use crate::client::connect::connect;
use crate::client::context;
use crate::host::cli_host::CliHost;
use crate::host::runtime;
use crate::host::world::World;
use crate::output::command_output::{CommandOutput, CommandResult};
use crate::output::error::CommandError;

/// How long running work has to end after the client disconnects.
const FAREWELL: Duration = Duration::from_secs(1);

pub(crate) fn run(args: &McpArgs, world: &World) -> CommandResult {
    let given = given_directory(args, world)?;
    let folders = if given.is_some() { OpenFolders::Ignore } else { OpenFolders::Follow };
    let world = &given.map_or_else(|| world.clone(), |directory| world.at(&directory));
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    let runtime = runtime.map_err(|error| CommandError::io("cannot start the runtime", &error))?;
    let spoken = runtime::wait(&runtime, serve_stdio(options(world, folders)));
    // Running commands end with this process; a thread that reads standard input is not waited for.
    runtime.shutdown_timeout(FAREWELL);
    spoken.map_err(|error| CommandError::io("cannot answer the client", &error))?;
    Ok(CommandOutput::text(""))
}

/// The directory that was named. An editor that does not know a variable passes its name on, which names nothing.
fn given_directory(args: &McpArgs, world: &World) -> CommandResult<Option<PathBuf>> {
    let named = |path: &&PathBuf| !path.as_os_str().is_empty() && !path.to_string_lossy().contains("${");
    let Some(given) = args.directory.as_ref().filter(named) else { return Ok(None) };
    let found = world.places.working_dir.join(given).canonicalize().ok().filter(|path| path.is_dir());
    found.map(Some).ok_or_else(|| {
        CommandError::not_found(format!("no directory `{}`", given.display()))
            .hint("pass the project's directory, or leave --directory out to use the current one")
    })
}

fn options(world: &World, folders: OpenFolders) -> McpOptions {
    let changes = SkillChanges::default();
    let host = CliHost::watching(world, &changes);
    let (there, at_hand) = (world.clone(), host.clone());
    let told = |error: CommandError| error.message().to_owned();
    McpOptions {
        connect: Arc::new(move |directory: &Path| connect(&there.at(directory), &at_hand).map_err(told)),
        host: Arc::new(host),
        changes,
        place: McpPlace {
            directory: world.places.working_dir.clone(),
            folders,
            home: world.places.home.canonicalize().ok(),
        },
        session: context::session(world).map(str::to_owned),
        task: context::tasks(world).into_iter().next(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
    }
}
