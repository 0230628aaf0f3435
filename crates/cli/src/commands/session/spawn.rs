//! `maestro session spawn`: a new agent for a task.

use std::fmt::Write as _;
use std::path::Path;

use maestro_api::ReceivedReply;
use maestro_api::spawns::{self, NewSpawn};
use maestro_api::tasks::{self, DepthQuery, TaskBody};
use maestro_core::SessionRole;
use serde_json::{Map, Value as Json};

use crate::args::SpawnArgs;
use crate::client::{CliClient, ClientTarget};
use crate::commands::show;
use crate::host::agents;
use crate::host::world::World;
use crate::output::command_output::{self, CommandOutput, CommandResult};
use crate::output::error::CommandError;
use crate::output::screen::{clean, clean_path};

/// The skill that makes a session an orchestrator.
const ORCHESTRATOR: &str = "maestro-orchestrator";
/// The skill that a worker has anyway.
const WORKER: &str = "maestro-worker";

pub(crate) fn run(args: &SpawnArgs, world: &World) -> CommandResult {
    if let Some(agent) = &args.agent {
        agents::require_agent(agent, world).map_err(CommandError::of_spawn)?;
    }
    let client = CliClient::open(world)?;
    let first = args.task.first().map(String::as_str).unwrap_or_default();
    let task = client.call(tasks::get(first))?;
    let request = new_spawn(args, &task.project_id, &related(args, &client, &task)?, world);
    let ReceivedReply { raw, value: spawned } =
        client.call_raw(spawns::create(&request)).map_err(CommandError::of_spawn)?;
    let id = spawned.session_id;
    let started = matches!(client.target(), ClientTarget::Server(_));
    if world.json && (!args.follow || !started) {
        return CommandOutput::json(&raw);
    }
    let mut text = format!("{}  {}\n", clean(&id), clean(&spawned.session.name));
    for problem in &spawned.skill_problems {
        let _ = writeln!(text, "  not delivered: {}: {}", clean(&problem.name), clean(&problem.reason));
    }
    if let Some(worktree) = &spawned.worktree {
        let place = clean_path(&world.display_path(Path::new(worktree))).into_owned();
        let _ = writeln!(text, "  works in {place}; then see `maestro diff {0}` and `maestro merge {0}`", clean(&id));
    }
    if let Some(notice) = &spawned.notice {
        let _ = writeln!(text, "  {}", clean(notice));
    }
    if !started {
        text.push_str("  No server running; run `maestro up` to start its agent.\n");
    }
    if !args.follow || !started {
        return Ok(CommandOutput::text(text));
    }
    if !world.json {
        command_output::show(&text)?;
    }
    show::follow(&client, &id, world)
}

fn new_spawn(args: &SpawnArgs, project: &str, related: &str, world: &World) -> NewSpawn {
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
    NewSpawn {
        project_id: Some(project.to_owned()),
        task_ids: Some(args.task.clone()),
        role: Some(if orchestrator { SessionRole::Orchestrator } else { SessionRole::Worker }.to_string()),
        spawn_source: Some(if parent.is_some() { "session" } else { "ui" }.to_owned()),
        session_id: parent.map(str::to_owned),
        session_name: args.name.clone(),
        skills: (!args.skills.is_empty()).then(|| skills.into_iter().cloned().collect()),
        context: args
            .reason
            .as_ref()
            .map(|reason| Map::from_iter([("reason".to_owned(), Json::from(reason.as_str()))])),
        agent: args.agent.clone(),
        driver: args.driver.clone(),
        model: args.model.clone(),
        permission: args.permission.clone(),
        prompt: (!told.is_empty()).then(|| told.join("\n\n")),
        worktree: args.in_place.then_some(false),
        budget: (!budget.is_empty()).then_some(Json::Object(budget)),
        ..NewSpawn::default()
    }
}

/// The tasks below the one that is meant, and beside it, in a line each.
fn related(args: &SpawnArgs, client: &CliClient, task: &TaskBody) -> CommandResult<String> {
    if !args.include_related {
        return Ok(String::new());
    }
    let mut text = String::new();
    let mut part = |heading: &str, tasks: &[TaskBody]| {
        for (at, other) in tasks.iter().filter(|other| other.id != task.id).enumerate() {
            if at == 0 {
                let _ = writeln!(text, "{heading}");
            }
            let _ = writeln!(text, "- {} ({}, {})", other.title, other.id, other.status);
        }
    };
    part("Tasks below it:", &client.list(tasks::children(&task.id, DepthQuery::default()))?);
    if let Some(parent) = &task.parent_id {
        part("Tasks beside it:", &client.list(tasks::children(parent, DepthQuery::default()))?);
    }
    Ok(text)
}
