//! Hooks called with an invalid command line; the agent continues anyway.

use clap::Parser as _;
use maestro_core::hook::in_a_line;

use super::missed;
use crate::args::Cli;
use crate::host::world::World;

/// Name of the caller if that is unknown too.
const SOMEBODY: &str = "unknown";

/// Whether an invalid command line was meant for a hook.
pub(crate) fn is_meant() -> bool {
    let lenient = Cli::grammar().ignore_errors(true).try_get_matches();
    lenient.is_ok_and(|matches| matches.subcommand_name() == Some("hook"))
}

/// Stores the reason, as any other failure of a hook.
pub(crate) fn note(why: &str) {
    let Ok(bare) = Cli::try_parse_from(["maestro"]) else { return };
    if let Ok(world) = World::of_this_process(&bare.globals) {
        missed::keep(SOMEBODY, &in_a_line(why), &world);
    }
}
