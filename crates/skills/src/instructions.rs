//! Instructions of a skill, as an agent reads them.
//!
//! The envelope is OpenSkills' own, byte for byte; its content is the skill's text as it is on disk, without characters
//! that cannot be seen, and without lines that would end the envelope.

use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};

use maestro_core::hidden_chars::{find_hidden, remove_hidden_bytes};
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
    let mut problems = hidden_fields(skill);
    let Some(file) = instructions_file(skill) else { return problems };
    problems.extend(check_file(skill, &file));
    problems
}

/// Hidden characters in what a list shows of a skill. The description of a `SKILL.md` is judged when it is loaded.
fn hidden_fields(skill: &Skill) -> Vec<Problem> {
    let described = (skill.format != SkillFormat::SkillMd).then_some(&skill.description);
    let commands = skill.commands.iter().map(|command| &command.description);
    let fields = [&skill.display_name, &skill.version].into_iter().chain(described).chain(&skill.when_to_use);
    let hidden = fields.chain(commands).filter_map(|field| find_hidden(field));
    hidden.map(|hidden| text::hidden_text(&skill.path.join(&skill.file), &hidden).at(1, 1)).collect()
}

fn check_file(skill: &Skill, file: &Path) -> Vec<Problem> {
    match instructions(skill) {
        Err(error) => vec![text::unreadable(file, &error)],
        Ok(contents) => {
            let not_text = text::text_of(&contents.bytes).err().filter(|_| !contents.cut).map(|place| {
                let mut problem = text::not_utf8(file, place);
                problem.severity = ProblemSeverity::Warning;
                problem
            });
            let hidden = find_hidden(&String::from_utf8_lossy(&contents.bytes));
            not_text.into_iter().chain(hidden.map(|hidden| text::hidden_text(file, &hidden))).collect()
        }
    }
}

/// The text of a skill between `Reading:` and `Skill read:`, as OpenSkills prints it.
pub fn envelope(skill: &Skill, instructions: &[u8]) -> Vec<u8> {
    let mut bytes = format!("Reading: {}\nBase directory: {}\n\n", skill.id, skill.path.display()).into_bytes();
    bytes.extend_from_slice(&fenced(instructions));
    bytes.extend_from_slice(format!("\n\nSkill read: {}\n", skill.id).as_bytes());
    bytes
}

/// The same for a reader that cannot open the skill's directory.
pub fn unplaced_envelope(skill: &Skill, instructions: &[u8]) -> Vec<u8> {
    let id = &skill.id;
    let mut bytes = format!("Reading: {id}\n\n").into_bytes();
    bytes.extend_from_slice(&fenced(instructions));
    let files = format!("\n\nSkill read: {id}\n`maestro skills read {id}` says where its files are.\n");
    bytes.extend_from_slice(files.as_bytes());
    bytes
}

/// A text without what cannot be seen, in which no line looks like the beginning or the end of an envelope.
fn fenced(instructions: &[u8]) -> Vec<u8> {
    const MARKS: [&[u8]; 2] = [b"skill read:", b"base directory:"];
    let text = remove_hidden_bytes(instructions);
    let mut fenced = Vec::with_capacity(text.len());
    for line in text.split_inclusive(|byte| matches!(byte, b'\n' | b'\r')) {
        let blanks = line.len() - line.trim_ascii_start().len();
        let (blank, words) = line.split_at(blanks);
        let is_mark = |mark: &&[u8]| words.get(..mark.len()).is_some_and(|word| word.eq_ignore_ascii_case(mark));
        fenced.extend_from_slice(blank);
        if MARKS.iter().any(is_mark) {
            fenced.push(b'\\');
        }
        fenced.extend_from_slice(words);
    }
    fenced
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
