//! How far are the loops, and how are they told to wait, go on or end?

use std::fmt::Write as _;

use serde_json::{Value as Json, json};

use super::{WORKFLOW, end, follow, lanes};
use crate::client::{Client, escaped, with_query};
use crate::error::CommandError;
use crate::reply::Reply;
use crate::screen::{clean, clean_path, pad};
use crate::world::World;

pub(super) fn loops(client: &Client) -> Result<Vec<Json>, CommandError> {
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
        let line = format!("{}  {}  {}", of("id"), pad(&of("status"), 9), of("step"));
        let _ = writeln!(text, "{}", line.trim_end());
        for line in end::reason(run).lines() {
            let _ = writeln!(text, "  {line}");
        }
        if let Some(tree) = end::worktree(run) {
            let tree = clean_path(&world.short(&tree)).into_owned();
            let id = of("id");
            let _ =
                writeln!(text, "  Its work is in {tree}; `maestro merge {id}` takes it over once all is committed.");
        }
    }
    if found.is_empty() {
        text.push_str("No loop was begun; `maestro loop PLAN.md` begins one.\n");
    }
    Ok(Reply::text(text))
}

/// The loop that is meant; of several runs that work through one plan, the first.
fn meant(client: &Client, named: Option<&str>) -> Result<String, CommandError> {
    if let Some(run) = named {
        return Ok(run.to_owned());
    }
    let mut open = Vec::new();
    for run in loops(client)?.iter().filter(|run| is_open(run)).filter_map(|run| run["id"].as_str()) {
        let first = lanes::lead_of(client, run)?.unwrap_or_else(|| run.to_owned());
        if !open.contains(&first) {
            open.push(first);
        }
    }
    match open.as_slice() {
        [one] => Ok(one.clone()),
        [] => Err(CommandError::not_found("no loop goes on").hint("`maestro loop status` shows all of them")),
        _ => Err(CommandError::invalid("several loops go on").hint("say which; `maestro loop status` shows them")),
    }
}

fn is_open(run: &Json) -> bool {
    matches!(run["status"].as_str(), Some("running" | "paused"))
}

pub(super) fn order(named: Option<&str>, order: &str, world: &World) -> Result<Reply, CommandError> {
    let client = Client::open(world)?;
    let run = meant(&client, named)?;
    let mut meant = Vec::new();
    for one in lanes::all_of(&client, &run)? {
        let state: Json = client.get(&format!("/api/runs/{}", escaped(&one)))?;
        meant.extend(is_open(&state).then_some(one));
    }
    // One that is over says itself that it cannot be steered any more.
    let meant = if meant.is_empty() { vec![run] } else { meant };
    let mut states = Vec::new();
    for run in &meant {
        states.push(client.step::<Json>(&format!("/api/runs/{}/{order}", escaped(run)), &json!({}))?);
        if order == "cancel" {
            end_sessions(&client, run)?;
        }
    }
    if world.json {
        return Reply::json(states.first().unwrap_or(&Json::Null));
    }
    let told = |(run, state): (&String, &Json)| {
        format!("{}  {}\n", clean(run), clean(state["status"].as_str().unwrap_or_default()))
    };
    Ok(Reply::text(meant.iter().zip(&states).map(told).collect::<String>()))
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
    let lines = follow::so_far(
        &client,
        &lanes::all_of(&client, &run)?,
        state["projectId"].as_str().unwrap_or_default(),
        world,
    )?;
    Ok(Reply::text(format!("{}\n", lines.join("\n"))))
}
