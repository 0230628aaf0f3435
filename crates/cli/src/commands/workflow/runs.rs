//! `maestro workflow runs|log|pause|resume|cancel`: runs, their log, and control of them.

use std::fmt::Write as _;

use serde_json::{Value as Json, json};

use super::turn;
use crate::args::FormArgs;
use crate::client::runs;
use crate::client::with_query;
use crate::host::world::World;
use crate::output::error::CommandError;
use crate::output::reply::Reply;
use crate::output::screen::{clean, count, fit};
use crate::output::time::iso;

/// How much of what happened is shown on a line.
const WIDTH: usize = 160;

/// Which runs are listed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Whose {
    /// Those of the project.
    Project,
    /// Those of all projects.
    All,
}

pub(super) fn list(status: Option<&str>, whose: Whose, world: &World) -> Result<Reply, CommandError> {
    let client = runs::client(world)?;
    let project = match whose {
        Whose::Project => runs::project(&client, world),
        Whose::All => None,
    };
    let path = with_query("/api/runs", &[("projectId", project.as_deref()), ("status", status)]);
    let runs = client.list(&path)?;
    if world.json {
        return Reply::json(&runs);
    }
    if runs.is_empty() {
        return Ok(Reply::text("No runs here. Run `maestro workflow start NAME` to start one.\n"));
    }
    let mut text = String::new();
    for run in &runs {
        let said = |key: &str| clean(run[key].as_str().unwrap_or_default()).into_owned();
        let status = match run["waiting"].as_str() {
            Some(waiting) => format!("waiting for {waiting}"),
            None => said("status"),
        };
        let at = run["step"].as_str().map(|step| format!("at {}", clean(step))).unwrap_or_default();
        let _ = writeln!(text, "{}  {:<19}  {:<20} {at}", said("id"), status, said("workflow"));
    }
    let _ = writeln!(text, "{}", world.paint.dim(&count(runs.len(), "run", "runs")));
    Ok(Reply::text(text))
}

pub(super) fn log(id: &str, world: &World) -> Result<Reply, CommandError> {
    let client = runs::client(world)?;
    let mut events: Vec<Json> = Vec::new();
    loop {
        let after = events.last().and_then(|event| event["seq"].as_i64()).unwrap_or_default();
        let mut part: Vec<Json> = client.get(&format!("{}?after={after}&limit=1000", runs::path(id, "log")?))?;
        if part.is_empty() {
            break;
        }
        events.append(&mut part);
    }
    if world.json {
        return Reply::json(&events);
    }
    let mut text = String::new();
    for event in &events {
        let kind = event["type"].as_str().unwrap_or_default().trim_start_matches("run:");
        let at = iso(event["at"].as_i64().unwrap_or_default());
        let line = format!("{at}  {kind:<14} {}", clean(&event["payload"].to_string()));
        let _ = writeln!(text, "{}", fit(&line, world.width.unwrap_or(WIDTH)));
    }
    Ok(Reply::text(text))
}

pub(super) fn steer(id: &str, order: &str, form: &FormArgs, world: &World) -> Result<Reply, CommandError> {
    let tool = turn::tool(form, world)?;
    let client = runs::client(world)?;
    let reply = match runs::tell(&client, id, order, &json!({})) {
        Ok(reply) => reply,
        Err(error) => return turn::refused(error, &tool, world),
    };
    turn::told(&client, reply, &tool, world)
}
