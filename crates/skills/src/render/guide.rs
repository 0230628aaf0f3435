//! Catalogue and skill text in the form of the Agent Skills guide for clients.
//!
//! A catalogue below the instructions for using it, and a skill's text in a wrapper that the text itself
//! cannot close.

use super::body::LoadedBody;
use super::resources::SkillResources;
use super::{TableFrame, escape};
use crate::skill::Skill;

/// How a model gets at a skill that it saw in the catalogue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SkillActivation {
    /// It reads the file.
    ReadFile,
    /// It calls the tool `activate_skill`.
    Tool,
}

const READ_FILE: &str = "\
The following skills provide specialized instructions for specific tasks.
When a task matches a skill's description, use your file-read tool to load
the SKILL.md at the listed location before proceeding.
When a skill references relative paths, resolve them against the skill's
directory (the parent of SKILL.md) and use absolute paths in tool calls.";

const TOOL: &str = "\
The following skills provide specialized instructions for specific tasks.
When a task matches a skill's description, call the activate_skill tool
with the skill's name to load its full instructions.";

pub(super) fn frame(activation: SkillActivation) -> TableFrame {
    let words = match activation {
        SkillActivation::ReadFile => READ_FILE,
        SkillActivation::Tool => TOOL,
    };
    let before = format!("{words}\n\n<available_skills>\n");
    TableFrame { before, after_each: "\n", between: "", after: "</available_skills>" }
}

pub(super) fn row(skill: &Skill, description: &str) -> String {
    let name = escape::xml(&escape::one_line(skill.id.as_str()));
    let location = escape::path(&skill.path.join(&skill.file));
    format!(
        "  <skill>\n    <name>{name}</name>\n    <description>{description}</description>\n    <location>{location}</location>\n  </skill>"
    )
}

/// A skill's text for a model, with where it is and which files belong to it.
pub fn content(skill: &Skill, body: &LoadedBody, resources: &SkillResources) -> String {
    let name = escape::xml(&escape::one_line(skill.id.as_str()));
    let directory: String =
        skill.path.to_string_lossy().chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect();
    let mut text = format!(
        "<skill_content name=\"{name}\">\n{}\n\nSkill directory: {}\nRelative paths in this skill are relative to the skill directory.\n",
        escape_wrapper_tags(body.text.trim()),
        escape_wrapper_tags(&directory)
    );
    if !resources.files.is_empty() {
        text.push_str("\n<skill_resources>\n");
        for file in &resources.files {
            text.push_str("  <file>");
            text.push_str(&escape::path(file));
            text.push_str("</file>\n");
        }
        if let Some(more) = resources.more() {
            text.push_str("  ");
            text.push_str(&more);
            text.push('\n');
        }
        text.push_str("</skill_resources>\n");
    }
    text.push_str("</skill_content>");
    text
}

/// The text with every tag of the wrapper's name made harmless, however it is spelt.
fn escape_wrapper_tags(text: &str) -> String {
    const TAGS: [&str; 2] = ["skill_content", "skill_resources"];
    let mut safe = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('<') {
        let (before, from) = rest.split_at(at);
        let after = from.trim_start_matches(|c: char| matches!(c, '<' | '/') || c.is_whitespace());
        let is_tag = TAGS.iter().any(|tag| after.get(..tag.len()).is_some_and(|word| word.eq_ignore_ascii_case(tag)));
        safe.push_str(before);
        safe.push_str(if is_tag { "&lt;" } else { "<" });
        rest = from.get(1..).unwrap_or_default();
    }
    safe.push_str(rest);
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_cannot_close_its_wrapper() {
        assert_eq!(escape_wrapper_tags("a </skill_content> b"), "a &lt;/skill_content> b");
        assert_eq!(escape_wrapper_tags("</ Skill_Content\n>"), "&lt;/ Skill_Content\n>");
        assert_eq!(
            escape_wrapper_tags("< /skill_content><skill_content name=\"x\">"),
            "&lt; /skill_content>&lt;skill_content name=\"x\">"
        );
        assert_eq!(escape_wrapper_tags("<skill_resources>"), "&lt;skill_resources>");
        assert_eq!(escape_wrapper_tags("<</skill_content>"), "&lt;&lt;/skill_content>");
        assert_eq!(
            escape_wrapper_tags("a < b, <skill>, </skill_contents é <"),
            "a < b, <skill>, &lt;/skill_contents é <"
        );
    }
}
