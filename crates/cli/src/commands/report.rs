//! `maestro report`, `complete`, `blocked` and the old `update:…`: reports of a session.

use maestro_api::reports::NewReport;
use maestro_core::report::ReportKind;

use crate::args::{BlockedArgs, CompleteArgs, ProgressReportArgs, WorkReportArgs};
use crate::client::CliClient;
use crate::client::reporter::{self, WorkReporter};
use crate::host::world::World;
use crate::output::command_output::CommandResult;
use crate::output::error::CommandError;

pub(crate) fn run(args: &ProgressReportArgs, world: &World) -> CommandResult {
    report_kind(args.kind, &args.said, world)
}

/// A report of a kind, about the tasks named or the session's own.
pub(crate) fn report_kind(kind: ReportKind, args: &WorkReportArgs, world: &World) -> CommandResult {
    send(kind, Some(&args.message), &args.task, world)
}

pub(crate) fn complete(args: &CompleteArgs, world: &World) -> CommandResult {
    send(ReportKind::Complete, args.message.as_deref(), &[], world)
}

pub(crate) fn blocked(args: &BlockedArgs, world: &World) -> CommandResult {
    send(ReportKind::Blocked, Some(&args.reason), &[], world)
}

fn send(kind: ReportKind, message: Option<&str>, tasks: &[String], world: &World) -> CommandResult {
    let speaker = WorkReporter::of(world)?;
    if message.is_some_and(|message| message.trim().is_empty()) {
        return Err(CommandError::invalid("the message is empty").hint("pass a message of one sentence"));
    }
    let client = CliClient::open(world)?;
    let report = NewReport { task_ids: Some(tasks.to_vec()), ..reporter::new_report(kind, message) };
    reporter::report(client, &speaker, &report, confirmation(kind), world)
}

fn confirmation(kind: ReportKind) -> &'static str {
    match kind {
        ReportKind::Progress => "Reported.",
        ReportKind::Complete => "Reported as complete.",
        ReportKind::Blocked => "Reported as blocked.",
        ReportKind::Error => "Reported as failed.",
        ReportKind::NeedsInput => "Question sent. The answer arrives with one of your next commands.",
    }
}
