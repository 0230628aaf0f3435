//! `maestro report`, `complete`, `blocked` and the old `update:…`: reports of a session.

use std::fmt::Write as _;

use maestro_api::ReceivedReply;
use maestro_api::reports::NewReport;
use maestro_api::tasks::TaskBody;
use maestro_core::report::ReportKind;

use crate::args::{BlockedArgs, CompleteArgs, ProgressReportArgs, WorkReportArgs};
use crate::client::CliClient;
use crate::client::reporter::{self, WorkReporter};
use crate::commands::info::own_tasks;
use crate::commands::task_tree::lines;
use crate::host::world::World;
use crate::output::command_output::CommandResult;
use crate::output::error::CommandError;
use crate::output::screen::count;

pub(crate) fn run(args: &ProgressReportArgs, world: &World) -> CommandResult {
    report_kind(args.kind, &args.said, world)
}

/// A report of a kind, about the tasks named or the session's own.
pub(crate) fn report_kind(kind: ReportKind, args: &WorkReportArgs, world: &World) -> CommandResult {
    send(kind, Some(&args.message), &args.task, world)
}

pub(crate) fn complete(args: &CompleteArgs, world: &World) -> CommandResult {
    if world.json {
        return send(ReportKind::Complete, args.message.as_deref(), &[], world);
    }
    let speaker = WorkReporter::of(world)?;
    let client = CliClient::open(world)?;
    let report = reporter::new_report(ReportKind::Complete, args.message.as_deref());
    let ReceivedReply { value: answer, .. } = speaker.report(&client, &report)?;
    let mut text = format!("{}\n", reporter::said_unless_ended(&answer, confirmation(ReportKind::Complete)));
    let own = own_tasks(&client, &answer.session_id)?;
    let below = own.iter().flat_map(|own| &own.below.value);
    let open: Vec<(usize, &TaskBody)> = below.filter(|task| !task.is_closed()).map(|task| (0, task)).collect();
    if !open.is_empty() {
        let noun = count(open.len(), "subtask is open", "subtasks are open");
        let _ = writeln!(text, "{} {noun}, so your task is not done yet:", world.paint.warning("!"));
        text.push_str(&lines(&open, 2, world));
    }
    Ok(reporter::reply_with_updates(client, &answer, text, world))
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
