//! Instructions of a skill, as an agent reads them.
//!
//! The envelope is OpenSkills' own, byte for byte; its content is the skill's text as it is on disk.

use std::fmt::Write as _;
use std::io;
use std::path::PathBuf;

use maestro_core::{Problem, ProblemSeverity};

use crate::command;
use crate::skill::{Skill, SkillFormat};
use crate::text::{self, FileContents, MAX_TEXT_BYTES};

/// The file that holds a skill's instructions, if a file does.
pub fn instructions_file(skill: &Skill) -> Option<PathBuf> {
    skill.instructions.as_ref().map(|file| skill.path.join(file))
}

/// A skill's instructions, read from disk now and bounded.
///
/// A manifest without `skill.md` has none; a `skill.json` or a workflow alone is put into words.
pub fn instructions(skill: &Skill) -> io::Result<FileContents> {
    match instructions_file(skill) {
        None if skill.format == SkillFormat::Manifest => Ok(FileContents { bytes: Vec::new(), cut: false }),
        None => Ok(FileContents { bytes: describe_skill(skill).into_bytes(), cut: false }),
        Some(file) => match text::read_bounded(&file, MAX_TEXT_BYTES) {
            Err(error) if error.kind() == io::ErrorKind::NotFound && skill.format == SkillFormat::Manifest => {
                Ok(FileContents { bytes: Vec::new(), cut: false })
            }
            read => read,
        },
    }
}

/// What is wrong with a skill's text itself, which loading does not look at.
pub fn check_text(skill: &Skill) -> Vec<Problem> {
    let Some(file) = instructions_file(skill) else { return Vec::new() };
    match instructions(skill) {
        Err(error) => vec![text::unreadable(&file, &error)],
        Ok(contents) => match text::text_of(&contents.bytes) {
            Err(place) if !contents.cut => {
                let mut problem = text::not_utf8(&file, place);
                problem.severity = ProblemSeverity::Warning;
                vec![problem]
            }
            _ => Vec::new(),
        },
    }
}

/// The text of a skill between `Reading:` and `Skill read:`, as OpenSkills prints it.
pub fn envelope(skill: &Skill, instructions: &[u8]) -> Vec<u8> {
    let mut bytes = format!("Reading: {}\nBase directory: {}\n\n", skill.id, skill.path.display()).into_bytes();
    bytes.extend_from_slice(instructions);
    bytes.extend_from_slice(format!("\n\nSkill read: {}\n", skill.id).as_bytes());
    bytes
}

fn describe_skill(skill: &Skill) -> String {
    let mut text = format!("# {}\n\n{}\n", skill.display_name, skill.description);
    if !skill.commands.is_empty() {
        text.push_str("\n## Commands\n\n");
    }
    text.push_str(&command::describe_commands(&skill.commands));
    if let Some(workflow) = &skill.workflow {
        let _ = writeln!(text, "\nIts workflow is in `{workflow}`.");
    }
    text
}
