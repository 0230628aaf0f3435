//! Control of a loop: pause, resume, cancel, and its log.

use maestro_api::runs::{self as runs_api, RunSummary};
use maestro_api::sessions::{self, SessionQuery, SteerAction};
use serde_json::Value as Json;

use super::follow;
use super::listing::PlanLoop;
use crate::client::CliClient;
use crate::host::world::World;
use crate::output::command_output::{CommandOutput, CommandResult};
use crate::output::error::CommandError;
use crate::output::screen::clean;

/// The loop that is meant: the named one, else the only one of this project that goes on.
fn select_loop(client: &CliClient, named: Option<&str>, world: &World) -> CommandResult<PlanLoop> {
    if let Some(id) = named {
        return PlanLoop::find(client, id);
    }
    let mut open = PlanLoop::all(client, world)?;
    open.retain(PlanLoop::is_active);
    match (open.pop(), open.is_empty()) {
        (Some(one), true) => Ok(one),
        (None, _) => Err(CommandError::not_found("no active loop here")
            .hint("run `maestro loop status` for the loops of this project")),
        _ => Err(CommandError::invalid("several active loops here")
            .hint("pass a run ID; run `maestro loop status` for the list")),
    }
}

/// Tells all runs of a loop something.
pub(super) fn send_to_loop(named: Option<&str>, action: SteerAction, world: &World) -> CommandResult {
    let client = CliClient::open(world)?;
    let one = select_loop(&client, named, world)?;
    let mut meant: Vec<&RunSummary> = one.runs().filter(|run| !run.status.is_over()).collect();
    // One that is over says itself that it cannot be steered any more.
    if meant.is_empty() {
        meant.push(&one.lead);
    }
    let mut states = Vec::new();
    for run in meant {
        states.push(client.call_raw(runs_api::steer(&run.id, action))?);
        if action == SteerAction::Cancel {
            end_sessions(&client, &run.id)?;
        }
    }
    if world.json {
        return CommandOutput::json(states.first().map_or(&Json::Null, |state| &state.raw));
    }
    let lines = states.iter().map(|state| {
        let run = &state.value.summary;
        format!("{}  {}\n", clean(&run.id), run.status.as_str())
    });
    Ok(CommandOutput::text(lines.collect::<String>()))
}

/// Ends the agents that work for a run.
fn end_sessions(client: &CliClient, run: &str) -> CommandResult<()> {
    for session in client.list(sessions::list(&SessionQuery::alive()))? {
        if session.metadata.get("run").and_then(Json::as_str) == Some(run) {
            client.call(sessions::steer(&session.id, SteerAction::Cancel))?;
        }
    }
    Ok(())
}

/// What happened in the named loop, else in the one of this project that began last.
pub(super) fn log(named: Option<&str>, world: &World) -> CommandResult {
    let client = CliClient::open(world)?;
    let one = match named {
        Some(id) => PlanLoop::find(&client, id)?,
        None => PlanLoop::all(&client, world)?
            .pop()
            .ok_or_else(|| CommandError::not_found("no loops here").hint("run `maestro loop PLAN.md` to start one"))?,
    };
    if world.json {
        let events = one.events(&client)?.iter().map(serde_json::to_value).collect::<Result<Vec<Json>, _>>();
        let unwritable = |error| CommandError::internal(format!("cannot write JSON: {error}"));
        return CommandOutput::json(&events.map_err(unwritable)?);
    }
    let project = one.lead.project_id.as_deref().unwrap_or_default();
    let lines = follow::past_lines(&client, &one.ids(), project, world)?;
    Ok(CommandOutput::text(format!("{}\n", lines.join("\n"))))
}
