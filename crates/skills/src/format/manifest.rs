//! Reader for `manifest.json`: all of its fields; unknown keys are kept.

use maestro_core::yaml::SourcePosition;
use maestro_core::{ProblemCode, SessionRole};
use serde_json::{Map, Value as Json};

use super::SkillFiles;
use super::findings::FileFindings;
use crate::skill::{Skill, SkillType};

/// The fields of a manifest.
#[derive(Debug)]
pub(super) struct SkillManifest {
    name: Option<String>,
    pub(super) version: Option<String>,
    pub(super) description: String,
    kind: SkillType,
    assign_to: Vec<String>,
    capabilities: Vec<String>,
    dependencies: Vec<String>,
    author: Option<String>,
    license: Option<String>,
    config: Map<String, Json>,
    extra: Map<String, Json>,
    has_skill_md: bool,
}

const TOP: SourcePosition = SourcePosition { line: 1, column: 1 };

/// Reads a manifest; nothing when it is no JSON object.
pub(super) fn load(directory: &str, files: &SkillFiles, findings: &mut FileFindings<'_>) -> Option<SkillManifest> {
    let mut fields = read_object(findings)?;
    let mut required = |key: &str, instead: &str| {
        let value = text_field(&mut fields, key, findings);
        if value.is_none() {
            findings.warn(
                ProblemCode::ManifestField,
                TOP,
                format!("`{key}` is missing; {instead} is used"),
                format!("add \"{key}\": \"…\""),
            );
        }
        value
    };
    let name = required("name", &format!("`{directory}`"));
    let version = required("version", "`1.0.0`");
    let description = required("description", "an empty one").unwrap_or_default();
    let manifest = SkillManifest {
        name,
        version,
        description,
        kind: kind(&mut fields, findings),
        assign_to: roles(&mut fields, findings),
        capabilities: list_field(&mut fields, "capabilities", findings),
        dependencies: list_field(&mut fields, "dependencies", findings),
        author: text_field(&mut fields, "author", findings),
        license: text_field(&mut fields, "license", findings),
        config: map_field(&mut fields, "config", findings),
        extra: fields,
        has_skill_md: files.lower_skill_md,
    };
    if !files.lower_skill_md && files.markdown().is_none() {
        findings.warn(
            ProblemCode::InstructionsMissing,
            TOP,
            "there is no skill.md beside it, so the skill has no instructions",
            "write what an agent should do into skill.md",
        );
    }
    Some(manifest)
}

/// The JSON object in the file; anything else is an error with its place.
pub(super) fn read_object(findings: &mut FileFindings<'_>) -> Option<Map<String, Json>> {
    let text = findings.read_document()?;
    match serde_json::from_str(text.trim_start_matches('\u{feff}')) {
        Ok(Json::Object(fields)) => Some(fields),
        Ok(_) => {
            findings.error(
                ProblemCode::ManifestInvalid,
                TOP,
                "the file is not a JSON object",
                "write { \"name\": …, … }",
            );
            None
        }
        Err(error) => {
            let place = SourcePosition { line: error.line().max(1), column: error.column().max(1) };
            // The place is reported separately from the message.
            let reason = error.to_string();
            let reason = reason.split(" at line ").next().unwrap_or_default();
            let help = "fix the JSON here: a comma or a quote is often missing just before it";
            findings.error(ProblemCode::ManifestInvalid, place, format!("the file is not valid JSON: {reason}"), help);
            None
        }
    }
}

fn wrong_type(key: &str, expected: &str, findings: &mut FileFindings<'_>) {
    findings.warn(
        ProblemCode::FieldType,
        TOP,
        format!("`{key}` has a value of the wrong type and is ignored"),
        format!("it must be {expected}"),
    );
}

pub(super) fn text_field(fields: &mut Map<String, Json>, key: &str, findings: &mut FileFindings<'_>) -> Option<String> {
    match fields.shift_remove(key) {
        Some(Json::String(text)) => Some(text).filter(|text| !text.trim().is_empty()),
        Some(Json::Number(number)) => Some(number.to_string()),
        None | Some(Json::Null) => None,
        Some(_) => {
            wrong_type(key, "text", findings);
            None
        }
    }
}

fn list_field(fields: &mut Map<String, Json>, key: &str, findings: &mut FileFindings<'_>) -> Vec<String> {
    match fields.shift_remove(key) {
        None | Some(Json::Null) => Vec::new(),
        Some(Json::String(text)) => vec![text],
        Some(Json::Array(items)) => {
            let texts: Vec<String> = items.iter().filter_map(Json::as_str).map(str::to_owned).collect();
            if texts.len() < items.len() {
                wrong_type(key, "a list of texts", findings);
            }
            texts
        }
        Some(_) => {
            wrong_type(key, "a list of texts", findings);
            Vec::new()
        }
    }
}

fn map_field(fields: &mut Map<String, Json>, key: &str, findings: &mut FileFindings<'_>) -> Map<String, Json> {
    match fields.shift_remove(key) {
        None | Some(Json::Null) => Map::new(),
        Some(Json::Object(map)) => map,
        Some(_) => {
            wrong_type(key, "an object", findings);
            Map::new()
        }
    }
}

fn kind(fields: &mut Map<String, Json>, findings: &mut FileFindings<'_>) -> SkillType {
    match fields.shift_remove("type") {
        None | Some(Json::Null) => SkillType::System,
        Some(Json::String(word)) if word == "system" => SkillType::System,
        Some(Json::String(word)) if word == "role" => SkillType::Role,
        Some(Json::String(word)) if word == "custom" => SkillType::Custom,
        Some(_) => {
            wrong_type("type", "\"system\", \"role\" or \"custom\"", findings);
            SkillType::System
        }
    }
}

fn roles(fields: &mut Map<String, Json>, findings: &mut FileFindings<'_>) -> Vec<String> {
    let roles = list_field(fields, "assignTo", findings);
    for role in &roles {
        if role != "all" && role.parse::<SessionRole>().is_err() {
            findings.warn(
                ProblemCode::FieldType,
                TOP,
                format!("`assignTo` names `{role}`, which is not a role"),
                "use \"worker\", \"orchestrator\" or \"all\"",
            );
        }
    }
    roles
}

impl SkillManifest {
    /// Puts what this form decides into the skill.
    pub(super) fn fill(self, skill: &mut Skill) {
        if let Some(name) = self.name {
            skill.display_name = name;
        }
        if !self.description.is_empty() {
            skill.description = self.description;
        }
        skill.kind = self.kind;
        skill.assign_to = self.assign_to;
        skill.capabilities = self.capabilities;
        skill.dependencies = self.dependencies;
        skill.author = self.author;
        skill.license = self.license;
        skill.config = self.config;
        skill.instructions = self.has_skill_md.then(|| "skill.md".to_owned());
        skill.extra.extend(self.extra);
    }
}
