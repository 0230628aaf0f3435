//! `maestro open`: the page in a browser, signed in by a link that works once.

use maestro_api::tokens;
use maestro_engine::user_program::UserProgram;

use crate::client::{CliClient, ClientTarget};
use crate::host::world::World;
use crate::output::command_output::{CommandOutput, CommandResult};
use crate::output::error::CommandError;

pub(crate) fn run(world: &World) -> CommandResult {
    let client = CliClient::connect_running(world)?;
    let client = client.filter(|client| matches!(client.target(), ClientTarget::Server(_)));
    let client = client.ok_or_else(|| CommandError::network("no server running").hint("run `maestro up`"))?;
    let link = client.call_raw(tokens::sign_in_link())?;
    if world.json {
        return CommandOutput::json(&link.raw);
    }
    if world.terminals.stdout {
        open_browser(&link.value.url);
    }
    Ok(CommandOutput::text(format!("{}\n", link.value.url)))
}

/// Opens an address in the user's browser; where that fails, the printed link remains.
pub(crate) fn open_browser(url: &str) {
    let opener = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    let _ = UserProgram::new(opener).args([url]).output();
}
