//! Block of skills that OpenSkills writes into an `AGENTS.md`.
//!
//! Its block, byte for byte, but for two things: values are escaped, and the command that loads a skill may be ours.

use super::{TableFrame, escape};
use crate::skill::Skill;

/// The program that agents load skills with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoaderProgram {
    /// This one.
    Maestro,
    /// The original.
    OpenSkills,
}

impl LoaderProgram {
    fn read(self) -> &'static str {
        match self {
            Self::Maestro => "maestro skills read",
            Self::OpenSkills => "npx openskills read",
        }
    }

    /// How skills are found that are not listed.
    pub(super) fn find_others(self) -> &'static str {
        match self {
            Self::Maestro => "`maestro skills select \"TASK\"` finds those that fit",
            Self::OpenSkills => "`npx openskills list` lists every skill",
        }
    }
}

/// Where the part begins that other tools look for in a file.
pub(super) const TABLE_START: &str = "<!-- SKILLS_TABLE_START -->";
/// Where that part ends.
pub(super) const TABLE_END: &str = "<!-- SKILLS_TABLE_END -->";

pub(super) fn frame(invoke: LoaderProgram) -> TableFrame {
    let read = invoke.read();
    let before = format!(
        "<skills_system priority=\"1\">

## Available Skills

{TABLE_START}
<usage>
When users ask you to perform tasks, check if any of the available skills below can help complete the task more effectively. Skills provide specialized capabilities and domain knowledge.

How to use skills:
- Invoke: `{read} <skill-name>` (run in your shell)
  - For multiple: `{read} skill-one,skill-two`
- The skill content will load with detailed instructions on how to complete the task
- Base directory provided in output for resolving bundled resources (references/, scripts/, assets/)

Usage notes:
- Only use skills listed in <available_skills> below
- Do not invoke a skill that is already loaded in your context
- Each skill invocation is stateless
</usage>

<available_skills>

"
    );
    let after = "\n\n</available_skills>\n<!-- SKILLS_TABLE_END -->\n\n</skills_system>";
    TableFrame { before, after_each: "", between: "\n\n", after }
}

pub(super) fn row(skill: &Skill, description: &str) -> String {
    let name = escape::xml(&escape::one_line(skill.id.as_str()));
    let location = skill.location;
    format!(
        "<skill>\n<name>{name}</name>\n<description>{description}</description>\n<location>{location}</location>\n</skill>"
    )
}
