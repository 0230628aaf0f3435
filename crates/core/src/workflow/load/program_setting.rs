//! `env`, `cwd` and `secrets` of a command.

use std::collections::BTreeMap;

use super::DefinitionReader;
use super::definition_reader::MappingFields;
use crate::workflow::definition::{BuiltinCommand, ProgramSetting};
use crate::workflow::finding::FindingCode;
use crate::yaml::{SourcePosition, YamlNode};

/// How the names of variables begin that Maestro sets itself.
const OURS: &str = "MAESTRO_";

pub(super) fn read(fields: &MappingFields<'_>, reader: &mut DefinitionReader<'_>) -> ProgramSetting {
    let mut env = BTreeMap::new();
    if let Some(node) = fields.get("env") {
        for pair in reader.pairs(node, "`env`") {
            check_name(&pair.key, pair.place, reader);
            if let Some(template) = reader.template(&pair.value) {
                env.insert(pair.key.to_string(), template);
            }
        }
    }
    let secrets = secrets(fields.get("secrets"), reader);
    if let Some(node) = fields.get("secrets") {
        for name in secrets.iter().filter(|name| env.contains_key(name.as_str())) {
            let message = format!("`{name}` is a variable under `env` and a secret");
            reader.find(FindingCode::E20, node.place, message, "keep one of them");
        }
    }
    let cwd = reader.template_of(fields.get("cwd"));
    if let Some(leaving) = cwd.as_ref().filter(|cwd| leaves(cwd.value.leading_text())) {
        let message = format!("`{}` leads out of the workspace", leaving.text);
        reader.find_at_start(
            FindingCode::E14,
            leaving.place,
            message,
            "name a directory of the workspace, such as `cwd: web`",
        );
    }
    ProgramSetting { env, cwd, secrets }
}

/// Whether a directory is outside the workspace by how it begins; the rest is looked at when the command starts.
fn leaves(begin: &str) -> bool {
    begin.starts_with('/') || begin.split('/').any(|part| part == "..")
}

fn secrets(node: Option<&YamlNode<'_>>, reader: &mut DefinitionReader<'_>) -> Vec<String> {
    let Some(node) = node else { return Vec::new() };
    let names = reader.texts(node);
    for name in &names {
        check_name(name, node.place, reader);
    }
    names
}

/// A variable of an environment has a name that shells know, and none of those that Maestro sets.
fn check_name(name: &str, place: SourcePosition, reader: &mut DefinitionReader<'_>) {
    let known = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let begins = name.chars().next().is_some_and(|c| !c.is_ascii_digit());
    if !begins || !name.chars().all(known) {
        let help = "write letters, digits and `_`, such as `API_URL`";
        reader.find(FindingCode::E01, place, format!("`{name}` cannot be a variable of the environment"), help);
    } else if name.starts_with(OURS) {
        let message = format!("`{name}` is set by Maestro itself");
        reader.find(FindingCode::E01, place, message, "choose another name");
    }
}

/// A built-in starts no program that could have an environment.
pub(super) fn refuse(fields: &MappingFields<'_>, builtin: BuiltinCommand, reader: &mut DefinitionReader<'_>) {
    for key in ["env", "cwd", "secrets"] {
        if let Some(node) = fields.get(key) {
            let message = format!("`{}` is done by Maestro itself, and has no `{key}`", builtin.word());
            let help =
                if builtin.arguments().contains(&"in") { "name the directory with `in:`" } else { "leave it out" };
            reader.find(FindingCode::E01, node.place, message, help);
        }
    }
}
