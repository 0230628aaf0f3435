//! `maestro workflow start`: begin a run, and say what is to be done first.

use std::fmt::Write as _;

use maestro_core::workflow::definition::Variable;
use maestro_core::workflow::orders::orders;
use maestro_core::workflow::pinned::Pinned;
use maestro_core::workflow::tool::Tool;
use maestro_core::workflow::{FindingCode, Type, Workflow};
use maestro_engine::workflows::{Loaded, Workflows};
use serde_json::{Map, Value as Json, json};

use super::turn;
use crate::args::StartArgs;
use crate::client::Client;
use crate::client::context;
use crate::client::runs::{self, RunReply};
use crate::host::workshop;
use crate::host::world::World;
use crate::output::error::CommandError;
use crate::output::reply::Reply;
use crate::output::screen::{clean, count};

pub(super) fn run(
    workflows: &Workflows<'_>,
    args: &StartArgs,
    tool: &Tool,
    world: &World,
) -> Result<Reply, CommandError> {
    if let (Some(parent), Some(ticket)) = (&args.parent, &args.ticket) {
        let client = runs::client(world)?;
        let body = json!({ "parent": { "run": parent, "ticket": ticket } });
        return turn::told(&client, client.post("/api/runs", &body)?, tool, world);
    }
    let begun = begin(workflows, &args.name, &args.params, tool.directory.as_deref(), world)?;
    Ok(turn::told(&begun.client, begun.reply, tool, world)?.with_notes(begun.notes))
}

/// A run that was begun.
pub(super) struct Begun {
    pub(super) client: Client,
    pub(super) reply: RunReply,
    pub(super) notes: String,
}

/// Begins a run of a workflow as it is here.
pub(super) fn begin(
    workflows: &Workflows<'_>,
    name: &str,
    params: &[String],
    tool: Option<&str>,
    world: &World,
) -> Result<Begun, CommandError> {
    let loaded = workflows.find(name)?;
    let pinned = workflows.pinned(name)?;
    let notes = notes(&loaded);
    let params = match &loaded.workflow {
        Some(workflow) => {
            has_commands(name, workflow, world)?;
            values(params, &workflow.params)?
        }
        None => Map::new(),
    };
    consented(&pinned, world)?;
    let client = runs::client(world)?;
    let body = json!({
        "pinned": pinned,
        "params": params,
        "workspace": world.places.project,
        "tool": tool.unwrap_or_default(),
        "projectId": runs::project(&client, world),
        "taskId": context::tasks(world).first(),
        "driver": "caller",
    });
    let reply = client.post("/api/runs", &body).map_err(|error| match &loaded.workflow {
        Some(workflow) if !workflow.params.is_empty() && !error.is_not_found() => error.hint(usage(name, workflow)),
        _ => error,
    })?;
    Ok(Begun { client, reply, notes })
}

/// What a person should know of a workflow when it begins.
fn notes(loaded: &Loaded) -> String {
    let name = clean(&loaded.source.name);
    let mut notes = String::new();
    if loaded.is_made_of_instructions() {
        let _ = writeln!(
            notes,
            "note: {name} has instructions only, an old form; it is followed in one step. \
             `maestro workflow convert {name}` prints a workflow to start from."
        );
    }
    for finding in loaded.findings.iter().filter(|finding| finding.code == FindingCode::W05) {
        let _ = writeln!(notes, "note: {name}: {} ({})", clean(&finding.message), clean(&finding.help));
    }
    notes
}

/// Refuses to begin what cannot come to its end, because a program is missing.
fn has_commands(name: &str, workflow: &Workflow, world: &World) -> Result<(), CommandError> {
    let has = |program: &String| {
        program == "maestro" || world.program_dirs.iter().any(|directory| directory.join(program).is_file())
    };
    match workflow.requires.commands.iter().find(|program| !has(program)) {
        None => Ok(()),
        Some(missing) => {
            Err(CommandError::invalid(format!("`{name}` needs the program `{missing}`, which is not here"))
                .hint("install it, or put it on PATH"))
        }
    }
}

/// Refuses to begin what nobody has allowed to be executed; later, when a command is due, is too late to ask.
fn consented(pinned: &Pinned, world: &World) -> Result<(), CommandError> {
    let definition = pinned.definition().map_err(|error| CommandError::internal(error.to_string()))?;
    let all = std::iter::once(&definition.main).chain(definition.callees.values());
    let executions: Vec<String> = all.flat_map(orders).map(|execution| execution.action.written()).collect();
    if executions.is_empty() || workshop::is_allowed(&world.maestro_home, &pinned.definitions) {
        return Ok(());
    }
    let name = &pinned.main;
    let executions = count(executions.len(), "command", "commands");
    let message = format!("`{name}` would execute {executions}, and nobody has allowed that yet");
    Err(CommandError::forbidden(message).hint(format!("`maestro trust {name}` shows what, and asks")))
}

fn usage(name: &str, workflow: &Workflow) -> String {
    let needed = workflow.params.iter().filter(|param| param.required && param.default.is_none());
    let needed = needed.fold(String::new(), |mut text, param| {
        let _ = write!(text, " --param {}=…", param.name);
        text
    });
    format!("`maestro workflow start {name}{needed}`; `maestro workflow show {name}` tells what each means")
}

/// What was typed, as the types that are declared.
pub(super) fn values(typed: &[String], declared: &[Variable]) -> Result<Map<String, Json>, CommandError> {
    let mut values = Map::new();
    for text in typed {
        let Some((name, value)) = text.split_once('=') else {
            return Err(CommandError::invalid(format!("`{text}` is not KEY=VALUE")).hint("write --param name=value"));
        };
        let kind = declared.iter().find(|known| known.name.as_str() == name).map(|known| &known.kind);
        let value = match kind {
            // What looks like JSON is taken as that where text would not fit anyway.
            Some(Type::Int | Type::Bool | Type::List | Type::Object(_)) => {
                serde_json::from_str(value).unwrap_or_else(|_| Json::String(value.to_owned()))
            }
            _ => Json::String(value.to_owned()),
        };
        values.insert(name.to_owned(), value);
    }
    Ok(values)
}
