//! `maestro workflow convert`: a first workflow for a skill that only has instructions.

use maestro_engine::instructions_workflow;
use maestro_skills::{Catalogue, NameLookup, SkillSource};
use serde_json::json;

use crate::host::files;
use crate::host::world::World;
use crate::output::command_output::{CommandOutput, CommandResult};
use crate::output::error::CommandError;

/// Whether it is written to the skill's folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ConvertTarget {
    /// Print it.
    Printed,
    /// Write it.
    Written,
}

pub(super) fn run(catalogue: &Catalogue, name: &str, place: ConvertTarget, world: &World) -> CommandResult {
    let NameLookup::Found(skill) = catalogue.find(name) else {
        return Err(
            CommandError::not_found(format!("unknown skill `{name}`")).hint("run `maestro skills list` for the list")
        );
    };
    if let Some(file) = &skill.workflow {
        return Err(CommandError::invalid(format!("`{name}` already has a workflow: {file}"))
            .hint(format!("run `maestro workflow show {name}` to see it")));
    }
    let text = instructions_workflow::definition(skill);
    if place == ConvertTarget::Printed {
        return if world.json {
            CommandOutput::json(&json!({ "workflow": text }))
        } else {
            Ok(CommandOutput::text(text))
        };
    }
    if skill.source == SkillSource::Builtin {
        return Err(CommandError::invalid(format!("`{name}` is built in and cannot be changed"))
            .hint("copy the skill to one of your own directories first"));
    }
    let path = skill.path.join("workflow.yaml");
    files::create(&path, &text)
        .map_err(|error| CommandError::io(format!("cannot write `{}`", path.display()), &error))?;
    let shown = world.display_path(&path);
    if world.json {
        return CommandOutput::json(&json!({ "path": path.to_string_lossy() }));
    }
    Ok(CommandOutput::text(format!("Wrote {shown}. Run `maestro workflow check {shown}` to check it.\n")))
}
