//! `maestro session answer`: everything that waits for a person, and the answers.

use std::fmt::Write as _;

use inquire::Select;
use maestro_api::ReceivedReply;
use maestro_api::messages::{self, NewMessage};
use maestro_api::runs::{self as runs_api, RunAnswer};
use maestro_api::spawns::{self, PermissionAnswer, PermissionBody, PermissionQuery};
use maestro_api::waiting::{self, WaitingBody, WaitingQuery};
use maestro_core::agent::PermissionChoiceKind;
use maestro_core::short_id::ShortIds;
use maestro_core::waiting::WaitingKind;
use serde_json::{Value as Json, json};

use crate::args::PermitArgs;
use crate::client::CliClient;
use crate::client::waiting::answers;
use crate::host::world::World;
use crate::output::command_output::{CommandOutput, CommandResult};
use crate::output::error::CommandError;
use crate::output::screen::clean;

/// How many lines of what an agent wants to do are shown.
const DETAIL: usize = 20;

pub(crate) fn run(args: &PermitArgs, world: &World) -> CommandResult {
    let client = CliClient::open(world)?;
    let short = client.short_ids();
    let mut open = client.call_raw(waiting::list(&WaitingQuery::default()))?;
    if let Some(id) = &args.id {
        let meant: Vec<String> = short.matches(id).into_iter().map(str::to_owned).collect();
        let is_meant = |item: &WaitingBody| {
            let ids = [Some(&item.id), item.run_id.as_ref(), item.task_id.as_ref()];
            ids.into_iter().flatten().any(|known| known == id || meant.contains(known))
        };
        keep(&mut open, is_meant);
    }
    let (Some(id), Some(answer)) = (&args.id, &args.answer) else { return list(&client, &open, &short, world) };
    let at = args.question.unwrap_or(1);
    let question = at.checked_sub(1).and_then(|at| open.value.get(at)).ok_or_else(|| {
        CommandError::not_found(format!("`{}` has no question {at}", clean(id)))
            .hint("run `maestro session answer` for the open questions")
    })?;
    let (raw, said) = send(&client, question, answer, world)?;
    if world.json {
        return CommandOutput::json(&raw);
    }
    Ok(CommandOutput::text(said))
}

/// Keeps what is meant, in both forms.
fn keep(open: &mut ReceivedReply<Vec<WaitingBody>>, is_meant: impl Fn(&WaitingBody) -> bool) {
    let kept: Vec<bool> = open.value.iter().map(is_meant).collect();
    let mut at = kept.iter();
    open.value.retain(|_| at.next().copied().unwrap_or_default());
    if let Json::Array(raw) = &mut open.raw {
        let mut at = kept.iter();
        raw.retain(|_| at.next().copied().unwrap_or_default());
    }
}

/// Passes an answer on to who asked. Returns the reply, and what to print.
fn send(client: &CliClient, question: &WaitingBody, answer: &str, world: &World) -> CommandResult<(Json, String)> {
    if let (Some(session), Some(request)) = (&question.session_id, &question.request) {
        let asked = permission_body(client, session, request)?;
        let kind = kind(answer, &asked)?;
        let reply = client.call_raw(spawns::answer(session, request, &permission_answer(kind)))?;
        return Ok((reply.raw, format!("{}: {}\n", clean(answer), clean(&reply.value.title))));
    }
    if let (Some(run), Some(ticket)) = (&question.run_id, &question.ticket) {
        let answer = RunAnswer {
            ticket: Some(ticket.clone()),
            value: Some(json!(answer)),
            instead: None,
            by: Some(world.answer_author()),
        };
        let reply = client.call_raw(runs_api::answer(run, &answer))?;
        return Ok((reply.raw, "Answered.\n".to_owned()));
    }
    if let Some(session) = &question.session_id {
        let message = NewMessage { text: Some(answer.to_owned()), from: None };
        let reply = client.call_raw(messages::create(session, &message))?;
        return Ok((
            reply.raw,
            "Answered; the agent receives it with its next command, or when it restarts.\n".to_owned(),
        ));
    }
    let hint = match question.kind {
        WaitingKind::Consent => clean(&question.text).into_owned(),
        _ => format!("reopen it with `maestro task update {} --status todo`", clean(&question.id)),
    };
    Err(CommandError::refused("no session receives an answer to this").hint(hint))
}

fn permission_body(client: &CliClient, session: &str, request: &str) -> CommandResult<PermissionBody> {
    let query = PermissionQuery { session_id: Some(session.to_owned()), all: None };
    let found = client.call(spawns::permissions(&query))?.into_iter().find(|asked| asked.request == request);
    found.ok_or_else(|| CommandError::not_found("it was answered meanwhile"))
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

fn list(client: &CliClient, open: &ReceivedReply<Vec<WaitingBody>>, short: &ShortIds, world: &World) -> CommandResult {
    let ReceivedReply { raw, value: open } = open;
    if world.json {
        return CommandOutput::json(raw);
    }
    let mut text = String::new();
    for (at, item) in open.iter().enumerate() {
        let before = open[..at].iter().filter(|other| other.id == item.id).count();
        let id = clean(short.shorten(&item.id)).into_owned();
        let _ = writeln!(text, "{id}  {}  {}: {}", before + 1, item.kind.label(), clean(&item.name));
        for line in item.text.lines() {
            let _ = writeln!(text, "    {}", clean(line));
        }
        if let (Some(session), Some(request)) = (&item.session_id, &item.request) {
            // Answered meanwhile, it has nothing more to show.
            let detail = permission_body(client, session, request).map(|asked| asked.detail).unwrap_or_default();
            for line in detail.lines().take(DETAIL).filter(|line| *line != item.text) {
                let _ = writeln!(text, "    {}", clean(line));
            }
        }
        let number = if before > 0 { format!(" --question {}", before + 1) } else { String::new() };
        let _ = writeln!(text, "    answer with `maestro session answer {id} {}{number}`", answers(item));
    }
    if open.is_empty() {
        text.push_str("Nothing waits for you.\n");
    }
    Ok(CommandOutput::text(text))
}
