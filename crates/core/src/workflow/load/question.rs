//! Own fields of `question` steps.

use std::collections::BTreeMap;

use super::{DefinitionReader, command};
use crate::workflow::definition::{AnswerCheck, QuestionOptions, QuestionStep, StepWork};
use crate::workflow::finding::FindingCode;
use crate::workflow::name::StepOutcome;
use crate::workflow::template::ValueReference;
use crate::yaml::{SourcePosition, YamlNode, YamlValue};

/// The own fields of a `question` step.
pub(super) const KEYS: &[&str] = &["prompt", "options", "default", "multiple", "validate"];

pub(super) fn work(
    fields: &super::definition_reader::MappingFields<'_>,
    place: SourcePosition,
    reader: &mut DefinitionReader<'_>,
) -> Option<StepWork> {
    let prompt = reader.template_of(fields.get("prompt"));
    if fields.get("prompt").is_none() {
        reader.find(FindingCode::E01, place, "the question asks nothing", "add `prompt:`");
    }
    let mut titles = BTreeMap::new();
    let options = match fields.get("options") {
        Some(node) => options(node, &mut titles, reader),
        None => Some(QuestionOptions::Free),
    };
    let default = reader.template_of(fields.get("default"));
    if let (Some(QuestionOptions::Listed(options)), Some(default)) = (&options, &default)
        && default.value.is_literal()
        && !options.contains(&default.text)
    {
        let help = format!("it can be {}", options.join(", "));
        reader.find(FindingCode::E17, default.place, format!("the default `{}` is no option", default.text), help);
    }
    let multiple = reader.flag_of(fields.get("multiple"));
    let validate = fields.get("validate").and_then(|node| validate(node, reader));
    Some(StepWork::Question(Box::new(QuestionStep {
        prompt: prompt?,
        options: options?,
        titles,
        default,
        multiple,
        validate,
    })))
}

/// The options as they are written: each a text, or `{value, title}`.
fn written_options(
    node: &YamlNode<'_>,
    titles: &mut BTreeMap<String, String>,
    reader: &mut DefinitionReader<'_>,
) -> Vec<String> {
    let YamlValue::List(items) = &node.value else { return reader.texts(node) };
    let mut listed = Vec::new();
    for item in items {
        if !matches!(item.value, YamlValue::Map(_)) {
            listed.extend(reader.text(item));
            continue;
        }
        let fields = reader.fields(item, "an option", &["value", "title"]);
        let Some(value) = reader.text_of(fields.get("value")) else {
            reader.find(FindingCode::E17, item.place, "the option has no value", "write `{value: yes, title: Do it}`");
            continue;
        };
        if let Some(title) = reader.text_of(fields.get("title")) {
            if titles.values().any(|other| *other == title) {
                reader.find_at_start(
                    FindingCode::E17,
                    item.place,
                    format!("two options are called `{title}`"),
                    "name one of them otherwise",
                );
            }
            titles.insert(value.clone(), title);
        }
        listed.push(value);
    }
    listed
}

fn options(
    node: &YamlNode<'_>,
    titles: &mut BTreeMap<String, String>,
    reader: &mut DefinitionReader<'_>,
) -> Option<QuestionOptions> {
    if !matches!(node.value, YamlValue::Map(_)) {
        let listed = written_options(node, titles, reader);
        return listed_options(listed, node.place, reader);
    }
    let fields = reader.fields(node, "`options`", &["type", "command", "source", "list"]);
    if let Some(node) = fields.get("list") {
        let listed = written_options(node, titles, reader);
        return listed_options(listed, node.place, reader);
    }
    let kinds = [("command", OptionsKind::Command), ("variable", OptionsKind::Variable)];
    let kind = fields.get("type").and_then(|node| reader.word(node, "kind of options", &kinds));
    match (kind, fields.get("command"), fields.get("source")) {
        (Some(OptionsKind::Command), Some(node), _) => command::action(node, reader).map(QuestionOptions::Command),
        (Some(OptionsKind::Variable), _, Some(node)) => {
            let text = reader.text(node)?;
            match ValueReference::parse(text.trim_matches(['{', '}'])) {
                Ok(reference) => Some(QuestionOptions::Variable(reference, node.place)),
                Err(reason) => {
                    reader.find(FindingCode::E17, node.place, reason, "write `source: name` with the name of a list");
                    None
                }
            }
        }
        _ => {
            let help = "write a list, `{type: command, command: …}` or `{type: variable, source: …}`";
            reader.find(FindingCode::E17, node.place, "these options come from nowhere", help);
            None
        }
    }
}

#[derive(Clone, Copy)]
enum OptionsKind {
    Command,
    Variable,
}

fn listed_options(
    listed: Vec<String>,
    place: SourcePosition,
    reader: &mut DefinitionReader<'_>,
) -> Option<QuestionOptions> {
    if listed.is_empty() {
        reader.find(FindingCode::E17, place, "there are no options", "leave `options` out for a free text");
        return None;
    }
    for (index, option) in listed.iter().enumerate() {
        if listed[..index].contains(option) {
            reader.find(FindingCode::E17, place, format!("`{option}` can be chosen twice"), "keep one of them");
        }
    }
    let taken = [StepOutcome::DECLINED, StepOutcome::CANCELLED];
    for option in listed.iter().filter(|option| taken.iter().any(|outcome| outcome.as_str() == *option)) {
        let message = format!("`{option}` is the outcome of the step when there is no answer");
        reader.find(FindingCode::E17, place, message, "call the option otherwise");
    }
    Some(QuestionOptions::Listed(listed))
}

fn validate(node: &YamlNode<'_>, reader: &mut DefinitionReader<'_>) -> Option<AnswerCheck> {
    if !matches!(node.value, YamlValue::Map(_)) {
        return reader.name(node).map(|(name, place)| AnswerCheck::Named(name, place));
    }
    let fields = reader.fields(node, "`validate`", &["type", "values"]);
    fields.get("type").and_then(|node| reader.word(node, "way to check", &[("enum", ())]));
    let values = reader.texts_of(fields.get("values"));
    if values.is_empty() {
        reader.find(FindingCode::E17, node.place, "no answer would be good", "add `values: [a, b]`");
        return None;
    }
    Some(AnswerCheck::OneOf(values))
}
