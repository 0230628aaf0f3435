//! `maestro skills read`: a skill's text, between the marker lines that other tools expect.

use std::fmt::Write as _;

use maestro_skills::{Catalogue, FileContents, Skill, envelope, instructions};
use serde_json::json;

use super::{find, split_names};
use crate::host::world::World;
use crate::output::command_output::{CommandOutput, CommandResult};
use crate::output::error::CommandError;
use crate::output::screen::{clean, clean_lines, clean_path};

pub(super) fn run(catalogue: &Catalogue, names: &[String], world: &World) -> CommandResult {
    // All or nothing: an agent that requested two skills should not take one for both.
    let skills: Vec<&Skill> = split_names(names).map(|name| find(catalogue, name)).collect::<Result<_, _>>()?;
    if skills.is_empty() {
        return Err(CommandError::invalid("missing skill name").hint("run `maestro skills list` for the list"));
    }
    let mut notes = String::new();
    let mut texts: Vec<(&Skill, FileContents)> = Vec::new();
    for skill in skills {
        let contents = instructions(skill).map_err(|error| {
            CommandError::io(format!("cannot read the skill `{}`", skill.id), &error)
                .hint(format!("check {}", skill.path.display()))
        })?;
        if contents.cut {
            let (id, path) = (skill.id.as_str(), skill.path.to_string_lossy());
            let _ = writeln!(notes, "`{}` is larger than 1 MiB; the rest is in {}", clean(id), clean_path(&path));
        }
        texts.push((skill, contents));
    }
    if world.json {
        let read: Vec<_> = texts
            .iter()
            .map(|(skill, contents)| {
                json!({
                    "name": skill.id,
                    "base_directory": skill.path.to_string_lossy(),
                    "instructions": String::from_utf8_lossy(&contents.bytes),
                    "cut": contents.cut,
                })
            })
            .collect();
        return CommandOutput::json(&read);
    }
    let bytes: Vec<u8> = texts.iter().flat_map(|(skill, contents)| envelope(skill, &contents.bytes)).collect();
    // Other programs get every byte; a terminal gets no control characters from a file.
    let reply = if world.terminals.stdout {
        CommandOutput::text(clean_lines(&String::from_utf8_lossy(&bytes)))
    } else {
        CommandOutput::bytes(bytes)
    };
    Ok(reply.with_notes(notes))
}
