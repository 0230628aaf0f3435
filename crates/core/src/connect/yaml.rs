//! Edits of mappings in YAML that keep everything else as it is.

use std::fmt::Write as _;

use serde_json::Value as Json;

use super::edit::{EditError, gap, newline, shape};
use super::settings_item::{self, ProgramUpdate, SettingsItem};
use crate::yaml::{self, SourcePosition, YamlNode, YamlPair, YamlValue};

/// What a text says.
pub(super) fn value(text: &str) -> Result<Json, EditError> {
    let broken =
        |place: SourcePosition, reason: String| EditError::Broken { line: place.line, column: place.column, reason };
    let tree = yaml::parse(text).map_err(|error| broken(error.place, error.reason))?;
    match &tree.value {
        YamlValue::Map(_) => Ok(tree.to_json()),
        _ if tree.is_null() => Ok(Json::Object(serde_json::Map::new())),
        _ => Err(broken(tree.place, "the file holds no mapping".to_owned())),
    }
}

/// Adds an entry at the beginning of its mapping, or the mapping at the end of the text.
pub(super) fn insert(text: &str, item: &SettingsItem) -> Result<String, EditError> {
    let [outer, name] = item.path.as_slice() else { return Err(shape(item)) };
    let tree = yaml::parse(text).map_err(|_| shape(item))?;
    let newline = newline(text);
    let Some(pair) = entry(&tree, outer) else {
        let block = block(item, name, "  ", newline).ok_or_else(|| shape(item))?;
        return Ok(format!("{text}{}{outer}:{newline}{block}", gap(text)));
    };
    let at = offset(text, pair.value.place);
    if text[at..].starts_with('{') {
        let comma = if matches!(&pair.value.value, YamlValue::Map(pairs) if pairs.is_empty()) { "" } else { ", " };
        return Ok(format!("{}{}: {}{comma}{}", &text[..=at], Json::from(*name), item.value, &text[at + 1..]));
    }
    let indent = match &pair.value.value {
        YamlValue::Map(pairs) => pairs.first().map_or(2, |first| first.place.column - 1),
        YamlValue::Plain(_) if pair.value.is_null() => pair.place.column + 1,
        _ => return Err(EditError::Shape { path: (*outer).to_owned() }),
    };
    let block = block(item, name, &" ".repeat(indent), newline).ok_or_else(|| shape(item))?;
    let line = offset(text, pair.place);
    let end = text[line..].find('\n').map_or(text.len(), |end| line + end + 1);
    let gap = if text[..end].ends_with('\n') { "" } else { newline };
    Ok(format!("{}{gap}{block}{}", &text[..end], &text[end..]))
}

/// Puts another word into an entry.
pub(super) fn replace(text: &str, item: &SettingsItem, fresh: &ProgramUpdate) -> Result<String, EditError> {
    let tree = yaml::parse(text).map_err(|_| shape(item))?;
    let own = item.path.iter().try_fold(&tree, |node, key| Some(&entry(node, key)?.value));
    let old = own.and_then(|own| match fresh.place {
        settings_item::ProgramPosition::Whole(key) => Some(&entry(own, key)?.value),
        settings_item::ProgramPosition::FirstOf(key) => match &entry(own, key)?.value.value {
            YamlValue::List(words) => words.first(),
            _ => None,
        },
    });
    let old = old.ok_or_else(|| shape(item))?;
    let (before, rest) = text.split_at(offset(text, old.place));
    let length = length(rest, &old.value).ok_or_else(|| shape(item))?;
    Ok(format!("{before}{}{}", Json::from(fresh.word.as_str()), &rest[length..]))
}

/// How many bytes a text on one line takes that stands at the beginning of the rest; none for a text in a block.
fn length(rest: &str, value: &YamlValue<'_>) -> Option<usize> {
    match value {
        YamlValue::Plain(said) => rest.starts_with(&**said).then_some(said.len()),
        YamlValue::Quoted(_) => {
            let quote = rest.chars().next().filter(|first| matches!(first, '"' | '\''))?;
            let mut ends = rest.match_indices(quote).skip(1).map(|(at, quote)| at + quote.len());
            // Of all the quotes, the last one is where what is before it means the same by itself.
            ends.find(|end| yaml::parse(&rest[..*end]).is_ok_and(|alone| alone.value == *value))
        }
        YamlValue::List(_) | YamlValue::Map(_) => None,
    }
}

/// Takes an entry out. A mapping that has no other stays, as an empty one.
pub(super) fn remove(text: &str, item: &SettingsItem) -> Result<String, EditError> {
    let [outer, name] = item.path.as_slice() else { return Err(shape(item)) };
    let tree = yaml::parse(text).map_err(|_| shape(item))?;
    let holder = entry(&tree, outer).ok_or_else(|| shape(item))?;
    let own = entry(&holder.value, name).ok_or_else(|| shape(item))?;
    if text[offset(text, holder.value.place)..].starts_with('{') {
        return remove_in_line(text, offset(text, own.place)).ok_or_else(|| shape(item));
    }
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let first = own.place.line - 1;
    let column = own.place.column - 1;
    let is_below = |line: &&str| line.trim().is_empty() || line.len() - line.trim_start().len() > column;
    let below = lines[first + 1..].iter().take_while(|line| is_below(line)).count();
    // Empty lines at its end part it from what follows.
    let block = &lines[first..=first + below];
    let length = block.len() - block.iter().rev().take_while(|line| line.trim().is_empty()).count();
    let rest = lines[first + length..].concat();
    let mut before = lines[..first].concat();
    if matches!(&holder.value.value, YamlValue::Map(pairs) if pairs.len() == 1) {
        // A key with nothing below it would mean nothing at all, which is no mapping.
        let key = offset(text, holder.place);
        let colon = text[key..].find(':').ok_or_else(|| shape(item))?;
        before.insert_str(key + colon + 1, " {}");
    }
    Ok(before + &rest)
}

/// Takes an empty mapping that has a line for itself out, with the empty line before it.
pub(super) fn remove_empty(text: &str, keys: &[String]) -> Option<String> {
    let [key] = keys else { return None };
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let own = lines.iter().position(|line| line.trim_end() == format!("{key}: {{}}"))?;
    let start = if own > 0 && lines[own - 1].trim().is_empty() { own - 1 } else { own };
    Some(lines[..start].iter().chain(&lines[own + 1..]).copied().collect())
}

/// Takes an entry that is written as JSON out of a mapping in braces.
fn remove_in_line(text: &str, at: usize) -> Option<String> {
    let value = at + text[at..].find(": ")? + 2;
    let mut values = serde_json::Deserializer::from_str(&text[value..]).into_iter::<Json>();
    values.next()?.ok()?;
    let rest = &text[value + values.byte_offset()..];
    Some(format!("{}{}", &text[..at], rest.strip_prefix(", ").unwrap_or(rest)))
}

fn entry<'a, 'b>(node: &'b YamlNode<'a>, key: &str) -> Option<&'b YamlPair<'a>> {
    match &node.value {
        YamlValue::Map(pairs) => pairs.iter().find(|pair| pair.key == key),
        _ => None,
    }
}

/// An entry over several lines; each value is written as JSON, which YAML understands.
fn block(item: &SettingsItem, name: &str, indent: &str, newline: &str) -> Option<String> {
    let mut text = format!("{indent}{name}:{newline}");
    for (key, value) in item.value.as_object()? {
        let _ = write!(text, "{indent}  {key}: {value}{newline}");
    }
    Some(text)
}

/// Where a place is in a text, in bytes.
fn offset(text: &str, place: SourcePosition) -> usize {
    let line: usize = text.split_inclusive('\n').take(place.line - 1).map(str::len).sum();
    let within = text[line..].char_indices().nth(place.column - 1).map_or(text.len() - line, |(at, _)| at);
    line + within
}
