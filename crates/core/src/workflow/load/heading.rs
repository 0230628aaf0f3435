//! Top-level keys of a definition: name, requirements, roles, validators, templates, resources.

use std::collections::BTreeMap;

use super::{Reader, by_name, command};
use crate::workflow::definition::{Placed, Requires, Resource, ResourceSource, Role, Validator};
use crate::workflow::finding::FindingCode;
use crate::workflow::name::Name;
use crate::workflow::template::Template;
use crate::workflow::tool::{Capability, Tool};
use crate::yaml::{Node, Place};

/// The language's version: there is one.
pub(super) fn language(node: Option<&Node<'_>>, reader: &mut Reader<'_>) {
    if let Some(node) = node.filter(|node| node.text() != Some("1")) {
        reader.find(FindingCode::E01, node.place, "this version of the language is unknown", "write `workflow: 1`");
    }
}

/// The workflow's name; a slash sets the part of a skill apart.
pub(super) fn name(node: Option<&Node<'_>>, top: Place, reader: &mut Reader<'_>) -> String {
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
pub(super) fn compatibility(node: Option<&Node<'_>>, tool: Option<&Tool>, reader: &mut Reader<'_>) -> Vec<String> {
    let listed = reader.texts_of(node);
    let fits = |tool: &Tool| listed.is_empty() || listed.iter().any(|name| name == "any" || *name == tool.name);
    if let (Some(node), Some(tool)) = (node, tool.filter(|tool| !fits(tool))) {
        let message = format!("it was made for {}, not for {}", listed.join(", "), tool.name);
        let help = format!("add `{}` to `compatibility` once it was tried there", tool.name);
        reader.find(FindingCode::W05, node.place, message, help);
    }
    listed
}

pub(super) fn requires(node: Option<&Node<'_>>, reader: &mut Reader<'_>) -> Requires {
    let Some(node) = node else { return Requires::default() };
    let fields = reader.fields(node, "`requires`", &["commands", "capabilities"]);
    let known = Capability::ALL.map(|capability| (capability.word(), capability));
    let mut capabilities = Vec::new();
    if let Some(node) = fields.get("capabilities") {
        for item in reader.items(node, "`capabilities`") {
            let word = reader.word(item, "capability", &known);
            capabilities.extend(word.map(|capability| (capability, item.place)));
        }
    }
    Requires { commands: reader.texts_of(fields.get("commands")), capabilities }
}

/// The entries of a mapping from names to something.
fn named<'t, T>(
    node: Option<&'t Node<'t>>,
    what: &str,
    reader: &mut Reader<'_>,
    mut read: impl FnMut(&'t Node<'t>, Place, &mut Reader<'_>) -> Option<T>,
) -> BTreeMap<Name, T> {
    let Some(node) = node else { return BTreeMap::new() };
    let mut found = Vec::new();
    for pair in reader.pairs(node, what) {
        let name = reader.name_at(&pair.key, pair.place);
        found.extend(name.zip(read(&pair.value, pair.place, reader)));
    }
    by_name(found)
}

pub(super) fn roles<'t>(node: Option<&'t Node<'t>>, reader: &mut Reader<'_>) -> BTreeMap<Name, Role> {
    named(node, "`roles`", reader, |node, place, reader| {
        if node.is_null() {
            return Some(Role { place, model: None });
        }
        let fields = reader.fields(node, "a role", &["model"]);
        Some(Role { place, model: reader.text_of(fields.get("model")) })
    })
}

pub(super) fn validators<'t>(node: Option<&'t Node<'t>>, reader: &mut Reader<'_>) -> BTreeMap<Name, Validator> {
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
        command::action(node, reader).map(|action| Validator { place, action })
    })
}

pub(super) fn templates<'t>(node: Option<&'t Node<'t>>, reader: &mut Reader<'_>) -> BTreeMap<Name, Placed<Template>> {
    named(node, "`templates`", reader, |node, _, reader| reader.template(node))
}

pub(super) fn resources<'t>(node: Option<&'t Node<'t>>, reader: &mut Reader<'_>) -> BTreeMap<Name, Resource> {
    named(node, "`resources`", reader, |node, place, reader| {
        let fields = reader.fields(node, "a resource", &["file", "convention"]);
        let file = reader.text_of(fields.get("file")).map(ResourceSource::File);
        let convention = reader.text_of(fields.get("convention")).map(ResourceSource::Convention);
        if file.is_some() == convention.is_some() {
            let help = "write `file: PATH` or `convention: NAME`";
            reader.find(FindingCode::E01, place, "a resource comes from one file or one convention", help);
        }
        file.or(convention).map(|source| Resource { place, source, text: String::new() })
    })
}
