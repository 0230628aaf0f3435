//! `maestro say`: messages for an agent, which arrive with its next command.

use maestro_api::ReceivedReply;
use maestro_api::messages::{self, NewMessage};
use maestro_core::message::MessageState;

use crate::args::SayArgs;
use crate::client::CliClient;
use crate::host::world::World;
use crate::output::command_output::{CommandOutput, CommandResult};
use crate::output::error::{CommandError, ExitKind};
use crate::output::screen::clean;

pub(crate) fn run(args: &SayArgs, world: &World) -> CommandResult {
    let client = CliClient::open(world)?;
    let new = NewMessage { text: Some(args.text.clone()), from: None };
    let ReceivedReply { raw, value: message } = client.call_raw(messages::create(&args.id, &new))?;
    let refused = message.state == MessageState::Refused;
    if world.json {
        let reply = CommandOutput::json(&raw)?;
        return Ok(if refused { reply.with_exit(ExitKind::Failed) } else { reply });
    }
    if refused {
        let why = message.how.unwrap_or_else(|| "it takes no messages".to_owned());
        return Err(CommandError::invalid(format!("cannot send the message to session `{}`: {why}", args.id))
            .hint("run `maestro session list` for the active sessions"));
    }
    let text = format!(
        "{}: {} receives it with its next command, or when it restarts.\n",
        message.state.as_str(),
        clean(&args.id)
    );
    Ok(CommandOutput::text(text))
}
