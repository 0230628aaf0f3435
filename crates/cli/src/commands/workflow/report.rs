//! `maestro workflow next|report|answer`: commands by which an agent follows a run.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

use maestro_api::runs::{self as runs_api, NoAnswer, RunAnswer, RunReport};
use serde_json::{Map, Value as Json, json};

use super::directive;
use crate::args::{RenderArgs, RunReportArgs, WorkflowAnswerArgs};
use crate::client::runs;
use crate::host::world::World;
use crate::output::command_output::CommandResult;
use crate::output::error::CommandError;

/// Maximum size of a result; the engine accepts less, and says so.
const MAX_RESULT: u64 = 900 * 1024;

pub(super) fn next(id: &str, form: &RenderArgs, world: &World) -> CommandResult {
    let tool = directive::tool(form, world)?;
    let client = runs::client(world)?;
    directive::next_reply(&client, runs::get(&client, id)?, &tool, world)
}

pub(super) fn report(args: &RunReportArgs, world: &World) -> CommandResult {
    // `--set` changes settings everywhere else; here it sets variables of the run.
    let set = assignments(&world.flags)?;
    let world = &World { flags: Vec::new(), ..world.clone() };
    let tool = directive::tool(&args.form, world)?;
    let result = match &args.result_file {
        Some(path) => result(path, world)?,
        None => Map::new(),
    };
    let client = runs::client(world)?;
    let seen = runs::review_state(&runs::get(&client, &args.run)?);
    let report = RunReport {
        ticket: Some(args.ticket.clone()),
        outcome: args.outcome.clone(),
        set: Some(set),
        result: Some(result),
        seen: Some(seen),
    };
    match client.call(runs_api::report(&runs::run_id(&args.run)?, &report)) {
        Ok(reply) => directive::next_reply(&client, reply, &tool, world),
        Err(error) => directive::refusal_reply(error, &tool, world),
    }
}

pub(super) fn answer(args: &WorkflowAnswerArgs, world: &World) -> CommandResult {
    let tool = directive::tool(&args.form, world)?;
    let client = runs::client(world)?;
    let ticket = Some(args.ticket.clone());
    let by = Some(world.answer_author());
    let without = |instead| RunAnswer { ticket: ticket.clone(), value: None, instead: Some(instead), by };
    let with = |value| RunAnswer { ticket: ticket.clone(), value: Some(value), instead: None, by };
    let answer = match (args.values.as_slice(), args.declined, args.cancelled) {
        (_, true, _) => without(NoAnswer::Declined),
        (_, _, true) => without(NoAnswer::Cancelled),
        ([], _, _) => {
            return Err(
                CommandError::invalid("missing answer").hint("pass the user's answer, --declined or --cancelled")
            );
        }
        ([one], _, _) => with(json!(one)),
        (many, _, _) => with(json!(many)),
    };
    match client.call(runs_api::answer(&runs::run_id(&args.run)?, &answer)) {
        Ok(reply) => directive::next_reply(&client, reply, &tool, world),
        Err(error) => directive::refusal_reply(error, &tool, world),
    }
}

/// `KEY=VALUE`; JSON is parsed, everything else is text.
fn assignments(typed: &[String]) -> CommandResult<Map<String, Json>> {
    let pair = |text: &String| match text.split_once('=') {
        Some((name, value)) => {
            let value = serde_json::from_str(value).unwrap_or_else(|_| Json::String(value.to_owned()));
            Ok((name.to_owned(), value))
        }
        None => Err(CommandError::invalid(format!("`{text}` is not KEY=VALUE")).hint("write --set name=value")),
    };
    typed.iter().map(pair).collect()
}

/// The result, from a file or standard input.
fn result(path: &Path, world: &World) -> CommandResult<Map<String, Json>> {
    let unreadable =
        |error: io::Error| CommandError::io(format!("cannot read the result from `{}`", path.display()), &error);
    let mut text = String::new();
    if path == Path::new("-") {
        io::stdin().lock().take(MAX_RESULT + 1).read_to_string(&mut text).map_err(unreadable)?;
    } else {
        let file = File::open(world.places.working_dir.join(path)).map_err(unreadable)?;
        file.take(MAX_RESULT + 1).read_to_string(&mut text).map_err(unreadable)?;
    }
    if text.len() as u64 > MAX_RESULT {
        return Err(CommandError::invalid("the result is larger than 900 KiB")
            .hint("write long findings to a file, and name it in the result"));
    }
    if text.trim().is_empty() {
        return Ok(Map::new());
    }
    serde_json::from_str(&text).map_err(|error| {
        CommandError::invalid("the result is not a JSON object")
            .because(&error)
            .hint("pass one object with the fields of RESULT, for example {\"summary\": \"…\"}")
    })
}
