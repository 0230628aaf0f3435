//! `maestro token`: tokens for programs that call the server over the network.

use std::fmt::Write as _;

use maestro_api::ReceivedReply;
use maestro_api::tokens::{self, AccessTokenRequest};

use crate::args::{TokenArgs, TokenCommand};
use crate::client::CliClient;
use crate::host::world::World;
use crate::output::command_output::{CommandOutput, CommandResult};
use crate::output::screen::{clean, count, pad};

pub(crate) fn run(args: &TokenArgs, world: &World) -> CommandResult {
    let client = CliClient::open(world)?;
    match &args.command {
        TokenCommand::Create { name, read, days } => {
            let access = read.then(|| "read".to_owned());
            let project_id = world.aim.project.clone();
            create(
                &AccessTokenRequest { name: Some(name.clone()), project_id, access, days: days.map(i64::from) },
                &client,
                world,
            )
        }
        TokenCommand::List => list(&client, world),
        TokenCommand::Revoke { id } => revoke(id, &client, world),
    }
}

fn create(token: &AccessTokenRequest, client: &CliClient, world: &World) -> CommandResult {
    let ReceivedReply { raw, value: made } = client.call_raw(tokens::create(token))?;
    if world.json {
        return CommandOutput::json(&raw);
    }
    // Only the token, so that it can be stored: `maestro token create ci > file`.
    Ok(CommandOutput::text(format!("{}\n", clean(&made.token))))
}

fn list(client: &CliClient, world: &World) -> CommandResult {
    let ReceivedReply { raw, value: tokens } = client.list_raw(tokens::list())?;
    if world.json {
        return CommandOutput::json(&raw);
    }
    let width = tokens.iter().map(|token| token.id.len()).max().unwrap_or_default();
    let mut text = String::new();
    for token in &tokens {
        let id = world.paint.dim(&pad(&clean(&token.id), width));
        let scope = token.project_id.as_deref().unwrap_or("all projects");
        let about = format!("{}, {}, {}", clean(&token.kind), clean(&token.access), clean(scope));
        let _ = writeln!(text, "{id}  {}  {}", clean(&token.name), world.paint.dim(&about));
    }
    let sum = match tokens.len() {
        0 => "No tokens; run `maestro token create NAME` to create one".to_owned(),
        many => count(many, "token", "tokens"),
    };
    let _ = writeln!(text, "{sum}");
    Ok(CommandOutput::text(text))
}

fn revoke(id: &str, client: &CliClient, world: &World) -> CommandResult {
    let reply = client.call_raw(tokens::revoke(id))?;
    if world.json {
        return CommandOutput::json(&reply.raw);
    }
    Ok(CommandOutput::text(format!("Revoked {}\n", clean(id))))
}
