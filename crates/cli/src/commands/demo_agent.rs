//! `maestro demo-agent`: an agent that needs no model. Maestro starts it itself, so it is in no list.

use std::process::ExitCode;

use maestro_engine::agents::demo;

/// Becomes the demo agent if asked to, before any other setup.
pub(crate) fn run() -> Option<ExitCode> {
    let mut arguments = std::env::args_os().skip(1);
    let meant = arguments.next().is_some_and(|word| word == demo::COMMAND);
    meant.then(|| demo::run(arguments))
}
