//! An agent as JSON for programs.

use std::collections::BTreeMap;

use maestro_core::agent::{CodingAgent, Driver, LaunchSpec, Permission};
use maestro_engine::agents::probe::ProbeAnswer;
use serde_json::{Value as Json, json};

use super::AgentStatus;
use super::details::{command, variables, writes};
use crate::host::agents::{AgentOrigin, AgentTable};

/// All of it. Variables are named; their values may be secrets.
pub(super) fn of(known: &AgentStatus<'_>, table: &AgentTable) -> Json {
    let agent = known.agent;
    let chosen = known.chosen();
    let ways: Vec<Json> = agent.drivers().map(|(driver, launch)| way(agent, driver, launch)).collect();
    let origins: Vec<Json> = table.origins(&agent.name).map(origin).collect();
    let mut told = json!({
        "name": agent.name,
        "title": agent.title,
        "default": known.is_default,
        "installed": chosen.is_some(),
        "program": chosen.map(|chosen| chosen.program.to_string_lossy()),
        "driver": chosen.map(|chosen| chosen.driver),
        "why": chosen.map(|chosen| &chosen.why),
        "looked_for": agent.programs(),
        "ways": ways,
        "variables": variables(agent),
        "reporting": agent.reporting,
        "mcp": agent.mcp,
        "instructions": agent.instructions,
        "skills": agent.skills,
        "writes": writes(agent),
        "leaves": agent.leaves,
        "origins": origins,
    });
    if let Some(answer) = &known.answer {
        let version = match answer {
            ProbeAnswer::Answers { version } => version.as_deref(),
            _ => None,
        };
        told["check"] = json!({ "answers": !known.fails(), "version": version, "says": answer.to_string() });
    }
    told
}

fn way(agent: &CodingAgent, driver: Driver, launch: &LaunchSpec) -> Json {
    let permissions: BTreeMap<&str, Json> = Permission::ALL
        .iter()
        .map(|permission| {
            let names: Vec<&String> =
                agent.permission_env.get(permission).into_iter().flat_map(BTreeMap::keys).collect();
            let arguments = launch.permissions.get(permission).cloned().unwrap_or_default();
            let mode = launch.modes.get(permission);
            let mut told = json!({ "arguments": arguments, "mode": mode, "variables": names });
            if let Some(sandboxed) = launch.sandboxed.get(permission) {
                told["sandboxed"] = json!(sandboxed);
            }
            (permission.as_str(), told)
        })
        .collect();
    json!({
        "driver": driver,
        "programs": launch.programs,
        "arguments": command(launch),
        "prompt": launch.prompt,
        "model": launch.model,
        "model_variable": launch.model_env,
        "resume": launch.resume,
        "can_resume": launch.can_resume(),
        "permissions": permissions,
    })
}

fn origin(origin: &AgentOrigin) -> Json {
    match origin {
        AgentOrigin::BuiltIn => json!({ "kind": "built-in" }),
        AgentOrigin::User(path) => json!({ "kind": "user", "path": path.to_string_lossy() }),
        AgentOrigin::Project(path) => json!({ "kind": "project", "path": path.to_string_lossy() }),
    }
}
