//! Declarations of parameters, variables and the fields of results.

use serde_json::Value as Json;

use super::DefinitionReader;
use super::definition_reader::MappingFields;
use crate::workflow::definition::{StepWork, Variable, WorkflowStep};
use crate::workflow::finding::FindingCode;
use crate::workflow::name::Name;
use crate::workflow::text_pattern::TextPattern;
use crate::workflow::value_type::{InvalidValue, MAX_OUTPUT, MAX_VALUE, ResultField, ValueLimits, ValueType};
use crate::yaml::{YamlNode, YamlPair, YamlValue};

pub(super) const KEYS: &[&str] = &[
    "type",
    "values",
    "fields",
    "pattern",
    "min",
    "max",
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
        limits: ValueLimits::default(),
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
    variable.limits = limits(&variable.kind, &fields, reader);
    variable.default = default(fields.get("default"), &variable.name, &variable, reader);
    Some(variable)
}

/// A declaration that values are checked against.
trait ValueDeclaration {
    fn admit(&self, value: Json) -> Result<Json, InvalidValue>;
    fn kind(&self) -> &ValueType;
}

impl ValueDeclaration for Variable {
    fn admit(&self, value: Json) -> Result<Json, InvalidValue> {
        self.admit(value)
    }

    fn kind(&self) -> &ValueType {
        &self.kind
    }
}

impl ValueDeclaration for ResultField {
    fn admit(&self, value: Json) -> Result<Json, InvalidValue> {
        self.admit(value)
    }

    fn kind(&self) -> &ValueType {
        &self.kind
    }
}

/// What values must keep to beside their type.
fn limits(kind: &ValueType, fields: &MappingFields<'_>, reader: &mut DefinitionReader<'_>) -> ValueLimits {
    let measured = matches!(kind, ValueType::Int | ValueType::Number | ValueType::Text | ValueType::List(_));
    let bound = |key: &str, reader: &mut DefinitionReader<'_>| {
        let node = fields.get(key)?;
        if !measured {
            let message = format!("{} has no `{key}`", kind.describe());
            reader.find(FindingCode::E10, node.place, message, "numbers, texts and lists have one");
            return None;
        }
        let number = node.text().and_then(|text| text.parse::<i64>().ok());
        if number.is_none() {
            reader.find(FindingCode::E10, node.place, "this is no whole number", "write a number such as 5");
        }
        number
    };
    let (min, max) = (bound("min", reader), bound("max", reader));
    if let (Some(least), Some(most), Some(node)) = (min, max, fields.get("max"))
        && least > most
    {
        let message = format!("nothing is at least {least} and at most {most}");
        reader.find(FindingCode::E10, node.place, message, "exchange `min` and `max`");
    }
    ValueLimits { pattern: pattern(kind, fields.get("pattern"), reader), min, max }
}

fn pattern(kind: &ValueType, node: Option<&YamlNode<'_>>, reader: &mut DefinitionReader<'_>) -> Option<TextPattern> {
    let node = node?;
    let is_text = match kind {
        ValueType::List(fields) => fields.is_empty(),
        kind => *kind == ValueType::Text,
    };
    if !is_text {
        let message = format!("{} has no `pattern`", kind.describe());
        reader.find(FindingCode::E10, node.place, message, "only a string, or a list of strings, has one");
        return None;
    }
    let text = reader.text(node)?;
    match TextPattern::parse(&text) {
        Ok(pattern) => Some(pattern),
        Err(bad) => {
            let place = reader.place_at(node, &text, bad.at);
            let help = "a pattern looks like `[A-Z]{2,4}-\\d+`, and is about the whole text";
            reader.find(FindingCode::E10, place, bad.reason, help);
            None
        }
    }
}

/// The default of a declaration, if it fits its type.
fn default(
    node: Option<&YamlNode<'_>>,
    name: &Name,
    declared: &impl ValueDeclaration,
    reader: &mut DefinitionReader<'_>,
) -> Option<Json> {
    let node = node?;
    match declared.admit(node.to_json()) {
        Ok(value) => Some(value),
        Err(unfit) => {
            let help = format!("`{name}` is declared as {}", declared.kind().word());
            reader.find(FindingCode::E10, node.place, format!("the default does not fit: {unfit}"), help);
            None
        }
    }
}

/// The type of a declaration, which is a word or a mapping.
fn declaration<'t>(
    node: &'t YamlNode<'t>,
    reader: &mut DefinitionReader<'_>,
) -> Option<(ValueType, Option<MappingFields<'t>>)> {
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
    fields: Option<&MappingFields<'_>>,
    reader: &mut DefinitionReader<'_>,
) -> Option<ValueType> {
    let word = reader.word(node, "type", &ValueType::WORDS.map(|word| (word, word)))?;
    let inner = |key| fields.and_then(|fields| fields.get(key));
    if let Some(node) = inner("fields").filter(|_| word != "list" && word != "object") {
        let message = format!("a value of type `{word}` has no `fields`");
        reader.find_at_start(FindingCode::E10, node.place, message, "objects and lists have some");
    }
    if let Some(node) = inner("values").filter(|_| word != "enum") {
        let message = format!("a value of type `{word}` has no `values`");
        reader.find_at_start(FindingCode::E10, node.place, message, "write `type: enum`");
    }
    Some(match word {
        "int" => ValueType::Int,
        "number" => ValueType::Number,
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
        let limits = declared.as_ref().map(|fields| limits(&kind, fields, reader)).unwrap_or_default();
        let mut field = ResultField { name, kind, append, max_length, limits, default: None, description };
        field.default = default(get("default"), &field.name, &field, reader);
        if field.default.is_none() && get("required").is_some_and(|node| !reader.flag_of(Some(node))) {
            field.default = Some(field.kind.empty());
        }
        found.push(field);
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
            _ if step.branches.is_some() => ValueType::List(Vec::new()),
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
            max_length: if step.branches.is_some() || matches!(step.work, StepWork::Command { .. }) {
                MAX_OUTPUT
            } else {
                MAX_VALUE
            },
            limits: ValueLimits::default(),
            allow_leading_dash: false,
            exists: false,
            description: None,
        });
    }
}
