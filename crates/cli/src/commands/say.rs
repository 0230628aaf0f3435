//! `maestro say`: messages for an agent, which arrive with its next command.

use maestro_api::ReceivedReply;
use maestro_api::messages::{self, NewMessage};
use maestro_api::sessions::SessionQuery;
use maestro_core::message::MessageState;

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
            "wait until its next agent starts".to_owned()
        } else {
            format!("run `maestro revise {id} \"…\"` to have an agent change its work")
        };
        return Err(CommandError::refused(format!("no agent works for run {id} now")).hint(hint));
    }
    Ok(sessions.into_iter().map(|session| session.id).collect())
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
