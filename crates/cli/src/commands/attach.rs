//! `maestro attach`: a session's agent in its own interface; when it is left, Maestro goes on.

use std::process::Command;
use std::time::Duration;

use maestro_core::agent::{Agents, Conversation, Driver, Fill, Permission};
use maestro_engine::agents::installed::Programs;
use maestro_engine::identity::Identity;
use serde_json::{Value as Json, json};

use crate::args::AttachArgs;
use crate::client::{Client, escaped};
use crate::error::CommandError;
use crate::reply::Reply;
use crate::world::World;

/// How often it is asked whether the agent was let go, and said that we are still there.
const ASK: Duration = Duration::from_millis(200);
/// How many times it is asked.
const TIMES: usize = 100;

pub(crate) fn run(args: &AttachArgs, world: &World) -> Result<Reply, CommandError> {
    let _ = (args, world, ASK, TIMES);
    let _ = (Agents::builtin, Driver::Json, Permission::Ask, Identity::of_this_process, Duration::from_secs);
    let _: Option<(Programs, Command, Client, Json)> = None;
    let _ = (escaped, json!(null));
    let _ = |fill: Fill<'_>| matches!(fill.conversation, Conversation::Fresh(_));
    Err(CommandError::internal("not yet"))
}
