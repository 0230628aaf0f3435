//! Reading of tools from TOML.

use std::collections::BTreeMap;

use super::{CodingTool, RoleAgent, ToolCapability, ToolMarker};
use crate::toml_table::{TableMistake, TableReader, TomlEntry, TomlValue};
use crate::workflow::name::Name;
use crate::workflow::render::RenderForm;

const KEYS: [&str; 7] = ["directory", "skills", "form", "can", "detect", "roles", "models"];

/// Adds what a text says to what is known.
pub(super) fn add(text: &str, tools: &mut Vec<CodingTool>) -> Vec<TableMistake> {
    let help = "a tool is a table such as `[claude]` with lines `key = value`";
    TableReader::read(text, help, |reader, entry| tool(reader, entry, tools))
}

fn tool(reader: &mut TableReader<'_>, entry: &TomlEntry<'_, '_>, tools: &mut Vec<CodingTool>) {
    let Some(fields) = reader.named_table("a tool", entry) else { return };
    let (name, at, _) = entry;
    if *name == CodingTool::unknown().name {
        let help = "give the tool a name, and say by which variable it is known";
        return reader.add_mistake(*at, format!("`{name}` is the reserved name of an unknown tool"), help);
    }
    let known = tools.iter().position(|tool| tool.name == *name).unwrap_or_else(|| {
        tools.push(CodingTool { name: name.clone(), capabilities: [].into(), ..CodingTool::unknown() });
        tools.len() - 1
    });
    for (key, value) in fields {
        field(reader, &mut tools[known], key.get_ref(), key.span().start, value);
    }
}

fn field(reader: &mut TableReader<'_>, tool: &mut CodingTool, key: &str, at: usize, value: &TomlValue<'_>) {
    match key {
        "directory" => tool.directory = reader.string(key, value).or(tool.directory.take()),
        "skills" => {
            let listed = reader.strings(key, value);
            tool.skills =
                listed.map_or_else(|| tool.skills.clone(), |texts| texts.into_iter().map(|(text, _)| text).collect());
        }
        "form" => {
            let words = RenderForm::ALL.map(RenderForm::as_str);
            let word = reader.string(key, value);
            let form =
                word.and_then(|word| reader.word(value.span().start, "form", &word, &words, RenderForm::from_word));
            tool.form = form.unwrap_or(tool.form);
        }
        "can" => {
            let words = ToolCapability::ALL.map(ToolCapability::as_str);
            if let Some(listed) = reader.strings(key, value) {
                let parsed = listed
                    .iter()
                    .filter_map(|(word, at)| reader.word(*at, "capability", word, &words, ToolCapability::from_word));
                tool.capabilities = parsed.collect();
            }
        }
        "detect" => {
            if let Some(listed) = reader.strings(key, value) {
                tool.signs = listed.iter().filter_map(|(text, at)| sign(reader, text, *at)).collect();
            }
        }
        "roles" => tool.roles.extend(roles(reader, value)),
        "models" => {
            let models = reader.table(key, value).unwrap_or_default().into_iter();
            let read = models.filter_map(|(word, _, value)| Some((word, reader.string("a model", value)?)));
            tool.models.extend(read.collect::<BTreeMap<_, _>>());
        }
        other => reader.unknown(at, "a tool", other, &KEYS),
    }
}

fn sign(reader: &mut TableReader<'_>, text: &str, at: usize) -> Option<ToolMarker> {
    let sign = ToolMarker::parse(text);
    if sign.is_none() {
        reader.add_mistake(at, format!("`{text}` is not a variable"), "write `NAME` or `NAME=VALUE`");
    }
    sign
}

fn roles(reader: &mut TableReader<'_>, value: &TomlValue<'_>) -> BTreeMap<Name, RoleAgent> {
    let mut roles = BTreeMap::new();
    for (role, at, value) in reader.table("roles", value).unwrap_or_default() {
        let Ok(name) = Name::parse(&role) else {
            reader.add_mistake(at, format!("`{role}` cannot be a role"), "use letters, digits, `-` and `_`");
            continue;
        };
        let Some(fields) = reader.table(&role, value) else { continue };
        let mut player = RoleAgent::default();
        for (key, at, value) in fields {
            match key.as_str() {
                "agent" => player.agent = reader.string("agent", value),
                "model" => player.model = reader.string("model", value),
                other => reader.add_mistake(at, format!("a role has no `{other}`"), "a role has `agent` and `model`"),
            }
        }
        roles.insert(name, player);
    }
    roles
}
