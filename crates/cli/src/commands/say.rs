//! `maestro say`: messages for an agent, which arrive with its next command.

use serde_json::{Value as Json, json};

use crate::args::SayArgs;
use crate::client::wire::{self, Message};
use crate::client::{Client, escaped};
use crate::host::world::World;
use crate::output::error::{CommandError, Exit};
use crate::output::reply::Reply;
use crate::output::screen::clean;

pub(crate) fn run(args: &SayArgs, world: &World) -> Result<Reply, CommandError> {
    let client = Client::open(world)?;
    let path = format!("/api/sessions/{}/messages", escaped(&args.id));
    let whole: Json = client.post(&path, &json!({ "text": args.text }))?;
    let message: Message = wire::read(&whole)?;
    let refused = message.state == "refused";
    if world.json {
        let reply = Reply::json(&whole)?;
        return Ok(if refused { reply.ending(Exit::Failed) } else { reply });
    }
    if refused {
        let why = message.how.unwrap_or_else(|| "it takes no messages".to_owned());
        return Err(CommandError::invalid(format!("cannot send the message to session `{}`: {why}", args.id))
            .hint("run `maestro session list` for the active sessions"));
    }
    let text = format!(
        "{}: {} receives it with its next command, or when it restarts.\n",
        clean(&message.state),
        clean(&args.id)
    );
    Ok(Reply::text(text))
}
