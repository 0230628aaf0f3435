//! The `maestro` program: parses the command line, runs the command, prints the reply.
//!
//! Everything that is printed, and every exit code, leaves through here.

mod args;
mod client;
mod commands;
mod host;
mod logging;
mod output;
mod server_process;

use std::process::ExitCode;

use args::{Cli, ParsedArgs};
use host::world::World;
use output::command_output::{self, CommandOutput, print_error};
use output::screen::{ColorChoice, TextStyle};

fn main() -> ExitCode {
    if let Some(ended) = commands::child::run().or_else(commands::demo_agent::run) {
        return ended;
    }
    let cli = match Cli::from_command_line() {
        ParsedArgs::Command(cli) => cli,
        ParsedArgs::Help(text) => {
            let text = host::world::stdout_width().map_or(text.clone(), |width| output::help::wrapped(&text, width));
            return command_output::print(CommandOutput::text(text));
        }
        // A hook that fails could stop an agent.
        ParsedArgs::Wrong { error, .. } if commands::hook::is_hook_call() => {
            commands::hook::record(error.message());
            return ExitCode::SUCCESS;
        }
        ParsedArgs::Wrong { help: Some(help), json: false, .. } => return command_output::print_usage(&help),
        ParsedArgs::Wrong { error, json, .. } => {
            return print_error(&error, json, TextStyle::for_stderr(ColorChoice::Auto));
        }
    };
    let run = |world: World| {
        logging::start(&world, cli.command.as_ref());
        commands::run(&cli, &world)
    };
    match World::of_this_process(&cli.globals).and_then(run) {
        Ok(reply) => command_output::print(reply),
        // Not even without a home directory.
        Err(_) if matches!(cli.command, Some(args::CliCommand::Hook(_))) => ExitCode::SUCCESS,
        Err(error) => print_error(&error, cli.globals.json, TextStyle::for_stderr(cli.globals.color)),
    }
}
