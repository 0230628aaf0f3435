//! `maestro workflow runs|log|pause|resume|reopen|cancel`: runs, their log, and control of them.

use std::fmt::Write as _;

use maestro_api::ReceivedReply;
use maestro_api::events::RunLogEntry;
use maestro_api::runs::{self as runs_api, RunLogQuery, RunQuery, RunReopening};
use maestro_api::sessions::SteerAction;
use maestro_core::WorkState;
use maestro_core::excerpt::one_line;
use maestro_core::workflow::RunEvent;
use maestro_core::workflow::run::AnswerAuthor;
use serde_json::{Value as Json, json};

use super::{directive, start};
use crate::args::{RenderArgs, WorkflowReopenArgs};
use crate::client::runs;
use crate::host::world::World;
use crate::output::command_output::{CommandOutput, CommandResult};
use crate::output::error::CommandError;
use crate::output::screen::{clean, count, fit};
use crate::output::time::iso;

/// How much of what happened is shown on a line.
const WIDTH: usize = 160;

/// Which runs are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RunScope {
    /// Those of the project.
    Project,
    /// Those of all projects.
    All,
}

pub(super) fn list(status: Option<&str>, whose: RunScope, world: &World) -> CommandResult {
    let client = runs::client(world)?;
    let project = match whose {
        RunScope::Project => runs::project(&client, world),
        RunScope::All => None,
    };
    let query = RunQuery { project_id: project, status: status.map(str::to_owned), workflow: None };
    let ReceivedReply { raw, value: runs } = client.list_raw(runs_api::list(&query))?;
    if world.json {
        return CommandOutput::json(&raw);
    }
    if runs.is_empty() {
        return Ok(CommandOutput::text("No runs here. Run `maestro workflow start NAME` to start one.\n"));
    }
    let mut text = String::new();
    let short = client.short_ids();
    for run in &runs {
        let status = match (run.state, run.waiting) {
            (WorkState::Working, Some(waiting)) => format!("waiting for {}", waiting.as_str()),
            (state, _) => state.label().to_owned(),
        };
        let at = run.step.as_deref().map(|step| format!("at {}", clean(step))).unwrap_or_default();
        let _ = writeln!(text, "{}  {:<19}  {:<20} {at}", clean(short.shorten(&run.id)), status, clean(&run.workflow));
    }
    let _ = writeln!(text, "{}", world.paint.dim(&count(runs.len(), "run", "runs")));
    Ok(CommandOutput::text(text))
}

pub(super) fn log(id: &str, world: &World) -> CommandResult {
    let client = runs::client(world)?;
    let id = runs::run_id(id)?;
    let (mut whole, mut events): (Vec<Json>, Vec<RunLogEntry>) = (Vec::new(), Vec::new());
    loop {
        let after = events.last().map_or(0, |event| event.seq);
        let query = RunLogQuery { after: Some(after), limit: Some(1000) };
        let ReceivedReply { raw, mut value } = client.call_raw(runs_api::log(&id, query))?;
        if value.is_empty() {
            break;
        }
        events.append(&mut value);
        whole.extend(raw.as_array().cloned().unwrap_or_default());
    }
    if world.json {
        return CommandOutput::json(&whole);
    }
    let mut text = String::new();
    for event in &events {
        let kind = event.kind.trim_start_matches("run:");
        let Some(words) = words(event) else { continue };
        let line = format!("{}  {kind:<14} {}", iso(event.at), clean(&one_line(&words)));
        let _ = writeln!(text, "{}", fit(&line, world.width.unwrap_or(WIDTH)));
    }
    Ok(CommandOutput::text(text))
}

/// What happened in words; nothing where an event is only kept so that the run can go on.
fn words(event: &RunLogEntry) -> Option<String> {
    let told = json!({ "type": event.kind, "payload": event.payload });
    match serde_json::from_value::<RunEvent>(told) {
        Ok(RunEvent::Began { workflow, params, .. }) => Some(format!("started {workflow} with {}", Json::from(params))),
        Ok(event) => event.in_words(),
        // Another version wrote it.
        Err(_) => Some(event.payload.get().to_owned()),
    }
}

pub(super) fn steer(id: &str, order: SteerAction, form: &RenderArgs, world: &World) -> CommandResult {
    let tool = directive::tool(form, world)?;
    let client = runs::client(world)?;
    let reply = match client.call(runs_api::steer(&runs::run_id(id)?, order)) {
        Ok(reply) => reply,
        Err(error) => return directive::refusal_reply(error, &tool, world),
    };
    directive::next_reply(&client, reply, &tool, world)
}

pub(super) fn reopen(args: &WorkflowReopenArgs, world: &World) -> CommandResult {
    // An agent could else take back what a gate or the user decided.
    if world.answer_author() == AnswerAuthor::Agent {
        return Err(CommandError::forbidden("only a person reopens a run, and this is the shell of a coding agent")
            .hint(format!("ask the user to run `maestro workflow reopen {}` in a terminal of their own", args.run)));
    }
    let tool = directive::tool(&args.form, world)?;
    let client = runs::client(world)?;
    let params = if args.params.is_empty() {
        None
    } else {
        let (_, pinned) = runs::state(&client, &args.run)?;
        let definition = pinned.definition().map_err(|error| CommandError::internal(error.to_string()))?;
        Some(start::values(&args.params, &definition.main.params)?)
    };
    let body = RunReopening { at: args.at.clone(), params };
    let reply = match client.call(runs_api::reopen(&runs::run_id(&args.run)?, &body)) {
        Ok(reply) => reply,
        Err(error) => return directive::refusal_reply(error, &tool, world),
    };
    directive::next_reply(&client, reply, &tool, world)
}
