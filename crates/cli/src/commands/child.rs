//! `maestro child`: the process that every program we start runs under. It is for Maestro itself, so it is in no list.

use std::process::ExitCode;

/// Becomes a child if asked to, before any other setup.
pub(crate) fn run() -> Option<ExitCode> {
    let mut arguments = std::env::args_os().skip(1);
    let meant = arguments.next().is_some_and(|word| word == maestro_engine::child::COMMAND);
    meant.then(|| maestro_engine::child::run(arguments))
}
