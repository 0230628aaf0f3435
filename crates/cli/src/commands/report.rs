//! `maestro report`, `complete`, `blocked` and the old `update:…`: what a session says of its work.

use maestro_core::report::ReportKind;
use serde_json::json;

use crate::args::{BlockedArgs, CompleteArgs, ReportArgs, SaidArgs};
use crate::client::Client;
use crate::error::CommandError;
use crate::reply::Reply;
use crate::worker::{self, Speaker};
use crate::world::World;

pub(crate) fn run(args: &ReportArgs, world: &World) -> Result<Reply, CommandError> {
    said(args.kind, &args.said, world)
}

/// A report of a kind, about the tasks named or the session's own.
pub(crate) fn said(kind: ReportKind, args: &SaidArgs, world: &World) -> Result<Reply, CommandError> {
    send(kind, Some(&args.message), &args.task, world)
}

pub(crate) fn complete(args: &CompleteArgs, world: &World) -> Result<Reply, CommandError> {
    send(ReportKind::Complete, args.message.as_deref(), &[], world)
}

pub(crate) fn blocked(args: &BlockedArgs, world: &World) -> Result<Reply, CommandError> {
    send(ReportKind::Blocked, Some(&args.reason), &[], world)
}

fn send(kind: ReportKind, message: Option<&str>, tasks: &[String], world: &World) -> Result<Reply, CommandError> {
    let speaker = Speaker::of(world)?;
    if message.is_some_and(|message| message.trim().is_empty()) {
        return Err(CommandError::invalid("the message is empty").hint("say in a sentence what happened"));
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
        ReportKind::NeedsInput => "Asked. The answer comes with the reply to one of your next commands.",
    }
}
