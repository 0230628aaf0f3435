//! The `maestro` program: parses the command line, runs the command, prints the reply.
//!
//! Everything that is printed, and every exit code, leaves through here.

mod args;
mod client;
mod commands;
mod host;
mod output;
mod server_process;

use std::process::ExitCode;

use args::{Cli, Typed};
use host::world::World;
use output::error::CommandError;
use output::log;
use output::reply::{self, Reply, print_error};
use output::screen::Paint;

fn main() -> ExitCode {
    if let Some(ended) = commands::child::run().or_else(commands::demo_agent::run) {
        return ended;
    }
    let cli = match Cli::from_command_line() {
        Typed::Command(cli) => cli,
        Typed::Help(text) => return reply::print(Reply::text(text)),
        // A hook that fails could stop an agent.
        Typed::Wrong { text, .. } if commands::hook::is_meant() => {
            commands::hook::note(&text);
            return ExitCode::SUCCESS;
        }
        Typed::Wrong { text, json: true } => return print_error(&CommandError::usage(&text), true, Paint::plain()),
        Typed::Wrong { text, json: false } => return reply::print_usage(&text),
    };
    let run = |world: World| {
        log::start(&world, cli.command.as_ref());
        commands::run(&cli, &world)
    };
    match World::of_this_process(&cli.globals).and_then(run) {
        Ok(reply) => reply::print(reply),
        // Not even without a home directory.
        Err(_) if matches!(cli.command, Some(args::Command::Hook(_))) => ExitCode::SUCCESS,
        Err(error) => print_error(&error, cli.globals.json, Paint::for_stderr(cli.globals.color)),
    }
}
