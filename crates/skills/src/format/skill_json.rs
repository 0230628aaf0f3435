//! Reader for `skill.json`: a name, a description and the commands it declares.

use maestro_core::ProblemCode;
use maestro_core::workflow::executions::ALWAYS_DECLARED;
use maestro_core::workflow::{Name, Template, ValueReference};
use maestro_core::yaml::SourcePosition;
use serde_json::{Map, Value as Json};

use super::findings::FileFindings;
use super::manifest::{read_object, text_field};
use crate::skill::{Skill, SkillCommand};

/// The fields of a `skill.json`.
#[derive(Debug)]
pub(super) struct SkillJsonFile {
    pub(super) name: Option<String>,
    description: String,
    pub(super) version: Option<String>,
    commands: Vec<SkillCommand>,
    extra: Map<String, Json>,
}

const TOP: SourcePosition = SourcePosition { line: 1, column: 1 };
/// The longest name that all clients take for a tool.
const LONGEST_TOOL: usize = 64;

/// Reads a `skill.json`; nothing when it cannot be used.
pub(super) fn load(findings: &mut FileFindings<'_>) -> Option<SkillJsonFile> {
    let mut fields = read_object(findings)?;
    let name = text_field(&mut fields, "name", findings);
    let description = text_field(&mut fields, "description", findings);
    if description.is_none() {
        findings.error(
            ProblemCode::DescriptionMissing,
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
            findings.warn(
                ProblemCode::FieldType,
                TOP,
                "`commands` is not a list and is ignored",
                "write \"commands\": […]",
            );
            Vec::new()
        }
    };
    let description = description.filter(|_| findings.usable())?;
    Some(SkillJsonFile { name, description, version, commands, extra: fields })
}

fn command(item: Json, findings: &mut FileFindings<'_>) -> Option<SkillCommand> {
    let Json::Object(mut fields) = item else {
        findings.warn(ProblemCode::FieldType, TOP, "a command is not an object and is ignored", "write {\"name\": …}");
        return None;
    };
    let Some(name) = text_field(&mut fields, "name", findings) else {
        findings.warn(ProblemCode::ManifestField, TOP, "a command has no name and is ignored", "add \"name\"");
        return None;
    };
    let description = text_field(&mut fields, "description", findings).unwrap_or_default();
    let parameters = match fields.shift_remove("parameters") {
        Some(Json::Object(parameters)) => parameters,
        _ => Map::new(),
    };
    let run = fields.shift_remove("run").and_then(|run| command_words(run, &name, findings));
    let command = SkillCommand { name, description, parameters, run };
    let Some(reason) = command.run.as_ref().and_then(|run| find_flaw(run, &command.parameters)) else {
        check_name(&command, findings);
        return Some(command);
    };
    let message = format!("`run` of the command `{}` is ignored: {reason}", command.name);
    let help = "name parameters with letters, digits, `_` and `-`, and name only parameters in `run`";
    findings.warn(ProblemCode::FieldType, TOP, message, help);
    Some(SkillCommand { run: None, ..command })
}

/// Why a command cannot be carried out, if it cannot.
fn find_flaw(run: &[String], parameters: &Map<String, Json>) -> Option<String> {
    for name in parameters.keys() {
        if ALWAYS_DECLARED.contains(&name.as_str()) {
            return Some(format!("`{name}` always means something else and cannot be a parameter"));
        }
        if let Err(bad) = Name::parse(name) {
            return Some(format!("`{name}` cannot be a parameter: {bad}"));
        }
    }
    let is_known = |name: &Name| parameters.contains_key(name.as_str()) || ALWAYS_DECLARED.contains(&name.as_str());
    for (index, word) in run.iter().enumerate() {
        let template = match Template::parse(word) {
            Ok(template) => template,
            Err(bad) => return Some(format!("in `{word}`, {}", bad.reason)),
        };
        let unknown = template.references().map(|(reference, _)| reference).find(|reference| match reference {
            ValueReference::Named(name, None) => !is_known(name),
            ValueReference::Param(name) => !parameters.contains_key(name.as_str()),
            ValueReference::Named(_, Some(_)) | ValueReference::Result(..) => true,
        });
        if let Some(unknown) = unknown {
            return Some(format!("`{{{unknown}}}` is none of its parameters"));
        }
        let is_fixed = word.starts_with("{skill_dir}/") && template.references().count() == 1;
        if index == 0 && !template.is_literal() && !is_fixed {
            return Some(format!("the program `{word}` has a parameter in its name"));
        }
    }
    None
}

/// A command with another name is carried out by `maestro workflow`, and no editor can call it.
fn check_name(command: &SkillCommand, findings: &mut FileFindings<'_>) {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    let is_tool = command.name.len() <= LONGEST_TOOL && command.name.chars().all(fits);
    if command.run.is_some() && !is_tool {
        let message = format!("the command `{}` cannot be a tool, because of its name", command.name);
        let help = format!("choose one of at most {LONGEST_TOOL} letters, digits, `_` and `-`");
        findings.warn(ProblemCode::FieldType, TOP, message, help);
    }
}

/// A program and its arguments. A line for a shell is none: what a model fills in would be read as part of it.
fn command_words(run: Json, command: &str, findings: &mut FileFindings<'_>) -> Option<Vec<String>> {
    let words: Option<Vec<String>> = match run {
        Json::Array(items) => items.into_iter().map(|item| item.as_str().map(str::to_owned)).collect(),
        _ => None,
    };
    let words = words.filter(|words| words.first().is_some_and(|program| !program.is_empty()));
    if words.is_none() {
        findings.warn(
            ProblemCode::FieldType,
            TOP,
            format!("`run` of the command `{command}` is not a list of strings and is ignored"),
            "write the program and each argument by itself: \"run\": [\"git\", \"log\", \"{since}\"]",
        );
    }
    words
}

impl SkillJsonFile {
    /// Puts what this form decides into the skill.
    pub(super) fn fill(self, skill: &mut Skill) {
        skill.description = self.description;
        skill.commands = self.commands;
        skill.extra.extend(self.extra);
    }
}
