//! `maestro skills read`: a skill's text, between the marker lines that other tools expect.

use std::fmt::Write as _;

use maestro_core::ProblemCode;
use maestro_core::hidden_chars::remove_hidden;
use maestro_skills::{Catalogue, FileContents, Skill, check_text, envelope, instructions};
use serde_json::json;

use super::{find, split_names};
use crate::host::world::World;
use crate::output::command_output::{CommandOutput, CommandResult};
use crate::output::error::CommandError;
use crate::output::screen::{self, clean, clean_lines, clean_path};

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
                    "instructions": remove_hidden(&String::from_utf8_lossy(&contents.bytes)),
                    "cut": contents.cut,
                })
            })
            .collect();
        return CommandOutput::json(&read);
    }
    for (skill, _) in &texts {
        for hidden in check_text(skill).iter().filter(|problem| problem.code == ProblemCode::HiddenUnicode) {
            notes.push_str(&screen::problem(hidden, world.note_paint));
        }
    }
    let bytes: Vec<u8> = texts.iter().flat_map(|(skill, contents)| envelope(skill, &contents.bytes)).collect();
    // A model reads the output of other programs, so it holds nothing that cannot be seen; a terminal gets no control
    // characters from a file.
    let reply = if world.terminals.stdout {
        CommandOutput::text(clean_lines(&String::from_utf8_lossy(&bytes)))
    } else {
        CommandOutput::bytes(bytes)
    };
    Ok(reply.with_notes(notes))
}
