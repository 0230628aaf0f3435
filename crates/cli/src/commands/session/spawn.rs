//! `maestro session spawn`: a new agent for a task.

use std::fmt::Write as _;

use serde_json::{Map, Value as Json, json};

use crate::args::SpawnArgs;
use crate::client::wire::{self, Task};
use crate::client::{Client, Target, escaped};
use crate::commands::show;
use crate::host::agents;
use crate::host::world::World;
use crate::output::error::CommandError;
use crate::output::reply::{self, Reply};
use crate::output::screen::clean;

/// The skill that makes a session an orchestrator.
const ORCHESTRATOR: &str = "maestro-orchestrator";
/// The skill that a worker has anyway.
const WORKER: &str = "maestro-worker";

pub(crate) fn run(args: &SpawnArgs, world: &World) -> Result<Reply, CommandError> {
    if let Some(agent) = &args.agent {
        agents::known(agent, world).map_err(CommandError::of_spawn)?;
    }
    let client = Client::open(world)?;
    let first = args.task.first().map(String::as_str).unwrap_or_default();
    let whole: Json = client.get(&format!("/api/tasks/{}", escaped(first)))?;
    let task: Task = wire::read(&whole)?;
    let body = body(args, &task.project_id, &related(args, &client, &task)?, world);
    let spawned: Json = client.post("/api/sessions/spawn", &body).map_err(CommandError::of_spawn)?;
    let id = spawned["sessionId"].as_str().unwrap_or_default().to_owned();
    let started = matches!(client.target(), Target::Server(_));
    if world.json && (!args.follow || !started) {
        return Reply::json(&spawned);
    }
    let mut text = format!("{}  {}\n", clean(&id), clean(spawned["session"]["name"].as_str().unwrap_or_default()));
    for problem in spawned["skillProblems"].as_array().into_iter().flatten() {
        let told = |key: &str| clean(problem[key].as_str().unwrap_or_default());
        let _ = writeln!(text, "  not delivered: {}: {}", told("name"), told("reason"));
    }
    if !started {
        text.push_str("  No server running; run `maestro up` to start its agent.\n");
    }
    if !args.follow || !started {
        return Ok(Reply::text(text));
    }
    if !world.json {
        reply::show(&text)?;
    }
    show::follow(&client, &id, world)
}

fn body(args: &SpawnArgs, project: &str, related: &str, world: &World) -> Json {
    let orchestrator = args.skills.iter().any(|skill| skill == ORCHESTRATOR);
    let skills: Vec<&String> = args.skills.iter().filter(|skill| *skill != ORCHESTRATOR && *skill != WORKER).collect();
    let told: Vec<&str> = [args.reason.as_deref(), args.prompt.as_deref(), Some(related)]
        .into_iter()
        .flatten()
        .filter(|text| !text.is_empty())
        .collect();
    let mut budget = Map::new();
    let mut limit = |name: &str, value: Option<Json>| budget.extend(value.map(|value| (name.to_owned(), value)));
    limit("minutes", args.minutes.map(Json::from));
    limit("tokens", args.tokens.map(Json::from));
    limit("costUsd", args.cost.map(Json::from));
    limit("turns", args.turns.map(Json::from));
    let parent = world.variable("MAESTRO_SESSION_ID");
    let mut body = json!({
        "projectId": project,
        "taskIds": args.task,
        "role": if orchestrator { "orchestrator" } else { "worker" },
        "spawnSource": if parent.is_some() { "session" } else { "ui" },
        "sessionId": parent,
        "sessionName": args.name,
        "agent": args.agent,
        "driver": args.driver,
        "model": args.model,
        "permission": args.permission,
        "prompt": (!told.is_empty()).then(|| told.join("\n\n")),
    });
    if !args.skills.is_empty() {
        body["skills"] = json!(skills);
    }
    if let Some(reason) = &args.reason {
        body["context"] = json!({ "reason": reason });
    }
    if !budget.is_empty() {
        body["budget"] = Json::Object(budget);
    }
    body
}

/// The tasks below the one that is meant, and beside it, in a line each.
fn related(args: &SpawnArgs, client: &Client, task: &Task) -> Result<String, CommandError> {
    if !args.include_related {
        return Ok(String::new());
    }
    let mut text = String::new();
    let mut part = |heading: &str, tasks: Vec<Json>| -> Result<(), CommandError> {
        let tasks: Vec<Task> = wire::read_all(&tasks)?;
        for (at, other) in tasks.iter().filter(|other| other.id != task.id).enumerate() {
            if at == 0 {
                let _ = writeln!(text, "{heading}");
            }
            let _ = writeln!(text, "- {} ({}, {})", other.title, other.id, other.status);
        }
        Ok(())
    };
    part("Tasks below it:", client.list(&format!("/api/tasks/{}/children", escaped(&task.id)))?)?;
    if let Some(parent) = &task.parent_id {
        part("Tasks beside it:", client.list(&format!("/api/tasks/{}/children", escaped(parent)))?)?;
    }
    Ok(text)
}
