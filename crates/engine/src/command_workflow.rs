//! Workflow of a single step for a command of a `skill.json`, so that trust, sandbox, execution and reports work as for
//! every other workflow.

use maestro_core::workflow::Name;
use maestro_skills::{Skill, SkillCommand};
use serde_json::{Map, Value as Json, json};

/// The run's result: the output of the command.
pub const OUTPUT: &str = "output";

/// The name by which a command starts as a workflow.
pub(crate) fn name(skill: &Skill, command: &SkillCommand) -> String {
    format!("{}/{}", skill.id, command.name)
}

/// A definition that executes a command; nothing for one that only the skill's text explains. JSON is YAML.
pub(crate) fn definition(skill: &Skill, command: &SkillCommand) -> Option<String> {
    let run = command.run.as_ref()?;
    let schema = command.input_schema();
    let properties = schema["properties"].as_object().into_iter().flatten();
    let params: Map<String, Json> = properties.map(|(name, property)| (name.clone(), param(property))).collect();
    let mut stored = OUTPUT.to_owned();
    while params.contains_key(&stored) {
        stored.push('_');
    }
    let step = json!({ "id": "run", "type": "command", "title": command.name, "command": run, "store": stored });
    let definition = json!({
        "workflow": 1, "name": workflow_name(skill, command), "description": command.description, "params": params,
        "steps": [step], "outputs": { OUTPUT: format!("{{{stored}}}") },
    });
    Some(format!("{definition:#}\n"))
}

/// The definition's own name, which is never used to look it up. A skill may have a name that no workflow can have:
/// `3d-print`.
fn workflow_name(skill: &Skill, command: &SkillCommand) -> String {
    let name = name(skill, command);
    let is_sound = name.split('/').all(|part| Name::parse(part).is_ok());
    if is_sound { name } else { "command".to_owned() }
}

/// A property of a schema as a parameter. A number that is not an integer keeps its spelling.
fn param(property: &Json) -> Json {
    let values = property["enum"].as_array().filter(|values| values.iter().all(Json::is_string));
    let kind = match (property["type"].as_str(), values) {
        (_, Some(_)) => "enum",
        (Some("integer"), _) => "int",
        (Some("boolean"), _) => "bool",
        (Some("array"), _) => "list",
        (Some("object"), _) => "object",
        _ => "string",
    };
    let mut param = json!({ "type": kind, "required": property.get("default").is_none() });
    if let Some(values) = values {
        param["values"] = json!(values);
    }
    for field in ["default", "description"] {
        if let Some(value) = property.get(field) {
            param[field] = value.clone();
        }
    }
    param
}
