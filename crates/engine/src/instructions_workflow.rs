//! Workflow of a single step for a skill with instructions only.

use maestro_skills::Skill;

/// The definition: an agent follows the instructions. Such a skill can also be converted to it.
pub fn definition(skill: &Skill) -> String {
    let name = quoted(skill.id.as_str());
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

/// A text as YAML reads it, whatever it holds; JSON quoting is valid YAML.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// A text in which no brace is a placeholder.
fn braces(text: &str) -> String {
    text.replace('{', "{{").replace('}', "}}")
}
