//! Commands of the program, one file each.

mod agents;
mod allowed;
mod attach;
mod branches;
pub(crate) mod child;
mod completions;
mod config;
mod connect;
mod db;
mod demo;
pub(crate) mod demo_agent;
mod doctor;
mod events;
mod handoff;
mod help;
mod home;
pub(crate) mod hook;
mod info;
mod init;
mod loops;
mod manifest;
mod mcp;
mod plan;
mod project;
mod prompt;
mod queue;
mod report;
mod roles;
mod say;
pub(crate) mod session;
mod show;
mod skills;
mod status;
mod subtask;
mod task;
mod track_file;
pub(crate) mod trust;
pub(crate) mod up;
mod update;
mod version;
mod whoami;
mod worker;
mod workflow;

use maestro_core::report::ReportKind;

use crate::args::{Cli, Command};
use crate::host::world::World;
use crate::output::error::CommandError;
use crate::output::reply::Reply;

/// Runs the command.
pub(crate) fn run(cli: &Cli, world: &World) -> Result<Reply, CommandError> {
    match &cli.command {
        None => home::run(world),
        Some(Command::Init(args)) => init::run(args, world),
        Some(Command::Doctor(args)) => doctor::run(args, world),
        Some(Command::Skills(args)) => skills::run(args, world),
        Some(Command::Prompt(args)) => prompt::run(args, world),
        Some(Command::Loop(args)) => loops::run(args, world),
        Some(Command::Diff(args)) => branches::diff(args, world),
        Some(Command::Merge(args)) => branches::merge(args, world),
        Some(Command::Pr(args)) => branches::propose(args, world),
        Some(Command::Discard(args)) => branches::discard(args, world),
        Some(Command::Do(args)) => loops::one(args, world),
        Some(Command::Demo(args)) => demo::run(args, world),
        Some(Command::Plan(args)) => plan::run(args, world),
        Some(Command::Workflow(args)) => workflow::run(args, world),
        Some(Command::Trust(args)) => trust::run(args, world),
        Some(Command::Agents(args)) => agents::run(args, world),
        Some(Command::Connect(args)) => connect::connect(args, world),
        Some(Command::Disconnect(args)) => connect::disconnect(args, world),
        Some(Command::Up(args)) => up::run(args, world),
        Some(Command::Mcp) => mcp::run(world),
        Some(Command::Update(args)) => update::run(args, world),
        Some(Command::Info) => info::run(world),
        Some(Command::Complete(args)) => report::complete(args, world),
        Some(Command::Blocked(args)) => report::blocked(args, world),
        Some(Command::Subtask(args)) => subtask::run(args, world),
        Some(Command::Report(args)) => report::run(args, world),
        Some(Command::UpdateProgress(args)) => report::said(ReportKind::Progress, args, world),
        Some(Command::UpdateComplete(args)) => report::said(ReportKind::Complete, args, world),
        Some(Command::UpdateBlocked(args)) => report::said(ReportKind::Blocked, args, world),
        Some(Command::UpdateError(args)) => report::said(ReportKind::Error, args, world),
        Some(Command::UpdateNeedsInput(args)) => report::said(ReportKind::NeedsInput, args, world),
        Some(Command::Task(args)) => task::run(args, world),
        Some(Command::Session(args)) => session::run(args, world),
        Some(Command::Say(args)) => say::run(args, world),
        Some(Command::Show(args)) => show::run(args, world),
        Some(Command::Attach(args)) => attach::run(args, world),
        Some(Command::Worker(args)) => worker::run(args, world),
        Some(Command::Orchestrator(args)) => worker::orchestrator(args, world),
        Some(Command::Project(args)) => project::run(args, world),
        Some(Command::Queue(args)) => queue::run(args, world),
        Some(Command::Status) => status::run(world),
        Some(Command::Whoami) => whoami::run(world),
        Some(Command::Commands(args)) => allowed::run(args, world),
        Some(Command::Events(args)) => events::run(args, world),
        Some(Command::Roles(args)) => roles::run(args, world),
        Some(Command::Handoff(args)) => handoff::run(args, world),
        Some(Command::Manifest(args)) => manifest::run(args, world),
        Some(Command::TrackFile(args)) => Ok(track_file::run(args, world)),
        Some(Command::Hook(args)) => Ok(hook::run(args, world)),
        Some(Command::Db(args)) => db::run(args, world),
        Some(Command::Config(args)) => config::run(args, world),
        Some(Command::Version) => version::run(world),
        Some(Command::Completions(args)) => Ok(completions::run(args)),
        Some(Command::Help(args)) => help::run(args),
    }
}
