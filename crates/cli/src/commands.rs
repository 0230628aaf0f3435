//! Which command is it? One file for each.

mod completions;
mod config;
mod db;
mod doctor;
mod events;
mod handoff;
mod help;
mod home;
mod init;
mod manifest;
mod plan;
mod prompt;
mod roles;
mod session;
mod skills;
mod track_file;
mod up;
mod update;

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
        Some(Command::Up(args)) => up::run(args, world),
        Some(Command::Update(args)) => update::run(args, world),
        Some(Command::Events(args)) => events::run(args, world),
        Some(Command::Roles(args)) => roles::run(args, world),
        Some(Command::Handoff(args)) => handoff::run(args, world),
        Some(Command::Session(args)) => session::run(args, world),
        Some(Command::Manifest(args)) => manifest::run(args, world),
        Some(Command::TrackFile(args)) => Ok(track_file::run(args, world)),
        Some(Command::Db(args)) => db::run(args, world),
        Some(Command::Config(args)) => config::run(args, world),
        Some(Command::Completions(args)) => Ok(completions::run(args)),
        Some(Command::Help(args)) => help::run(args),
    }
}
