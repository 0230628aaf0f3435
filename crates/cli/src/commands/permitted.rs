//! `maestro commands`: the commands the caller may use.

use std::fmt::Write as _;

use serde_json::json;

use super::whoami::CallerIdentity;
use crate::args::{Cli, CommandsArgs};
use crate::client::CliClient;
use crate::client::permissions::{self, CommandRight};
use crate::host::world::World;
use crate::output::command_output::{CommandOutput, CommandResult};
use crate::output::error::{CommandError, ExitKind};
use crate::output::screen::pad;

pub(crate) fn run(args: &CommandsArgs, world: &World) -> CommandResult {
    let me = CallerIdentity::of(&CliClient::open(world)?, world)?;
    if let Some(command) = &args.check {
        return check(command, &me, world);
    }
    let allowed = me.allowed();
    if world.json {
        let commands: Vec<_> =
            allowed.iter().map(|(command, right)| json!({ "command": command, "only": limit_text(*right) })).collect();
        return CommandOutput::json(&json!({ "role": me.word(), "commands": commands }));
    }
    let width = allowed.iter().map(|(command, _)| command.len()).max().unwrap_or_default();
    let mut text = format!("As {} you may use all commands for files, and:\n\n", me.word());
    for (command, right) in allowed {
        let note = world.paint.dim(right.note());
        let _ = writeln!(text, "{}", format!("  {}  {note}", pad(command, width)).trim_end());
    }
    Ok(CommandOutput::text(text))
}

/// Restriction of a command.
fn limit_text(right: CommandRight) -> Option<&'static str> {
    Some(right.note()).filter(|note| !note.is_empty() && right != CommandRight::No)
}

fn check(command: &str, me: &CallerIdentity, world: &World) -> CommandResult {
    let command = permissions::plain(command);
    let right = match permissions::find(&command) {
        Some(rule) => rule.right(me.role, me.has_queue()),
        None if exists(&command) => CommandRight::Yes,
        None => {
            return Err(CommandError::not_found(format!("unknown command `{command}`"))
                .hint("run `maestro commands` for the commands that depend on your role"));
        }
    };
    let allowed = right != CommandRight::No;
    let reply = if world.json {
        CommandOutput::json(
            &json!({ "command": command, "role": me.word(), "allowed": allowed, "only": limit_text(right) }),
        )?
    } else if !allowed {
        return Err(CommandError::forbidden(format!("{} may not use `{command}`", me.word()))
            .hint("run `maestro commands` for the commands you may use"));
    } else {
        let note = limit_text(right).map(|only| format!(", for {only}")).unwrap_or_default();
        CommandOutput::text(format!("{} may use `{command}`{note}.\n", me.word()))
    };
    Ok(if allowed { reply } else { reply.with_exit(ExitKind::Forbidden) })
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
