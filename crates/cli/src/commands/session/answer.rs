//! `maestro session answer`: questions agents ask before they act, and the answers.

use std::fmt::Write as _;

use inquire::Select;
use maestro_api::ReceivedReply;
use maestro_api::spawns::{self, PermissionAnswer, PermissionBody, PermissionQuery};
use maestro_core::agent::PermissionChoiceKind;

use crate::args::PermitArgs;
use crate::client::CliClient;
use crate::host::world::World;
use crate::output::command_output::{CommandOutput, CommandResult};
use crate::output::error::CommandError;
use crate::output::screen::clean;

pub(crate) fn run(args: &PermitArgs, world: &World) -> CommandResult {
    let client = CliClient::open(world)?;
    let query = PermissionQuery { session_id: args.id.clone(), all: None };
    let open = client.call_raw(spawns::permissions(&query))?;
    let (Some(id), Some(answer)) = (&args.id, &args.answer) else { return list(&open, world) };
    let at = args.question.unwrap_or(1);
    let question = at.checked_sub(1).and_then(|at| open.value.get(at)).ok_or_else(|| {
        CommandError::not_found(format!("session `{id}` has no question {at}"))
            .hint("run `maestro session answer` for the open questions")
    })?;
    let kind = kind(answer, question)?;
    let ReceivedReply { raw, value: answered } =
        client.call_raw(spawns::answer(id, &question.request, &permission_answer(kind)))?;
    if world.json {
        return CommandOutput::json(&raw);
    }
    Ok(CommandOutput::text(format!("{}: {}\n", clean(answer), clean(&answered.title))))
}

/// Asks the person at the terminal what an agent asks, and passes the answer on. Who does not answer says nothing.
pub(crate) fn ask(client: &CliClient, question: &PermissionBody) -> CommandResult<()> {
    let offered: Vec<&str> =
        ["once", "always", "deny"].into_iter().filter(|answer| kind(answer, question).is_ok()).collect();
    let prompt = format!("Allow: {}", clean(&question.title));
    let Ok(Some(answer)) = Select::new(&prompt, offered).prompt_skippable() else { return Ok(()) };
    let answer = permission_answer(kind(answer, question)?);
    match client.call(spawns::answer(&question.session_id, &question.request, &answer)) {
        // Another person answered first, or its time was over.
        Err(error) if error.is_refusal() => Ok(()),
        other => other.map(drop),
    }
}

/// The server's word for an answer, as far as the agent offers it.
fn kind(answer: &str, question: &PermissionBody) -> CommandResult<PermissionChoiceKind> {
    let kind = match answer {
        "once" | "allow" | "yes" => PermissionChoiceKind::AllowOnce,
        "always" => PermissionChoiceKind::AllowAlways,
        "deny" | "no" => PermissionChoiceKind::RejectOnce,
        other => {
            return Err(CommandError::invalid(format!("unknown answer `{other}`")).hint("answer once, always or deny"));
        }
    };
    let offered = question.options.iter().any(|option| option.kind == kind);
    if kind == PermissionChoiceKind::AllowAlways && !offered {
        return Err(CommandError::invalid("the agent does not offer that answer").hint("answer once or deny"));
    }
    Ok(kind)
}

fn permission_answer(kind: PermissionChoiceKind) -> PermissionAnswer {
    PermissionAnswer { answer: Some(kind.as_str().to_owned()) }
}

fn list(open: &ReceivedReply<Vec<PermissionBody>>, world: &World) -> CommandResult {
    let ReceivedReply { raw, value: open } = open;
    if world.json {
        return CommandOutput::json(raw);
    }
    let mut text = String::new();
    for (at, question) in open.iter().enumerate() {
        let before = open[..at].iter().filter(|other| other.session_id == question.session_id).count();
        let _ = writeln!(text, "{}  {}  {}", clean(&question.session_id), before + 1, clean(&question.title));
        for line in question.detail.lines().take(20) {
            let _ = writeln!(text, "    {}", clean(line));
        }
    }
    if open.is_empty() {
        text.push_str("No open questions.\n");
    } else {
        text.push_str("Answer with `maestro session answer ID once|always|deny`.\n");
    }
    Ok(CommandOutput::text(text))
}
