//! `maestro report`, `complete`, `blocked` and the old `update:…`: reports of a session.

use std::fmt::Write as _;

use maestro_core::report::ReportKind;
use serde_json::{Value as Json, json};

use crate::args::{BlockedArgs, CompleteArgs, ReportArgs, SaidArgs};
use crate::client::Client;
use crate::client::wire::{self, Task};
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
    let body = json!({ "kind": ReportKind::Complete, "message": args.message });
    let (_, answer) = speaker.say(&client, &body)?;
    let mut text = format!("{}\n", answer.unless_ended(reported(ReportKind::Complete)));
    let below: Vec<Json> = own_tasks(&client, &answer.session_id)?.into_iter().flat_map(|(_, below)| below).collect();
    let open: Vec<Task> = wire::read_all(&below)?;
    let open: Vec<(usize, &Task)> = open.iter().filter(|task| !task.is_closed()).map(|task| (0, task)).collect();
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
    let body = json!({ "kind": kind, "message": message, "taskIds": tasks });
    worker::report(client, &speaker, &body, reported(kind), world)
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
