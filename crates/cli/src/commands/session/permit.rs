//! `maestro session answer`: questions agents ask before they act, and the answers.

use std::fmt::Write as _;

use inquire::Select;
use serde_json::{Value as Json, json};

use crate::args::PermitArgs;
use crate::client::{Client, escaped, with_query};
use crate::host::world::World;
use crate::output::error::CommandError;
use crate::output::reply::Reply;
use crate::output::screen::clean;

pub(crate) fn run(args: &PermitArgs, world: &World) -> Result<Reply, CommandError> {
    let client = Client::open(world)?;
    let open: Vec<Json> = client.get(&with_query("/api/permissions", &[("sessionId", args.id.as_deref())]))?;
    let (Some(id), Some(answer)) = (&args.id, &args.answer) else { return list(&open, world) };
    let at = args.question.unwrap_or(1);
    let question = at.checked_sub(1).and_then(|at| open.get(at)).ok_or_else(|| {
        CommandError::not_found(format!("session `{id}` has no question {at}"))
            .hint("run `maestro session answer` for the open questions")
    })?;
    let kind = kind(answer, question)?;
    let request = question["request"].as_str().unwrap_or_default();
    let path = format!("/api/sessions/{}/permissions/{}", escaped(id), escaped(request));
    let answered: Json = client.post(&path, &json!({ "answer": kind }))?;
    if world.json {
        return Reply::json(&answered);
    }
    let title = clean(answered["title"].as_str().unwrap_or_default());
    Ok(Reply::text(format!("{}: {title}\n", clean(answer))))
}

/// Asks the person at the terminal what an agent asks, and passes the answer on. Who does not answer says nothing.
pub(crate) fn ask(client: &Client, question: &Json) -> Result<(), CommandError> {
    let word = |key: &str| question[key].as_str().unwrap_or_default();
    let offered: Vec<&str> =
        ["once", "always", "deny"].into_iter().filter(|answer| kind(answer, question).is_ok()).collect();
    let prompt = format!("Allow: {}", clean(word("title")));
    let Ok(Some(answer)) = Select::new(&prompt, offered).prompt_skippable() else { return Ok(()) };
    let path = format!("/api/sessions/{}/permissions/{}", escaped(word("sessionId")), escaped(word("request")));
    let answered: Result<Json, CommandError> = client.post(&path, &json!({ "answer": kind(answer, question)? }));
    match answered {
        // Another person answered first, or its time was over.
        Err(error) if error.is_refusal() => Ok(()),
        other => other.map(drop),
    }
}

/// The server's word for an answer, as far as the agent offers it.
fn kind(answer: &str, question: &Json) -> Result<&'static str, CommandError> {
    let kind = match answer {
        "once" | "allow" | "yes" => "allow_once",
        "always" => "allow_always",
        "deny" | "no" => "reject_once",
        other => {
            return Err(CommandError::invalid(format!("unknown answer `{other}`")).hint("answer once, always or deny"));
        }
    };
    let offered =
        |kind: &str| question["options"].as_array().into_iter().flatten().any(|option| option["kind"] == kind);
    if kind == "allow_always" && !offered(kind) {
        return Err(CommandError::invalid("the agent does not offer that answer").hint("answer once or deny"));
    }
    Ok(kind)
}

fn list(open: &[Json], world: &World) -> Result<Reply, CommandError> {
    if world.json {
        return Reply::json(&open);
    }
    let mut text = String::new();
    for (at, question) in open.iter().enumerate() {
        let told = |key: &str| clean(question[key].as_str().unwrap_or_default());
        let before = open[..at].iter().filter(|other| other["sessionId"] == question["sessionId"]).count();
        let _ = writeln!(text, "{}  {}  {}", told("sessionId"), before + 1, told("title"));
        for line in question["detail"].as_str().unwrap_or_default().lines().take(20) {
            let _ = writeln!(text, "    {}", clean(line));
        }
    }
    if open.is_empty() {
        text.push_str("No open questions.\n");
    } else {
        text.push_str("Answer with `maestro session answer ID once|always|deny`.\n");
    }
    Ok(Reply::text(text))
}
