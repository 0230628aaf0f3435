//! `maestro commands`: the commands the caller may use.

use std::fmt::Write as _;

use serde_json::json;

use super::whoami::Me;
use crate::args::{Cli, CommandsArgs};
use crate::client::Client;
use crate::client::permissions::{self, Right};
use crate::host::world::World;
use crate::output::error::{CommandError, Exit};
use crate::output::reply::Reply;
use crate::output::screen::pad;

pub(crate) fn run(args: &CommandsArgs, world: &World) -> Result<Reply, CommandError> {
    let me = Me::of(&Client::open(world)?, world)?;
    if let Some(command) = &args.check {
        return check(command, &me, world);
    }
    let allowed = me.allowed();
    if world.json {
        let commands: Vec<_> =
            allowed.iter().map(|(command, right)| json!({ "command": command, "only": only(*right) })).collect();
        return Reply::json(&json!({ "role": me.word(), "commands": commands }));
    }
    let width = allowed.iter().map(|(command, _)| command.len()).max().unwrap_or_default();
    let mut text = format!("As {} you may use all commands for files, and:\n\n", me.word());
    for (command, right) in allowed {
        let note = world.paint.dim(right.note());
        let _ = writeln!(text, "{}", format!("  {}  {note}", pad(command, width)).trim_end());
    }
    Ok(Reply::text(text))
}

/// Restriction of a command.
fn only(right: Right) -> Option<&'static str> {
    Some(right.note()).filter(|note| !note.is_empty() && right != Right::No)
}

fn check(command: &str, me: &Me, world: &World) -> Result<Reply, CommandError> {
    let command = permissions::plain(command);
    let right = match permissions::find(&command) {
        Some(rule) => rule.right(me.role, me.has_queue()),
        None if exists(&command) => Right::Yes,
        None => {
            return Err(CommandError::not_found(format!("unknown command `{command}`"))
                .hint("run `maestro commands` for the commands that depend on your role"));
        }
    };
    let allowed = right != Right::No;
    let reply = if world.json {
        Reply::json(&json!({ "command": command, "role": me.word(), "allowed": allowed, "only": only(right) }))?
    } else if !allowed {
        return Err(CommandError::forbidden(format!("{} may not use `{command}`", me.word()))
            .hint("run `maestro commands` for the commands you may use"));
    } else {
        let note = only(right).map(|only| format!(", for {only}")).unwrap_or_default();
        Reply::text(format!("{} may use `{command}`{note}.\n", me.word()))
    };
    Ok(if allowed { reply } else { reply.ending(Exit::Forbidden) })
}

/// Whether the command exists.
fn exists(command: &str) -> bool {
    let mut grammar = &Cli::grammar();
    !command.is_empty()
        && command.split(' ').all(|word| match grammar.find_subcommand(word) {
            Some(next) => {
                grammar = next;
                true
            }
            None => false,
        })
}
