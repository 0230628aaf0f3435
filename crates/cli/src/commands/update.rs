//! `maestro update`: progress of the work; without a message, only a heartbeat.

use serde_json::json;

use crate::args::UpdateArgs;
use crate::client::Client;
use crate::client::worker::{self, Speaker};
use crate::host::world::World;
use crate::output::error::CommandError;
use crate::output::reply::Reply;

pub(crate) fn run(args: &UpdateArgs, world: &World) -> Result<Reply, CommandError> {
    let speaker = Speaker::of(world)?;
    let client = Client::open(world)?;
    let message = args.message.as_deref().map(str::trim).filter(|message| !message.is_empty());
    let body = json!({ "kind": "progress", "message": message, "taskIds": args.task });
    let said = if message.is_some() { "Reported." } else { "Heartbeat recorded." };
    worker::report(client, &speaker, &body, said, world)
}
