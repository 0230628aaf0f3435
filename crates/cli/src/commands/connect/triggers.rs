//! Files by which a tool offers a workflow; they are removed with the connection.

use std::path::PathBuf;

use maestro_core::connect::{BaseDir, PriorContent, SettingsScope, WorkflowTrigger, aider_dir};
use maestro_engine::workflows::WorkflowIndex;

use super::disconnect;
use super::summary::{ToolFileChange, ToolFileState};
use super::target::{self, ToolSettingsFile};
use super::tool::NamedTool;
use super::tool_files::ToolFilePart;
use crate::commands::workflow::param_text;
use crate::host::connections::ConnectionFile;
use crate::host::world::World;
use crate::host::{catalogue, config};
use crate::output::command_output::CommandResult;
use crate::output::error::CommandError;

/// The workflows of these names; each must exist and be valid.
pub(super) fn find_triggers(names: &[String], world: &World) -> CommandResult<Vec<WorkflowTrigger>> {
    if names.is_empty() {
        return Ok(Vec::new());
    }
    let settings = config::settings(world)?;
    let catalogue = catalogue::load(world, &[], &settings)?;
    let workflows = WorkflowIndex::of(&catalogue, &world.places.working_dir);
    let trigger = |name: &String| {
        let workflow = workflows.definition(name)?.main;
        Ok(WorkflowTrigger {
            workflow: workflows.find(name)?.source.name,
            description: workflow.description.clone(),
            parameters: workflow.params.iter().map(param_text).collect(),
        })
    };
    names.iter().map(trigger).collect()
}

/// The file by which a tool offers a workflow; none for a tool that only needs the MCP server.
pub(super) fn plan_trigger(
    tool: NamedTool,
    scope: SettingsScope,
    trigger: &WorkflowTrigger,
    connections: &ConnectionFile,
    world: &World,
) -> CommandResult<Option<ToolFileChange>> {
    let Some((base, directory)) = directory(tool, scope) else { return Ok(None) };
    let directory = target::directory(base, world).join(directory);
    let (path, text, by) = match tool {
        NamedTool::Client(client) => (trigger.skill_file(), trigger.skill(client), client.calls(trigger)),
        NamedTool::Aider => {
            (trigger.aider_file(), trigger.for_aider(), format!("/run {}", trigger.command(tool.name())))
        }
    };
    let target = ToolSettingsFile::at(&directory.join(path), base, world)?;
    let state = match &target.text {
        None => ToolFileState::Write(text),
        Some(there) if *there == text => ToolFileState::Same,
        Some(there) if is_unchanged(there, &target, connections) => ToolFileState::Restore(text),
        Some(_) => {
            return Err(CommandError::refused(format!("{} exists and is not from Maestro", target.shown))
                .hint("remove or rename it, then run `maestro connect` again"));
        }
    };
    Ok(Some(ToolFileChange {
        tool,
        parts: vec![ToolFilePart::Workflow { by: Some(by) }],
        target,
        around: Vec::new(),
        state,
    }))
}

/// The changes to a tool's workflow files: unedited ones are removed.
pub(super) fn plan_removals(
    tool: NamedTool,
    scope: SettingsScope,
    connections: &ConnectionFile,
    world: &World,
) -> CommandResult<Vec<ToolFileChange>> {
    let Some((base, below)) = directory(tool, scope) else { return Ok(Vec::new()) };
    let directory = target::directory(base, world).join(below);
    let made: Vec<PathBuf> = connections.below(&directory).map(ToOwned::to_owned).collect();
    let mut changes = Vec::new();
    for path in made {
        let target = ToolSettingsFile::at(&path, base, world)?;
        let state = match &target.text {
            None => continue,
            Some(text) if is_unchanged(text, &target, connections) => ToolFileState::Remove,
            Some(_) => ToolFileState::ChangedSince,
        };
        changes.push(ToolFileChange {
            tool,
            parts: vec![ToolFilePart::Workflow { by: None }],
            target,
            around: Vec::new(),
            state,
        });
    }
    Ok(changes)
}

/// Whether Maestro created a file, and it is unedited.
fn is_unchanged(text: &str, target: &ToolSettingsFile, connections: &ConnectionFile) -> bool {
    disconnect::state_before(text, connections.undos(&target.path)) == Some(PriorContent::Absent)
}

fn directory(tool: NamedTool, scope: SettingsScope) -> Option<(BaseDir, &'static str)> {
    match tool {
        NamedTool::Client(client) => client.skills_dir(scope),
        NamedTool::Aider => Some(aider_dir(scope)),
    }
}
