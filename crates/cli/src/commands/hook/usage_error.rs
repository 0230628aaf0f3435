//! Hooks called with an invalid command line; the agent continues anyway.

use clap::Parser as _;
use maestro_core::hook::shorten_to_line;

use super::failures;
use crate::args::Cli;
use crate::host::world::World;

/// Name of the caller if that is unknown too.
const UNKNOWN_TOOL: &str = "unknown";

/// Whether an invalid command line was meant for a hook.
pub(crate) fn is_hook_call() -> bool {
    let lenient = Cli::grammar().ignore_errors(true).try_get_matches();
    lenient.is_ok_and(|matches| matches.subcommand_name() == Some("hook"))
}

/// Stores the reason, as any other failure of a hook.
pub(crate) fn record(why: &str) {
    let Ok(bare) = Cli::try_parse_from(["maestro"]) else { return };
    if let Ok(world) = World::of_this_process(&bare.globals) {
        failures::record(UNKNOWN_TOOL, &shorten_to_line(why), &world);
    }
}
