//! What if nobody understands how a hook was called? Its agent goes on all the same.

use clap::Parser as _;
use maestro_core::hook::in_a_line;

use super::missed;
use crate::args::Cli;
use crate::host::world::World;

/// Who called, where that was not understood either.
const SOMEBODY: &str = "unknown";

/// Whether a hook is meant by what was typed, although it cannot be understood.
pub(crate) fn is_meant() -> bool {
    let lenient = Cli::grammar().ignore_errors(true).try_get_matches();
    lenient.is_ok_and(|matches| matches.subcommand_name() == Some("hook"))
}

/// Keeps why it was not understood, as anything else that goes wrong in a hook.
pub(crate) fn note(why: &str) {
    let Ok(bare) = Cli::try_parse_from(["maestro"]) else { return };
    if let Ok(world) = World::of_this_process(&bare.globals) {
        missed::keep(SOMEBODY, &in_a_line(why), &world);
    }
}
