//! Files by which a tool offers a workflow; they are removed with the connection.

use std::path::PathBuf;

use maestro_core::connect::{Base, Before, Scope, Trigger, aider_dir};
use maestro_engine::workflows::Workflows;

use super::parts::Part;
use super::shown::{Change, State};
use super::target::{self, Target};
use super::tool::Tool;
use super::undone;
use crate::commands::workflow::declared;
use crate::host::connections::Connections;
use crate::host::world::World;
use crate::host::{catalogue, config};
use crate::output::error::CommandError;

/// The workflows of these names; each must exist and be valid.
pub(super) fn wanted(names: &[String], world: &World) -> Result<Vec<Trigger>, CommandError> {
    if names.is_empty() {
        return Ok(Vec::new());
    }
    let settings = config::settings(world)?;
    let catalogue = catalogue::load(world, &[], &settings)?;
    let workflows = Workflows::of(&catalogue, &world.places.working_dir);
    let trigger = |name: &String| {
        let workflow = workflows.definition(name)?.main;
        Ok(Trigger {
            workflow: workflows.find(name)?.source.name,
            description: workflow.description.clone(),
            parameters: workflow.params.iter().map(declared).collect(),
        })
    };
    names.iter().map(trigger).collect()
}

/// The file by which a tool offers a workflow; none for a tool that only needs the MCP server.
pub(super) fn planned(
    tool: Tool,
    scope: Scope,
    trigger: &Trigger,
    connections: &Connections,
    world: &World,
) -> Result<Option<Change>, CommandError> {
    let Some((base, directory)) = directory(tool, scope) else { return Ok(None) };
    let directory = target::directory(base, world).join(directory);
    let (path, text, by) = match tool {
        Tool::Client(client) => (trigger.skill_file(), trigger.skill(client), client.calls(trigger)),
        Tool::Aider => (trigger.aider_file(), trigger.for_aider(), format!("/run {}", trigger.command(tool.name()))),
    };
    let target = Target::at(&directory.join(path), base, world)?;
    let state = match &target.text {
        None => State::Write(text),
        Some(there) if *there == text => State::Same,
        Some(there) if is_as_made(there, &target, connections) => State::Restore(text),
        Some(_) => {
            return Err(CommandError::refused(format!("{} exists and is not from Maestro", target.shown))
                .hint("remove or rename it, then run `maestro connect` again"));
        }
    };
    Ok(Some(Change { tool, parts: vec![Part::Workflow { by: Some(by) }], target, around: Vec::new(), state }))
}

/// The changes to a tool's workflow files: unedited ones are removed.
pub(super) fn gone(
    tool: Tool,
    scope: Scope,
    connections: &Connections,
    world: &World,
) -> Result<Vec<Change>, CommandError> {
    let Some((base, below)) = directory(tool, scope) else { return Ok(Vec::new()) };
    let directory = target::directory(base, world).join(below);
    let made: Vec<PathBuf> = connections.below(&directory).map(ToOwned::to_owned).collect();
    let mut changes = Vec::new();
    for path in made {
        let target = Target::at(&path, base, world)?;
        let state = match &target.text {
            None => continue,
            Some(text) if is_as_made(text, &target, connections) => State::Remove,
            Some(_) => State::ChangedSince,
        };
        changes.push(Change { tool, parts: vec![Part::Workflow { by: None }], target, around: Vec::new(), state });
    }
    Ok(changes)
}

/// Whether Maestro created a file, and it is unedited.
fn is_as_made(text: &str, target: &Target, connections: &Connections) -> bool {
    undone::before(text, connections.undos(&target.path)) == Some(Before::Absent)
}

fn directory(tool: Tool, scope: Scope) -> Option<(Base, &'static str)> {
    match tool {
        Tool::Client(client) => client.skills_dir(scope),
        Tool::Aider => Some(aider_dir(scope)),
    }
}
