//! Control of a loop: pause, resume, cancel, and its log.

use serde_json::{Value as Json, json};

use super::follow;
use super::known::Loop;
use crate::client::runs;
use crate::client::{Client, escaped};
use crate::host::world::World;
use crate::output::error::CommandError;
use crate::output::reply::Reply;
use crate::output::screen::clean;

/// Command for a loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Word {
    Pause,
    Resume,
    Cancel,
}

impl Word {
    fn as_str(self) -> &'static str {
        match self {
            Self::Pause => "pause",
            Self::Resume => "resume",
            Self::Cancel => "cancel",
        }
    }
}

/// The loop that is meant: the named one, else the only one of this project that goes on.
fn meant(client: &Client, named: Option<&str>, world: &World) -> Result<Loop, CommandError> {
    if let Some(id) = named {
        return Loop::named(client, id);
    }
    let mut open = Loop::all(client, world)?;
    open.retain(Loop::goes_on);
    match (open.pop(), open.is_empty()) {
        (Some(one), true) => Ok(one),
        (None, _) => Err(CommandError::not_found("no active loop here")
            .hint("run `maestro loop status` for the loops of this project")),
        _ => Err(CommandError::invalid("several active loops here")
            .hint("pass a run ID; run `maestro loop status` for the list")),
    }
}

/// Tells all runs of a loop something.
pub(super) fn tell(named: Option<&str>, order: Word, world: &World) -> Result<Reply, CommandError> {
    let client = Client::open(world)?;
    let one = meant(&client, named, world)?;
    let mut meant: Vec<&Json> = one.runs().filter(|run| !runs::is_over(run)).collect();
    // One that is over says itself that it cannot be steered any more.
    if meant.is_empty() {
        meant.push(&one.lead);
    }
    let mut states = Vec::new();
    for run in meant.iter().filter_map(|run| run["id"].as_str()) {
        states.push(client.step::<Json>(&format!("/api/runs/{}/{}", escaped(run), order.as_str()), &json!({}))?);
        if order == Word::Cancel {
            end_sessions(&client, run)?;
        }
    }
    if world.json {
        return Reply::json(states.first().unwrap_or(&Json::Null));
    }
    let told = |state: &Json| {
        let of = |key: &str| clean(state[key].as_str().unwrap_or_default()).into_owned();
        format!("{}  {}\n", of("id"), of("status"))
    };
    Ok(Reply::text(states.iter().map(told).collect::<String>()))
}

/// Ends the agents that work for a run.
fn end_sessions(client: &Client, run: &str) -> Result<(), CommandError> {
    for session in client.list("/api/sessions?active=alive")? {
        if session["metadata"]["run"] == run {
            let id = session["id"].as_str().unwrap_or_default();
            let _: Json = client.step(&format!("/api/sessions/{}/cancel", escaped(id)), &json!({}))?;
        }
    }
    Ok(())
}

/// What happened in the named loop, else in the one of this project that began last.
pub(super) fn log(named: Option<&str>, world: &World) -> Result<Reply, CommandError> {
    let client = Client::open(world)?;
    let one = match named {
        Some(id) => Loop::named(&client, id)?,
        None => Loop::all(&client, world)?
            .pop()
            .ok_or_else(|| CommandError::not_found("no loops here").hint("run `maestro loop PLAN.md` to start one"))?,
    };
    if world.json {
        return Reply::json(&one.events(&client)?);
    }
    let project = one.lead["projectId"].as_str().unwrap_or_default();
    let lines = follow::so_far(&client, &one.ids(), project, world)?;
    Ok(Reply::text(format!("{}\n", lines.join("\n"))))
}
