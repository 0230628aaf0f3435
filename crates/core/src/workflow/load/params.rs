//! Declarations of parameters, variables and the fields of results.

use serde_json::Value as Json;

use super::DefinitionReader;
use crate::workflow::definition::{StepWork, Variable, WorkflowStep};
use crate::workflow::finding::FindingCode;
use crate::workflow::name::Name;
use crate::workflow::value_type::{MAX_OUTPUT, MAX_VALUE, ResultField, ValueType};
use crate::yaml::{YamlNode, YamlPair, YamlValue};

pub(super) const KEYS: &[&str] = &[
    "type",
    "values",
    "fields",
    "default",
    "required",
    "max_length",
    "allow_leading_dash",
    "append",
    "exists",
    "description",
];

/// The declared parameters or variables.
pub(super) fn read<'t>(node: Option<&'t YamlNode<'t>>, what: &str, reader: &mut DefinitionReader<'_>) -> Vec<Variable> {
    let Some(node) = node else { return Vec::new() };
    let mut found: Vec<Variable> = Vec::new();
    for pair in reader.pairs(node, &format!("`{what}`")) {
        found.extend(variable(pair, reader));
    }
    found
}

fn variable(pair: &YamlPair<'_>, reader: &mut DefinitionReader<'_>) -> Option<Variable> {
    let name = reader.name_at(&pair.key, pair.place)?;
    let (kind, declared) = declaration(&pair.value, reader)?;
    let mut variable = Variable {
        name,
        place: pair.place,
        kind,
        default: None,
        required: false,
        max_length: MAX_VALUE,
        allow_leading_dash: false,
        exists: false,
        description: None,
    };
    let Some(fields) = declared else { return Some(variable) };
    variable.required = reader.flag_of(fields.get("required"));
    variable.allow_leading_dash = reader.flag_of(fields.get("allow_leading_dash"));
    variable.exists = reader.flag_of(fields.get("exists"));
    if variable.exists && variable.kind != ValueType::Path {
        reader.find(FindingCode::E10, pair.place, "only a path can be required to exist", "declare it as `type: path`");
    }
    variable.description = reader.text_of(fields.get("description"));
    if let Some(bytes) = fields.get("max_length").and_then(|node| reader.limit(node, 1024 * 1024)) {
        variable.max_length = bytes as usize;
    }
    variable.default = default(fields.get("default"), &variable.name, &variable.kind, variable.max_length, reader);
    Some(variable)
}

/// The default of a declaration, if it fits its type.
fn default(
    node: Option<&YamlNode<'_>>,
    name: &Name,
    kind: &ValueType,
    max_length: usize,
    reader: &mut DefinitionReader<'_>,
) -> Option<Json> {
    let node = node?;
    match kind.admit(node.to_json(), max_length) {
        Ok(value) => Some(value),
        Err(unfit) => {
            let help = format!("`{name}` is declared as {}", kind.word());
            reader.find(FindingCode::E10, node.place, format!("the default does not fit: {unfit}"), help);
            None
        }
    }
}

/// The type of a declaration, which is a word or a mapping.
fn declaration<'t>(
    node: &'t YamlNode<'t>,
    reader: &mut DefinitionReader<'_>,
) -> Option<(ValueType, Option<super::definition_reader::MappingFields<'t>>)> {
    if !matches!(node.value, YamlValue::Map(_)) {
        return word(node, None, reader).map(|kind| (kind, None));
    }
    let fields = reader.fields(node, "a declaration", KEYS);
    let Some(named) = fields.get("type") else {
        reader.find(FindingCode::E01, node.place, "the type is missing", "add `type: string` or another type");
        return None;
    };
    Some((word(named, Some(&fields), reader)?, Some(fields)))
}

fn word(
    node: &YamlNode<'_>,
    fields: Option<&super::definition_reader::MappingFields<'_>>,
    reader: &mut DefinitionReader<'_>,
) -> Option<ValueType> {
    let word = reader.word(node, "type", &ValueType::WORDS.map(|word| (word, word)))?;
    let inner = |key| fields.and_then(|fields| fields.get(key));
    Some(match word {
        "int" => ValueType::Int,
        "bool" => ValueType::Bool,
        "list" => ValueType::List(self::fields(inner("fields"), reader)),
        "path" => ValueType::Path,
        "enum" => {
            let values = reader.texts_of(inner("values"));
            if values.is_empty() {
                reader.find(FindingCode::E01, node.place, "an enum needs its values", "add `values: [a, b]`");
            }
            ValueType::Enum(values)
        }
        "object" => ValueType::Object(self::fields(inner("fields"), reader)),
        _ => ValueType::Text,
    })
}

/// The typed fields of a result or an object.
pub(super) fn fields<'t>(node: Option<&'t YamlNode<'t>>, reader: &mut DefinitionReader<'_>) -> Vec<ResultField> {
    let Some(node) = node else { return Vec::new() };
    let mut found = Vec::new();
    for pair in reader.pairs(node, "this") {
        let name = reader.name_at(&pair.key, pair.place);
        let Some((name, (kind, declared))) = name.zip(declaration(&pair.value, reader)) else { continue };
        let get = |key| declared.as_ref().and_then(|fields| fields.get(key));
        let append = reader.flag_of(get("append"));
        if append && !matches!(kind, ValueType::List(_)) {
            reader.find(FindingCode::E10, pair.place, "only a list can be appended to", "declare it as `type: list`");
        }
        let description = reader.text_of(get("description"));
        let max_length = get("max_length").and_then(|node| reader.limit(node, 1024 * 1024));
        let max_length = max_length.map_or(MAX_OUTPUT, |bytes| bytes as usize);
        let default = default(get("default"), &name, &kind, max_length, reader);
        found.push(ResultField { name, kind, append, max_length, default, description });
    }
    found
}

/// `store:` declares a variable by itself: text, or a list where lines or several answers are kept.
pub(super) fn add_stored(variables: &mut Vec<Variable>, steps: &[WorkflowStep]) {
    use crate::workflow::definition::OutputParsing;
    for step in steps {
        let Some((name, place)) = &step.store else { continue };
        if variables.iter().any(|variable| variable.name == *name) {
            continue;
        }
        let kind = match &step.work {
            StepWork::Command { parse: OutputParsing::Lines, .. } => ValueType::List(Vec::new()),
            StepWork::Command { parse: OutputParsing::Json, .. } => ValueType::Object(Vec::new()),
            StepWork::Question(question) if question.multiple => ValueType::List(Vec::new()),
            _ => ValueType::Text,
        };
        variables.push(Variable {
            name: name.clone(),
            place: *place,
            kind,
            default: None,
            required: false,
            max_length: if matches!(step.work, StepWork::Command { .. }) { MAX_OUTPUT } else { MAX_VALUE },
            allow_leading_dash: false,
            exists: false,
            description: None,
        });
    }
}
