//! Text of a skill for a prompt, within a limit.
//!
//! As many characters as the settings allow. What is cut is cut where a section ends, and the text says where the
//! rest is.

use std::borrow::Cow;
use std::io;
use std::path::Path;

use maestro_core::hidden_chars::{find_hidden, remove_hidden};
use maestro_core::{Problem, ProblemSeverity};

use super::{cut, references};
use crate::command;
use crate::frontmatter;
use crate::instructions::{instructions, instructions_file};
use crate::skill::{Skill, SkillFormat, SkillSource};
use crate::text;

/// Which part of a `SKILL.md` is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BodyPart {
    /// The whole file.
    File,
    /// What follows the header.
    Body,
}

/// What is done with a skill's references.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReferenceMode {
    /// They stay where they are; an agent reads them when it needs them.
    Leave,
    /// They are appended to the text.
    Include,
}

/// A skill's text for a prompt.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LoadedBody {
    /// The text, with a note at its end if something is missing.
    pub text: String,
    /// How much is missing, if something is.
    pub truncated: Option<BodyTruncation>,
    /// What could not be used as it is.
    pub problems: Vec<Problem>,
}

/// How much of a text is left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BodyTruncation {
    /// How many characters there were; at least, where not even all of them were read.
    pub original_chars: usize,
    /// How many there are now, the note at the end not counted.
    pub kept_chars: usize,
}

/// A skill's text, read from disk now, in at most `max_chars` characters and the note that says so.
pub fn body(skill: &Skill, part: BodyPart, references: ReferenceMode, max_chars: usize) -> io::Result<LoadedBody> {
    let contents = instructions(skill)?;
    let file = instructions_file(skill).unwrap_or_else(|| skill.path.join(&skill.file));
    let mut problems = Vec::new();
    if contents.cut {
        problems.push(text::too_large(&file, ProblemSeverity::Warning));
    }
    let own = match text::text_of(&contents.bytes) {
        Ok(text) => Cow::Borrowed(text),
        Err(place) => {
            // A text that was cut anywhere may end within a character.
            if !contents.cut {
                let mut problem = text::not_utf8(&file, place);
                problem.severity = ProblemSeverity::Warning;
                problems.push(problem);
            }
            String::from_utf8_lossy(&contents.bytes)
        }
    };
    let own = match part {
        BodyPart::File => own.as_ref(),
        BodyPart::Body => below_header(skill, &own),
    };
    let appendix = match references {
        ReferenceMode::Leave => String::new(),
        ReferenceMode::Include => references::appendix(skill, &mut problems),
    };
    let commands = unmentioned_commands(skill, own);
    let whole = format!("{own}{commands}{appendix}");
    problems.extend(find_hidden(&whole).map(|hidden| text::hidden_text(&file, &hidden)));
    let whole = remove_hidden(&whole);
    // More follows than was read, so that even what was read is not the whole.
    let most = if contents.cut { max_chars.min(whole.chars().count().saturating_sub(1)) } else { max_chars };
    let Some(kept) = cut::at_boundary(&whole, most) else {
        return Ok(LoadedBody { text: whole.into_owned(), truncated: None, problems });
    };
    let without_blanks = whole.trim_end();
    if without_blanks.chars().nth(most).is_none() && !contents.cut {
        return Ok(LoadedBody { text: without_blanks.to_owned(), truncated: None, problems });
    }
    let mut rest = Vec::new();
    if kept.len() < own.trim_end().len() || contents.cut {
        rest.push(one_line_path(&file));
    }
    if !appendix.is_empty() {
        rest.push(one_line_path(&references::directory(skill)));
    }
    let truncated = BodyTruncation { original_chars: whole.chars().count(), kept_chars: kept.chars().count() };
    let text = format!("{kept}{}", truncation_note(&rest.join(" and ")));
    Ok(LoadedBody { text, truncated: Some(truncated), problems })
}

/// The commands of a user's skill that its text does not mention. Those of the built-in pack are for other protocols.
fn unmentioned_commands(skill: &Skill, text: &str) -> String {
    if skill.instructions.is_none() || skill.source == SkillSource::Builtin {
        return String::new();
    }
    let unsaid = skill.commands.iter().filter(|command| !text.contains(&command.name));
    let listed = command::describe_commands(unsaid);
    if listed.is_empty() { listed } else { format!("\n\n## Commands\n\n{listed}") }
}

/// The note at the end of a text that was cut.
fn truncation_note(rest: &str) -> String {
    format!("\n\n[Content truncated...]\nThe rest is in {rest}")
}

/// A path on one line.
fn one_line_path(path: &Path) -> String {
    path.to_string_lossy().chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}

/// A `SKILL.md` without its header and the blank lines around the rest. Other formats have no header.
fn below_header<'a>(skill: &Skill, text: &'a str) -> &'a str {
    if skill.format != SkillFormat::SkillMd {
        return text;
    }
    let at = frontmatter::find(text.as_bytes()).map_or(0, |header| header.body_at);
    text.get(at..).unwrap_or_default().trim()
}
