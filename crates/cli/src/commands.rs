//! Commands of the program, one file each.

mod agents;
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
mod import;
mod info;
mod init;
mod loops;
mod manifest;
mod mcp;
pub(crate) mod open;
mod permitted;
mod plan;
mod project;
mod prompt;
mod proposed_checks;
mod queue;
mod report;
mod roles;
mod say;
pub(crate) mod session;
mod share;
mod show;
mod skills;
mod status;
mod subtask;
mod task;
mod task_tree;
mod token;
mod track_file;
pub(crate) mod transcript;
mod trust;
mod uninstall;
pub(crate) mod up;
mod update;
mod upgrade;
mod version;
mod whoami;
mod worker;
mod workflow;

use maestro_core::report::ReportKind;

use crate::args::{Cli, CliCommand};
use crate::host::world::World;
use crate::output::command_output::CommandResult;

/// Runs the command.
pub(crate) fn run(cli: &Cli, world: &World) -> CommandResult {
    match &cli.command {
        None => home::run(world),
        Some(CliCommand::Init(args)) => init::run(args, world),
        Some(CliCommand::Import(args)) => import::run(args, world),
        Some(CliCommand::Doctor(args)) => doctor::run(args, world),
        Some(CliCommand::Skills(args)) => skills::run(args, world),
        Some(CliCommand::Prompt(args)) => prompt::run(args, world),
        Some(CliCommand::Loop(args)) => loops::run(args, world),
        Some(CliCommand::Diff(args)) => branches::diff(args, world),
        Some(CliCommand::Merge(args)) => branches::merge(args, world),
        Some(CliCommand::Revise(args)) => loops::revise(args, world),
        Some(CliCommand::Pr(args)) => branches::propose(args, world),
        Some(CliCommand::Discard(args)) => branches::discard(args, world),
        Some(CliCommand::Share(args)) => share::run(args, world),
        Some(CliCommand::Do(args)) => loops::start_task(args, world),
        Some(CliCommand::Demo(args)) => demo::run(args, world),
        Some(CliCommand::Plan(args)) => plan::run(args, world),
        Some(CliCommand::Workflow(args)) => workflow::run(args, world),
        Some(CliCommand::Trust(args)) => trust::run(args, world),
        Some(CliCommand::Agents(args)) => agents::run(args, world),
        Some(CliCommand::Connect(args)) => connect::connect(args, world),
        Some(CliCommand::Disconnect(args)) => connect::disconnect(args, world),
        Some(CliCommand::Up(args)) => up::run(args, world),
        Some(CliCommand::Open) => open::run(world),
        Some(CliCommand::Token(args)) => token::run(args, world),
        Some(CliCommand::Mcp(args)) => mcp::run(args, world),
        Some(CliCommand::Update(args)) => update::run(args, world),
        Some(CliCommand::Info) => info::run(world),
        Some(CliCommand::Complete(args)) => report::complete(args, world),
        Some(CliCommand::Blocked(args)) => report::blocked(args, world),
        Some(CliCommand::Subtask(args)) => subtask::run(args, world),
        Some(CliCommand::Report(args)) => report::run(args, world),
        Some(CliCommand::UpdateProgress(args)) => report::report_kind(ReportKind::Progress, args, world),
        Some(CliCommand::UpdateComplete(args)) => report::report_kind(ReportKind::Complete, args, world),
        Some(CliCommand::UpdateBlocked(args)) => report::report_kind(ReportKind::Blocked, args, world),
        Some(CliCommand::UpdateError(args)) => report::report_kind(ReportKind::Error, args, world),
        Some(CliCommand::UpdateNeedsInput(args)) => report::report_kind(ReportKind::NeedsInput, args, world),
        Some(CliCommand::Task(args)) => task::run(args, world),
        Some(CliCommand::Session(args)) => session::run(args, world),
        Some(CliCommand::Say(args)) => say::run(args, world),
        Some(CliCommand::Show(args)) => show::run(args, world),
        Some(CliCommand::Attach(args)) => attach::run(args, world),
        Some(CliCommand::Worker(args)) => worker::run(args, world),
        Some(CliCommand::Orchestrator(args)) => worker::orchestrator(args, world),
        Some(CliCommand::Project(args)) => project::run(args, world),
        Some(CliCommand::Queue(args)) => queue::run(args, world),
        Some(CliCommand::Status) => status::run(world),
        Some(CliCommand::Whoami) => whoami::run(world),
        Some(CliCommand::Commands(args)) => permitted::run(args, world),
        Some(CliCommand::Events(args)) => events::run(args, world),
        Some(CliCommand::Roles(args)) => roles::run(args, world),
        Some(CliCommand::Handoff(args)) => handoff::run(args, world),
        Some(CliCommand::Manifest(args)) => manifest::run(args, world),
        Some(CliCommand::TrackFile(args)) => Ok(track_file::run(args, world)),
        Some(CliCommand::Hook(args)) => Ok(hook::run(args, world)),
        Some(CliCommand::Db(args)) => db::run(args, world),
        Some(CliCommand::Config(args)) => config::run(args, world),
        Some(CliCommand::Version) => version::run(world),
        Some(CliCommand::Upgrade(_)) => upgrade::run(world),
        Some(CliCommand::Uninstall(args)) => uninstall::run(args, world),
        Some(CliCommand::Completions(args)) => Ok(completions::run(args)),
        Some(CliCommand::Help(args)) => help::run(args, world),
    }
}
