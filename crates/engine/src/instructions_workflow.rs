//! Workflow for a skill with instructions only: of a single step, or of its numbered sections.

use std::fmt::Write as _;

use maestro_core::workflow::section_steps::{SplitInstructions, split_instructions};
use maestro_skills::Skill;

/// How long the name of a workflow may be.
const MAX_NAME: usize = 64;

/// A workflow that was made of instructions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConvertedSkill {
    /// The definition.
    pub definition: String,
    /// What could not be taken over.
    pub notes: Vec<String>,
}

/// A definition with a step for each numbered section of the instructions, or one step where there are none.
pub fn convert(skill: &Skill, instructions: &str) -> ConvertedSkill {
    let SplitInstructions { steps, beside, notes } = split_instructions(instructions);
    if steps.is_empty() {
        return ConvertedSkill { definition: definition(skill), notes };
    }
    let file = quoted(&skill.instructions.as_ref().map_or_else(|| "SKILL.md".to_owned(), ToString::to_string));
    let mut text = format!(
        "# One step for each numbered section of the skill's instructions. Say for each what it reports, and where failures lead.
workflow: 1
name: {name}
description: {description}
params:
  task: {{type: string, default: \"\", max_length: 8000, description: What the skill is to be used for}}
resources:
",
        name = quoted(&plain_name(skill.id.as_str())),
        description = quoted(&skill.description),
    );
    let headings = steps.iter().map(|step| &step.heading);
    for (index, heading) in headings.chain(&beside).enumerate() {
        let section = quoted(&braces(heading));
        let _ = writeln!(text, "  section-{}: {{file: {file}, section: {section}}}", index + 1);
    }
    text.push_str("steps:\n");
    for (index, step) in steps.iter().enumerate() {
        let number = index + 1;
        // Sections without a number are about all steps; the first one is given them.
        let others = if index == 0 { steps.len() + 1..steps.len() + beside.len() + 1 } else { 0..0 };
        let resources: Vec<String> = std::iter::once(number).chain(others).map(|n| format!("section-{n}")).collect();
        let next = if number == steps.len() { "end".to_owned() } else { format!("step-{}", number + 1) };
        let _ = write!(
            text,
            "  - id: step-{number}
    type: agent
    title: {title}
    description: \"{{task}}\"
    actions:
      - Do what the resource `section-{number}` says, and nothing beyond it; relative paths in it begin at {{skill_dir}}.
    resources: [{resources}]
",
            title = quoted(&step.title),
            resources = resources.join(", "),
        );
        if index > 0 {
            let _ = writeln!(text, "    data: {{before: \"{{steps.step-{index}.result.summary}}\"}}");
        }
        let _ = write!(
            text,
            "    result:
      summary: {{type: string, max_length: 4000, description: What was done}}
    next: {{ok: {next}, fail: failed}}
"
        );
    }
    let message = quoted(&braces(&format!("The instructions of {} could not be followed.", skill.id)));
    let _ = write!(
        text,
        "  - {{id: failed, type: end, status: failure, message: {message}}}
outputs:
  summary: \"{{steps.step-{}.result.summary}}\"
",
        steps.len()
    );
    ConvertedSkill { definition: text, notes }
}

/// The definition: an agent follows the instructions. Such a skill can also be converted to it.
pub fn definition(skill: &Skill) -> String {
    let name = quoted(&plain_name(skill.id.as_str()));
    let file = skill.instructions.as_ref().map_or_else(|| "SKILL.md".to_owned(), ToString::to_string);
    format!(
        "# One step that follows the skill's instructions. Split it up: one thing to do a step, with the outcomes that lead on.
workflow: 1
name: {name}
description: {description}
params:
  task: {{type: string, default: \"\", max_length: 8000, description: What the skill is to be used for}}
resources:
  instructions: {{file: {file}}}
steps:
  - id: follow
    type: agent
    title: {title}
    description: \"{{task}}\"
    actions:
      - Read the resource `instructions`; relative paths in it begin at {{skill_dir}}.
      - Follow it for the task at hand, in its order.
    resources: [instructions]
    result:
      summary: {{type: string, max_length: 4000, description: What was done}}
    next: {{ok: end, fail: failed}}
  - {{id: failed, type: end, status: failure, message: {message}}}
outputs:
  summary: \"{{steps.follow.result.summary}}\"
",
        description = quoted(&skill.description),
        file = quoted(&file),
        title = quoted(&format!("Follow {}", skill.display_name)),
        message = quoted(&braces(&format!("The instructions of {} could not be followed.", skill.id))),
    )
}

/// The name of a skill as a workflow may have it: others have dots, colons and blanks in theirs.
fn plain_name(id: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() || c == '_' || c == '-' { c } else { '-' };
    let name: String = id.chars().map(plain).take(MAX_NAME).collect();
    if name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
        name
    } else {
        format!("_{name}").chars().take(MAX_NAME).collect()
    }
}

/// A text as YAML reads it, whatever it holds; JSON quoting is valid YAML.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// A text in which no brace is a placeholder.
fn braces(text: &str) -> String {
    text.replace('{', "{{").replace('}', "}}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_name_of_a_skill_becomes_one_of_a_workflow() {
        for (id, name) in [
            ("a-b_1", "a-b_1"),
            ("dyad:check", "dyad-check"),
            ("a/b@c.d e", "a-b-c-d-e"),
            ("3d", "_3d"),
            ("日本", "_--"),
        ] {
            assert_eq!(plain_name(id), name);
        }
        assert_eq!(plain_name(&"9".repeat(80)).len(), 64);
    }

    #[test]
    fn braces_of_a_heading_are_text() {
        assert_eq!(quoted(&braces("Use {x}: \"y\"")), r#""Use {{x}}: \"y\"""#);
    }
}
