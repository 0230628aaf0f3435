//! What does a `skill.json` say? A name, a description and the commands it declares.

use maestro_core::Code;
use maestro_core::yaml::Place;
use serde_json::{Map, Value as Json};

use super::findings::Findings;
use super::manifest::{read_object, text_field};
use crate::skill::{Command, Skill};

/// The fields of a `skill.json`.
#[derive(Debug)]
pub(super) struct SkillJson {
    pub(super) name: Option<String>,
    description: String,
    pub(super) version: Option<String>,
    commands: Vec<Command>,
    extra: Map<String, Json>,
}

const TOP: Place = Place { line: 1, column: 1 };

/// Reads a `skill.json`; nothing when it cannot be used.
pub(super) fn load(findings: &mut Findings<'_>) -> Option<SkillJson> {
    let mut fields = read_object(findings)?;
    let name = text_field(&mut fields, "name", findings);
    let description = text_field(&mut fields, "description", findings);
    if description.is_none() {
        findings.error(
            Code::DescriptionMissing,
            TOP,
            "there is no description",
            "add \"description\" with what the skill does and when to use it",
        );
    }
    let version = text_field(&mut fields, "version", findings);
    let commands = match fields.shift_remove("commands") {
        None | Some(Json::Null) => Vec::new(),
        Some(Json::Array(items)) => items.into_iter().filter_map(|item| command(item, findings)).collect(),
        Some(_) => {
            findings.warn(Code::FieldType, TOP, "`commands` is no list and is left out", "write \"commands\": […]");
            Vec::new()
        }
    };
    let description = description.filter(|_| findings.usable())?;
    Some(SkillJson { name, description, version, commands, extra: fields })
}

fn command(item: Json, findings: &mut Findings<'_>) -> Option<Command> {
    let Json::Object(mut fields) = item else {
        findings.warn(Code::FieldType, TOP, "a command is no object and is left out", "write {\"name\": …}");
        return None;
    };
    let Some(name) = text_field(&mut fields, "name", findings) else {
        findings.warn(Code::ManifestField, TOP, "a command has no name and is left out", "add \"name\"");
        return None;
    };
    let description = text_field(&mut fields, "description", findings).unwrap_or_default();
    let parameters = match fields.shift_remove("parameters") {
        Some(Json::Object(parameters)) => parameters,
        _ => Map::new(),
    };
    let run = fields.shift_remove("run").and_then(|run| vector(run, &name, findings));
    Some(Command { name, description, parameters, run })
}

/// A program and its arguments. A line for a shell is none: what a model fills in would be read as part of it.
fn vector(run: Json, command: &str, findings: &mut Findings<'_>) -> Option<Vec<String>> {
    let words: Option<Vec<String>> = match run {
        Json::Array(items) => items.into_iter().map(|item| item.as_str().map(str::to_owned)).collect(),
        _ => None,
    };
    let words = words.filter(|words| words.first().is_some_and(|program| !program.is_empty()));
    if words.is_none() {
        findings.warn(
            Code::FieldType,
            TOP,
            format!("`run` of the command `{command}` is no list of texts and is left out"),
            "write the program and each argument by itself: \"run\": [\"git\", \"log\", \"{since}\"]",
        );
    }
    words
}

impl SkillJson {
    /// Puts what this form decides into the skill.
    pub(super) fn fill(self, skill: &mut Skill) {
        skill.description = self.description;
        skill.commands = self.commands;
        skill.extra.extend(self.extra);
    }
}
