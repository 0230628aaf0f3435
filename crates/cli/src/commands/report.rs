//! `maestro report`, `complete`, `blocked` and the old `update:…`: reports of a session.

use std::fmt::Write as _;

use maestro_api::ReceivedReply;
use maestro_api::reports::NewReport;
use maestro_api::tasks::TaskBody;
use maestro_core::report::ReportKind;

use crate::args::{BlockedArgs, CompleteArgs, ReportArgs, SaidArgs};
use crate::client::Client;
use crate::client::worker::{self, Speaker};
use crate::commands::info::own_tasks;
use crate::host::world::World;
use crate::output::error::CommandError;
use crate::output::reply::Reply;
use crate::output::screen::count;
use crate::output::tree::lines;

pub(crate) fn run(args: &ReportArgs, world: &World) -> Result<Reply, CommandError> {
    said(args.kind, &args.said, world)
}

/// A report of a kind, about the tasks named or the session's own.
pub(crate) fn said(kind: ReportKind, args: &SaidArgs, world: &World) -> Result<Reply, CommandError> {
    send(kind, Some(&args.message), &args.task, world)
}

pub(crate) fn complete(args: &CompleteArgs, world: &World) -> Result<Reply, CommandError> {
    if world.json {
        return send(ReportKind::Complete, args.message.as_deref(), &[], world);
    }
    let speaker = Speaker::of(world)?;
    let client = Client::open(world)?;
    let report = worker::new_report(ReportKind::Complete, args.message.as_deref());
    let ReceivedReply { value: answer, .. } = speaker.say(&client, &report)?;
    let mut text = format!("{}\n", worker::said_unless_ended(&answer, reported(ReportKind::Complete)));
    let own = own_tasks(&client, &answer.session_id)?;
    let below = own.iter().flat_map(|own| &own.below.value);
    let open: Vec<(usize, &TaskBody)> = below.filter(|task| !task.is_closed()).map(|task| (0, task)).collect();
    if !open.is_empty() {
        let noun = count(open.len(), "subtask is open", "subtasks are open");
        let _ = writeln!(text, "{} {noun}, so your task is not done yet:", world.paint.warning("!"));
        text.push_str(&lines(&open, 2, world));
    }
    Ok(worker::told(client, &answer, text, world))
}

pub(crate) fn blocked(args: &BlockedArgs, world: &World) -> Result<Reply, CommandError> {
    send(ReportKind::Blocked, Some(&args.reason), &[], world)
}

fn send(kind: ReportKind, message: Option<&str>, tasks: &[String], world: &World) -> Result<Reply, CommandError> {
    let speaker = Speaker::of(world)?;
    if message.is_some_and(|message| message.trim().is_empty()) {
        return Err(CommandError::invalid("the message is empty").hint("pass a message of one sentence"));
    }
    let client = Client::open(world)?;
    let report = NewReport { task_ids: Some(tasks.to_vec()), ..worker::new_report(kind, message) };
    worker::report(client, &speaker, &report, reported(kind), world)
}

fn reported(kind: ReportKind) -> &'static str {
    match kind {
        ReportKind::Progress => "Reported.",
        ReportKind::Complete => "Reported as complete.",
        ReportKind::Blocked => "Reported as blocked.",
        ReportKind::Error => "Reported as failed.",
        ReportKind::NeedsInput => "Question sent. The answer arrives with one of your next commands.",
    }
}
