//! Top-level keys of a definition: name, requirements, roles, validators, templates, resources.

use std::collections::BTreeMap;

use super::{DefinitionReader, by_name, command};
use crate::workflow::definition::{
    AnswerValidator, PlacedValue, ResourceSource, TextResource, WorkflowRequirements, WorkflowRole,
};
use crate::workflow::finding::FindingCode;
use crate::workflow::name::Name;
use crate::workflow::template::Template;
use crate::workflow::tool::{CodingTool, ToolCapability};
use crate::yaml::{SourcePosition, YamlNode};

/// The language's version: there is one.
pub(super) fn language(node: Option<&YamlNode<'_>>, reader: &mut DefinitionReader<'_>) {
    if let Some(node) = node.filter(|node| node.text() != Some("1")) {
        reader.find(FindingCode::E01, node.place, "this version of the language is unknown", "write `workflow: 1`");
    }
}

/// The workflow's name; a slash sets the part of a skill apart.
pub(super) fn name(node: Option<&YamlNode<'_>>, top: SourcePosition, reader: &mut DefinitionReader<'_>) -> String {
    let Some(node) = node else {
        reader.find(FindingCode::E01, top, "the workflow has no name", "add `name:`");
        return String::new();
    };
    let text = reader.text(node).unwrap_or_default();
    for part in text.split('/') {
        reader.name_at(part, node.place);
    }
    text
}

/// The tools it was made for. Another one may do all the same, so that is no error.
pub(super) fn compatibility(
    node: Option<&YamlNode<'_>>,
    tool: Option<&CodingTool>,
    reader: &mut DefinitionReader<'_>,
) -> Vec<String> {
    let listed = reader.texts_of(node);
    let fits = |tool: &CodingTool| listed.is_empty() || listed.iter().any(|name| name == "any" || *name == tool.name);
    if let (Some(node), Some(tool)) = (node, tool.filter(|tool| !fits(tool))) {
        let message = format!("it was made for {}, not for {}", listed.join(", "), tool.name);
        let help = format!("add `{}` to `compatibility` once it was tried there", tool.name);
        reader.find(FindingCode::W05, node.place, message, help);
    }
    listed
}

pub(super) fn requires(node: Option<&YamlNode<'_>>, reader: &mut DefinitionReader<'_>) -> WorkflowRequirements {
    let Some(node) = node else { return WorkflowRequirements::default() };
    let fields = reader.fields(node, "`requires`", &["commands", "capabilities"]);
    let known = ToolCapability::ALL.map(|capability| (capability.as_str(), capability));
    let mut capabilities = Vec::new();
    if let Some(node) = fields.get("capabilities") {
        for item in reader.items(node, "`capabilities`") {
            let word = reader.word(item, "capability", &known);
            capabilities.extend(word.map(|capability| (capability, item.place)));
        }
    }
    WorkflowRequirements { commands: reader.texts_of(fields.get("commands")), capabilities }
}

/// The entries of a mapping from names to something.
fn named<'t, T>(
    node: Option<&'t YamlNode<'t>>,
    what: &str,
    reader: &mut DefinitionReader<'_>,
    mut read: impl FnMut(&'t YamlNode<'t>, SourcePosition, &mut DefinitionReader<'_>) -> Option<T>,
) -> BTreeMap<Name, T> {
    let Some(node) = node else { return BTreeMap::new() };
    let mut found = Vec::new();
    for pair in reader.pairs(node, what) {
        let name = reader.name_at(&pair.key, pair.place);
        found.extend(name.zip(read(&pair.value, pair.place, reader)));
    }
    by_name(found)
}

pub(super) fn roles<'t>(
    node: Option<&'t YamlNode<'t>>,
    reader: &mut DefinitionReader<'_>,
) -> BTreeMap<Name, WorkflowRole> {
    named(node, "`roles`", reader, |node, place, reader| {
        if node.is_null() {
            return Some(WorkflowRole { place, model: None });
        }
        let fields = reader.fields(node, "a role", &["model"]);
        Some(WorkflowRole { place, model: reader.text_of(fields.get("model")) })
    })
}

pub(super) fn validators<'t>(
    node: Option<&'t YamlNode<'t>>,
    reader: &mut DefinitionReader<'_>,
) -> BTreeMap<Name, AnswerValidator> {
    named(node, "`validators`", reader, |node, place, reader| {
        let fields = reader.fields(node, "a validator", &["command"]);
        let Some(node) = fields.get("command") else {
            reader.find(
                FindingCode::E01,
                place,
                "the validator has no command",
                "add `command:` with `{answer}` in it",
            );
            return None;
        };
        command::action(node, reader).map(|action| AnswerValidator { place, action })
    })
}

pub(super) fn templates<'t>(
    node: Option<&'t YamlNode<'t>>,
    reader: &mut DefinitionReader<'_>,
) -> BTreeMap<Name, PlacedValue<Template>> {
    named(node, "`templates`", reader, |node, place, reader| {
        // One with mistakes is there all the same: who shows it has made none.
        let unreadable = || PlacedValue { value: Template::default(), place, text: String::new() };
        Some(reader.template(node).unwrap_or_else(unreadable))
    })
}

pub(super) fn resources<'t>(
    node: Option<&'t YamlNode<'t>>,
    reader: &mut DefinitionReader<'_>,
) -> BTreeMap<Name, TextResource> {
    named(node, "`resources`", reader, |node, place, reader| {
        let fields = reader.fields(node, "a resource", &["file", "convention", "section"]);
        let file = reader.text_of(fields.get("file")).map(ResourceSource::File);
        let convention = reader.text_of(fields.get("convention")).map(ResourceSource::Convention);
        if file.is_some() == convention.is_some() {
            let help = "write `file: PATH` or `convention: NAME`";
            reader.find(FindingCode::E01, place, "a resource comes from one file or one convention", help);
        }
        let section = reader.template_of(fields.get("section"));
        file.or(convention).map(|source| TextResource { place, source, section, text: String::new() })
    })
}
