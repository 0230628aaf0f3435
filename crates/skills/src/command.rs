//! Parameters of a skill's command, as `skill.json` declares them, turned into a JSON Schema.

use std::fmt::Write as _;

use serde_json::{Map, Value as Json, json};

use crate::skill::SkillCommand;

/// The words for kinds of values, as people write them before the colon, and as a schema has them.
const KINDS: [(&str, &str); 6] = [
    ("string", "string"),
    ("text", "string"),
    ("number", "number"),
    ("integer", "integer"),
    ("boolean", "boolean"),
    ("bool", "boolean"),
];

impl SkillCommand {
    /// What it takes, as a JSON Schema. `"String: text"` is a required text; what is a schema already stays one, and is
    /// required unless it has a default.
    pub fn input_schema(&self) -> Json {
        let properties: Map<String, Json> =
            self.parameters.iter().map(|(name, declared)| (name.clone(), property(declared))).collect();
        let is_required = |property: &Json| property.get("default").is_none();
        let required: Vec<&String> =
            properties.iter().filter(|(_, property)| is_required(property)).map(|(name, _)| name).collect();
        let mut schema = json!({ "type": "object", "additionalProperties": false });
        if !required.is_empty() {
            schema["required"] = json!(required);
        }
        schema["properties"] = Json::Object(properties);
        schema
    }
}

/// One parameter as a schema.
fn property(declared: &Json) -> Json {
    let text = match declared {
        Json::Object(_) => return declared.clone(),
        Json::String(text) => text.trim(),
        _ => return json!({ "type": "string" }),
    };
    let kind =
        |word: &str| KINDS.iter().find(|(name, _)| name.eq_ignore_ascii_case(word.trim())).map(|(_, kind)| *kind);
    let (kind, about) = match text.split_once(':').and_then(|(word, about)| Some((kind(word)?, about.trim()))) {
        Some(known) => known,
        None => kind(text).map_or(("string", text), |kind| (kind, "")),
    };
    if about.is_empty() { json!({ "type": kind }) } else { json!({ "type": kind, "description": about }) }
}

/// Commands as an agent reads of them, a line each and one for each parameter.
pub(crate) fn describe_commands<'a>(commands: impl IntoIterator<Item = &'a SkillCommand>) -> String {
    let mut text = String::new();
    for command in commands {
        let _ = writeln!(text, "- `{}`: {}", command.name, command.description);
        for (name, declared) in &command.parameters {
            let property = property(declared);
            let kind = property["type"].as_str().unwrap_or("any value");
            let needed = if property.get("default").is_none() { ", required" } else { "" };
            let about = property["description"].as_str().map(|about| format!(": {about}")).unwrap_or_default();
            let _ = writeln!(text, "  - `{name}` ({kind}{needed}){about}");
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schema(parameters: Json) -> Json {
        let Json::Object(parameters) = parameters else { panic!("an object") };
        SkillCommand { name: "c".into(), description: String::new(), parameters, run: None }.input_schema()
    }

    #[test]
    fn a_text_after_a_kind_is_a_required_property() {
        let expected = json!({
            "type": "object",
            "additionalProperties": false,
            "required": ["message", "count", "plain"],
            "properties": {
                "message": { "type": "string", "description": "What was done" },
                "count": { "type": "integer" },
                "plain": { "type": "string", "description": "Note: a colon alone is no kind" },
                "mode": { "type": "string", "enum": ["a", "b"], "default": "a" },
            },
        });
        let declared = json!({
            "message": "String: What was done",
            "count": "Integer",
            "plain": "Note: a colon alone is no kind",
            "mode": { "type": "string", "enum": ["a", "b"], "default": "a" },
        });
        assert_eq!(schema(declared), expected);
    }

    #[test]
    fn a_command_without_parameters_takes_none() {
        assert_eq!(schema(json!({})), json!({ "type": "object", "additionalProperties": false, "properties": {} }));
    }

    #[test]
    fn nonsense_is_a_text() {
        assert_eq!(schema(json!({ "x": 3 }))["properties"]["x"], json!({ "type": "string" }));
    }
}
