//! Which command is it? One file for each.

mod completions;
mod config;
mod doctor;
mod events;
mod help;
mod home;
mod init;
mod plan;
mod prompt;
mod skills;
mod up;
mod update;
mod workflow;

use crate::args::{Cli, Command};
use crate::error::CommandError;
use crate::reply::Reply;
use crate::world::World;

/// Carries out what was typed.
pub(crate) fn run(cli: &Cli, world: &World) -> Result<Reply, CommandError> {
    match &cli.command {
        None => home::run(world),
        Some(Command::Init(args)) => init::run(args, world),
        Some(Command::Doctor(args)) => doctor::run(args, world),
        Some(Command::Skills(args)) => skills::run(args, world),
        Some(Command::Prompt(args)) => prompt::run(args, world),
        Some(Command::Plan(args)) => plan::run(args, world),
        Some(Command::Workflow(args)) => workflow::run(args, world),
        Some(Command::Up(args)) => up::run(args, world),
        Some(Command::Update(args)) => update::run(args, world),
        Some(Command::Events(args)) => events::run(args, world),
        Some(Command::Config(args)) => config::run(args, world),
        Some(Command::Completions(args)) => Ok(completions::run(args)),
        Some(Command::Help(args)) => help::run(args),
    }
}
