//! `maestro say`: messages for an agent, which arrive with its next command, or with the next step of its run.

use maestro_api::ReceivedReply;
use maestro_api::messages::{self, NewMessage};
use maestro_api::runs::{self as runs_api, RunComment};
use maestro_api::sessions::SessionQuery;
use maestro_core::message::MessageState;
use maestro_core::workflow::run::PersonItemKind;

use crate::args::SayArgs;
use crate::client::CliClient;
use crate::commands::loops::details::sessions_of;
use crate::commands::loops::listing::PlanLoop;
use crate::host::world::World;
use crate::output::command_output::{CommandOutput, CommandResult};
use crate::output::error::{CommandError, ExitKind};
use crate::output::screen::clean;

pub(crate) fn run(args: &SayArgs, world: &World) -> CommandResult {
    let client = CliClient::open(world)?;
    if args.after_step {
        return send_to_next_step(&client, args, world);
    }
    match send(&client, &args.id, &args.text, world) {
        Err(error) if error.is_not_found() => match sessions_at_work(&client, &args.id) {
            Err(unknown) if unknown.is_not_found() => Err(error),
            Err(other) => Err(other),
            Ok(sessions) => send_to_all(&client, &sessions, &args.text, world),
        },
        sent => sent,
    }
}

/// The sessions that work for the run whose id begins so.
fn sessions_at_work(client: &CliClient, run: &str) -> CommandResult<Vec<String>> {
    let found = PlanLoop::find(client, run)?;
    let sessions = sessions_of(client, &found, &SessionQuery::alive())?;
    if sessions.is_empty() {
        let id = clean(found.id());
        let hint = if found.is_active() {
            format!("`maestro say {id} --after-step \"…\"` waits for its next agent")
        } else {
            format!("run `maestro revise {id} \"…\"` to have an agent change its work")
        };
        return Err(CommandError::refused(format!("no agent works for run {id} now")).hint(hint));
    }
    Ok(sessions.into_iter().map(|session| session.id).collect())
}

/// Leaves the message for the agent of the next step, in each run of a loop that is not over.
fn send_to_next_step(client: &CliClient, args: &SayArgs, world: &World) -> CommandResult {
    let found = PlanLoop::find(client, &args.id)?;
    let id = clean(found.id());
    let kind = Some(PersonItemKind::Message.as_str().to_owned());
    let words = RunComment { text: Some(args.text.clone()), kind, ..RunComment::default() };
    let mut last = None;
    for run in found.runs().filter(|run| !run.status.is_over()) {
        last = Some(client.call_raw(runs_api::add_item(&run.id, &words))?.raw);
    }
    let Some(raw) = last else {
        let hint = format!("run `maestro revise {id} \"…\"` to have an agent change its work");
        return Err(CommandError::refused(format!("run {id} has no next step")).hint(hint));
    };
    if world.json {
        return CommandOutput::json(&raw);
    }
    Ok(CommandOutput::text(format!("queued: the agent of the next step of {id} receives it.\n")))
}

/// Sends the message to each of several sessions; the last one's answer is the reply.
fn send_to_all(client: &CliClient, sessions: &[String], text: &str, world: &World) -> CommandResult {
    let mut last = None;
    for session in sessions {
        last = Some(send(client, session, text, world)?);
    }
    last.ok_or_else(|| CommandError::internal("no session to send to"))
}

/// Sends a message to a session.
fn send(client: &CliClient, session: &str, text: &str, world: &World) -> CommandResult {
    let new = NewMessage { text: Some(text.to_owned()), from: None };
    let ReceivedReply { raw, value: message } = client.call_raw(messages::create(session, &new))?;
    let refused = message.state == MessageState::Refused;
    if world.json {
        let reply = CommandOutput::json(&raw)?;
        return Ok(if refused { reply.with_exit(ExitKind::Failed) } else { reply });
    }
    if refused {
        let why = message.how.unwrap_or_else(|| "it takes no messages".to_owned());
        return Err(CommandError::invalid(format!("cannot send the message to session `{session}`: {why}"))
            .hint("run `maestro session list` for the active sessions"));
    }
    let text = format!(
        "{}: {} receives it with its next command, or when it restarts.\n",
        message.state.as_str(),
        clean(session)
    );
    Ok(CommandOutput::text(text))
}
