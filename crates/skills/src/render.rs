//! Formats in which a prompt lists skills.
//!
//! Two kinds of text: a table of what is there, in the words of several tools, and the full text of a skill. Each
//! format is kept byte for byte; the values in it are parsed, and escaped where the format is XML. Nothing is left
//! out in silence: what was cut comes back beside the text.

mod agents_md;
mod also_here;
mod body;
mod budget;
mod cut;
mod escape;
mod guide;
mod manifest;
mod openskills;
mod references;
mod resources;
mod to_prompt;

use serde::Serialize;

use crate::catalogue::Catalogue;
use crate::catalogue_entry::CatalogueEntry;
use crate::skill::Skill;

pub use agents_md::{has_block, with_block};
pub use also_here::{also_here, close_skills};
pub use body::{BodyPart, BodyTruncation, LoadedBody, ReferenceMode, body};
pub use budget::{FittedTable, fit, tokens};
pub use guide::{SkillActivation, content};
pub use manifest::full as manifest_entry;
pub use openskills::LoaderProgram;
pub use resources::{SkillResources, resources};

/// A format that lists skills.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SkillTable {
    /// The `<skills_system>` block of OpenSkills.
    OpenSkills(LoaderProgram),
    /// The `<available_skills>` block of the Agent Skills reference implementation.
    ToPrompt,
    /// The catalogue of the Agent Skills guide for clients, below the instructions for using it.
    Guide(SkillActivation),
    /// Name, version and description in Markdown.
    Manifest,
}

/// Something that was shortened, in characters.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CutDescription {
    /// The skill it belongs to.
    pub name: String,
    /// How much is left.
    pub kept: usize,
    /// How much there was.
    pub of: usize,
}

/// The skills that a table may name: those that a model may choose by itself, in search order.
pub fn offered_skills(catalogue: &Catalogue) -> Vec<&Skill> {
    catalogue.skills.iter().map(CatalogueEntry::skill).filter(|skill| skill.invocation.by_model).collect()
}

/// The table of all these skills, however long it becomes.
pub fn table(table: SkillTable, skills: &[&Skill]) -> String {
    let rows: Vec<String> =
        skills.iter().map(|skill| table.row(skill, &table.escaped(&table.description(skill)))).collect();
    table.frame().around(&rows)
}

/// The text around and between the rows of a table.
#[derive(Debug)]
struct TableFrame {
    before: String,
    after_each: &'static str,
    between: &'static str,
    after: &'static str,
}

impl TableFrame {
    fn around(&self, rows: &[String]) -> String {
        let mut text = self.before.clone();
        for (index, row) in rows.iter().enumerate() {
            if index > 0 {
                text.push_str(self.between);
            }
            text.push_str(row);
            text.push_str(self.after_each);
        }
        text.push_str(self.after);
        text
    }

    /// How many bytes a table has without its rows.
    fn bytes(&self) -> usize {
        self.before.len() + self.after.len()
    }
}

impl SkillTable {
    fn frame(self) -> TableFrame {
        match self {
            Self::OpenSkills(invoke) => openskills::frame(invoke),
            Self::ToPrompt => to_prompt::frame(),
            Self::Guide(activation) => guide::frame(activation),
            Self::Manifest => TableFrame { before: String::new(), after_each: "", between: "\n\n", after: "" },
        }
    }

    /// A skill's description as this format wants it, not yet escaped.
    fn description(self, skill: &Skill) -> String {
        match self {
            Self::OpenSkills(_) | Self::Guide(_) => escape::one_line(&skill.description),
            Self::ToPrompt => escape::lines(&skill.description),
            Self::Manifest => manifest::fenced(&escape::visible(&skill.description)),
        }
    }

    fn escaped(self, text: &str) -> String {
        match self {
            Self::OpenSkills(_) | Self::Guide(_) => escape::xml(text),
            Self::ToPrompt => escape::html(text),
            Self::Manifest => text.to_owned(),
        }
    }

    /// How long a character is once it is escaped.
    fn escaped_bytes(self, c: char) -> usize {
        match self {
            Self::OpenSkills(_) | Self::Guide(_) | Self::ToPrompt => escape::bytes(c),
            Self::Manifest => c.len_utf8(),
        }
    }

    /// A skill's row with a description that is escaped already.
    fn row(self, skill: &Skill, description: &str) -> String {
        match self {
            Self::OpenSkills(_) => openskills::row(skill, description),
            Self::ToPrompt => to_prompt::row(skill, description),
            Self::Guide(_) => guide::row(skill, description),
            Self::Manifest => manifest::row(skill, description),
        }
    }

    /// What is said instead of the rows that had no room.
    fn rest(self, left_out: usize) -> String {
        let way = match self {
            Self::OpenSkills(invoke) => invoke.find_others(),
            Self::ToPrompt | Self::Guide(_) | Self::Manifest => LoaderProgram::Maestro.find_others(),
        };
        let noun = if left_out == 1 { "skill is" } else { "skills are" };
        format!("{left_out} more {noun} not listed here; {way}.")
    }
}

#[cfg(test)]
mod tests;
