//! How far are the loops, and how are they told to wait, go on or end?

use std::fmt::Write as _;

use serde_json::{Value as Json, json};

use super::{WORKFLOW, follow};
use crate::client::{Client, escaped, with_query};
use crate::error::CommandError;
use crate::reply::Reply;
use crate::screen::{clean, pad};
use crate::world::World;

fn loops(client: &Client) -> Result<Vec<Json>, CommandError> {
    let all = client.list("/api/runs")?;
    Ok(all.into_iter().filter(|run| run["workflow"] == WORKFLOW).collect())
}

pub(super) fn status(world: &World) -> Result<Reply, CommandError> {
    let client = Client::open(world)?;
    let found = loops(&client)?;
    if world.json {
        return Reply::json(&found);
    }
    let mut text = String::new();
    for run in &found {
        let of = |key: &str| clean(run[key].as_str().unwrap_or_default()).into_owned();
        let _ = writeln!(text, "{}  {}  {}", of("id"), pad(&of("status"), 9), of("step"));
        if run["status"] == "failed" && run["message"].is_string() {
            let _ = writeln!(text, "  {}", of("message"));
        }
    }
    if found.is_empty() {
        text.push_str("No loop was begun; `maestro loop PLAN.md` begins one.\n");
    }
    Ok(Reply::text(text))
}

/// The loop that is meant.
fn meant(client: &Client, named: Option<&str>) -> Result<String, CommandError> {
    if let Some(run) = named {
        return Ok(run.to_owned());
    }
    let open = loops(client)?.into_iter().filter(|run| matches!(run["status"].as_str(), Some("running" | "paused")));
    let open: Vec<String> = open.filter_map(|run| run["id"].as_str().map(str::to_owned)).collect();
    match open.as_slice() {
        [one] => Ok(one.clone()),
        [] => Err(CommandError::not_found("no loop goes on").hint("`maestro loop status` shows all of them")),
        _ => Err(CommandError::invalid("several loops go on").hint("say which; `maestro loop status` shows them")),
    }
}

pub(super) fn order(named: Option<&str>, order: &str, world: &World) -> Result<Reply, CommandError> {
    let client = Client::open(world)?;
    let run = meant(&client, named)?;
    let state: Json = client.step(&format!("/api/runs/{}/{order}", escaped(&run)), &json!({}))?;
    if order == "cancel" {
        end_sessions(&client, &run)?;
    }
    if world.json {
        return Reply::json(&state);
    }
    Ok(Reply::text(format!("{}  {}\n", clean(&run), clean(state["status"].as_str().unwrap_or_default()))))
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

pub(super) fn log(named: Option<&str>, world: &World) -> Result<Reply, CommandError> {
    let client = Client::open(world)?;
    let run = match named {
        Some(run) => run.to_owned(),
        None => loops(&client)?.last().and_then(|run| run["id"].as_str().map(str::to_owned)).unwrap_or_default(),
    };
    let state: Json = client.get(&format!("/api/runs/{}", escaped(&run)))?;
    if world.json {
        let events: Vec<Json> = client.get(&with_query("/api/events", &[("runId", Some(&run))]))?;
        return Reply::json(&events);
    }
    let lines = follow::so_far(&client, &run, state["projectId"].as_str().unwrap_or_default(), world)?;
    Ok(Reply::text(format!("{}\n", lines.join("\n"))))
}
