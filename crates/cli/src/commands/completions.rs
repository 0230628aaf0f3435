//! `maestro completions`: completion scripts for shells.

use crate::args::{Cli, CompletionsArgs};
use crate::output::reply::Reply;

pub(crate) fn run(args: &CompletionsArgs) -> Reply {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::grammar(), "maestro", &mut script);
    Reply::bytes(script)
}
