//! `maestro completions`: completion scripts for shells.

use crate::args::{Cli, CompletionsArgs};
use crate::output::command_output::CommandOutput;

pub(crate) fn run(args: &CompletionsArgs) -> CommandOutput {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::grammar(), "maestro", &mut script);
    CommandOutput::bytes(script)
}
