//! `maestro-supervisor`: the parts of `maestro` that the engine starts itself, for its tests.

use std::fs;
use std::process::ExitCode;

use maestro_engine::agents::demo;
use maestro_engine::child;

/// The argument that makes it create a file, as `maestro` does with its database.
const WRITE: &str = "write";

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1);
    match arguments.next() {
        Some(word) if word == WRITE => match arguments.next().map(|file| fs::write(file, "")) {
            Some(Ok(())) => ExitCode::SUCCESS,
            _ => ExitCode::FAILURE,
        },
        Some(word) if word == child::COMMAND => child::run(arguments),
        Some(word) if word == demo::COMMAND => demo::run(arguments),
        _ => ExitCode::FAILURE,
    }
}
