//! `maestro workflow convert`: a first workflow for a skill that only has instructions.

use maestro_engine::instructions_workflow::{self, ConvertedSkill};
use maestro_skills::{Catalogue, NameLookup, Skill, SkillSource, read_bounded};
use serde_json::json;

use crate::host::files;
use crate::host::world::World;
use crate::output::command_output::{CommandOutput, CommandResult};
use crate::output::error::CommandError;
use crate::output::screen::clean;

/// How much of a skill's instructions is read.
const MAX_BYTES: u64 = 1024 * 1024;

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
    let ConvertedSkill { definition: text, notes } = instructions_workflow::convert(skill, &instructions(skill));
    let told = notes.iter().fold(String::new(), |told, note| told + "note: " + &clean(note) + "\n");
    if place == ConvertTarget::Printed {
        return if world.json {
            CommandOutput::json(&json!({ "workflow": text, "notes": notes }))
        } else {
            Ok(CommandOutput::text(text).with_notes(told))
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
        return CommandOutput::json(&json!({ "path": path.to_string_lossy(), "notes": notes }));
    }
    let written = format!("Wrote {shown}. Run `maestro workflow check {shown}` to check it.\n");
    Ok(CommandOutput::text(written).with_notes(told))
}

/// The instructions of a skill; nothing where they cannot be read, and it stays one step.
fn instructions(skill: &Skill) -> String {
    let file = skill.instructions.as_ref().map(|file| skill.path.join(file));
    let contents = file.and_then(|file| read_bounded(&file, MAX_BYTES).ok());
    contents.map(|contents| String::from_utf8_lossy(&contents.bytes).into_owned()).unwrap_or_default()
}
