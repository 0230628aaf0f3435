//! Session of the caller, its reports and its updates, for all commands of a worker.

use std::fmt::Write as _;

use maestro_api::ReceivedReply;
use maestro_api::reports::{self, NewReport, NoticeConfirmation, ReportReply};
use maestro_core::id::EntityId as _;
use maestro_core::notice;
use maestro_core::report::ReportKind;
use maestro_core::session::SessionStatus;
use serde_json::json;

use crate::client::CliClient;
use crate::client::context;
use crate::host::world::World;
use crate::output::command_output::{CommandOutput, CommandResult};
use crate::output::error::CommandError;
use crate::output::screen::{OutputReader, clean};

/// What to say of a report: of a cancelled session's, that it came too late. Any other session works again by it.
pub(crate) fn said_unless_ended<'a>(reply: &ReportReply, said: &'a str) -> &'a str {
    match reply.session_status {
        SessionStatus::Stopped => "Recorded. Your session has ended, so nothing changes.",
        _ => said,
    }
}

/// The same reply without what is said about a task that the session itself has just made.
pub(crate) fn without_task(mut reply: ReportReply, task: &str) -> ReportReply {
    reply.news.notices.retain(|notice| notice.task().is_none_or(|about| about.as_str() != task));
    reply.news.changes = notice::describe_notices(&reply.news.notices);
    reply
}

/// A session, or the task it is known by.
pub(crate) enum WorkReporter {
    Session(String),
    Task(String),
}

impl WorkReporter {
    /// Who speaks, by the environment: a session, or at least a task.
    pub(crate) fn of(world: &World) -> CommandResult<Self> {
        Self::find(world).ok_or_else(|| {
            CommandError::no_context("no session or task set")
                .hint("set MAESTRO_SESSION_ID or MAESTRO_TASK_ID; sessions that Maestro starts have both")
        })
    }

    /// The same, or none: then a person is speaking.
    pub(crate) fn find(world: &World) -> Option<Self> {
        match context::session(world) {
            Some(session) => Some(Self::Session(session.to_owned())),
            None => context::tasks(world).into_iter().next().map(Self::Task),
        }
    }

    /// Sends a report; the answer as it came, and what it says.
    pub(crate) fn report(&self, client: &CliClient, report: &NewReport) -> CommandResult<ReceivedReply<ReportReply>> {
        let request = match self {
            Self::Session(id) => reports::of_session(id, report),
            Self::Task(id) => reports::of_task(id, report),
        };
        let mut reply = client.call_raw(request)?;
        if let Some(whole) = reply.raw.as_object_mut() {
            whole.insert("subcommand".to_owned(), json!(report.kind));
        }
        Ok(reply)
    }

    /// Gives a sign of life, and so finds out which session it is and what it has not received.
    pub(crate) fn heartbeat(&self, client: &CliClient) -> CommandResult<ReportReply> {
        Ok(self.report(client, &new_report(ReportKind::Progress, None))?.value)
    }
}

/// A report in these words about the session's own tasks.
pub(crate) fn new_report(kind: ReportKind, message: Option<&str>) -> NewReport {
    NewReport { kind: Some(kind.to_string()), message: message.map(str::to_owned), ..NewReport::default() }
}

/// Sends a report, prints the reply, and confirms the updates that were printed.
pub(crate) fn report(
    client: CliClient,
    speaker: &WorkReporter,
    report: &NewReport,
    said: &str,
    world: &World,
) -> CommandResult {
    let ReceivedReply { raw, value } = speaker.report(&client, report)?;
    if world.json {
        return Ok(confirm_printed(client, &value, format!("{raw}\n"), world));
    }
    let said = said_unless_ended(&value, said);
    Ok(reply_with_updates(client, &value, format!("{said}\n"), world))
}

/// The text, then the updates that the session has not read yet; they count as read once they are printed.
pub(crate) fn reply_with_updates(
    client: CliClient,
    answer: &ReportReply,
    mut text: String,
    world: &World,
) -> CommandOutput {
    for change in &answer.news.changes {
        let _ = writeln!(text, "{} {}", world.paint.warning("!"), clean(change));
    }
    confirm_printed(client, answer, text, world)
}

/// The text of any command; if a session gave it, also the updates that the session has not read.
pub(crate) fn with_updates(client: CliClient, text: String, world: &World) -> CommandOutput {
    // The command itself went well, so what goes wrong here must not spoil it; the news stay for the next one.
    match context::session(world).map(|id| WorkReporter::Session(id.to_owned()).heartbeat(&client)) {
        Some(Ok(answer)) => reply_with_updates(client, &answer, text, world),
        _ => CommandOutput::text(text),
    }
}

/// Prints first and confirms then, so that nothing counts as read that was not; what is printed for no one is not confirmed.
pub(crate) fn confirm_printed(client: CliClient, answer: &ReportReply, text: String, world: &World) -> CommandOutput {
    if answer.news.notice_cursor == 0 || world.reader == OutputReader::None {
        return CommandOutput::text(text);
    }
    let confirmation = NoticeConfirmation {
        notice_cursor: Some(answer.news.notice_cursor),
        how: Some("reply to a command".to_owned()),
    };
    let confirm = reports::confirm(&answer.session_id, &confirmation);
    CommandOutput::stream(move |out| {
        out.write_all(text.as_bytes())?;
        out.flush()?;
        // What is not confirmed is sent again.
        let _ = client.call(confirm);
        Ok(())
    })
}
