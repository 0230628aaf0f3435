//! Edits of TOML that keep everything else as it is.

use std::fmt::Write as _;
use std::ops::Range;

use serde_json::Value as Json;
use toml::de::{DeTable, DeValue};

use super::edit::{EditError, gap, newline, shape};
use super::settings_item::{ProgramPosition, ProgramUpdate, SettingsItem};

/// What a text says.
pub(super) fn value(text: &str) -> Result<Json, EditError> {
    toml::from_str(text).map_err(|error| {
        let before = &text[..error.span().map_or(0, |span| span.start).min(text.len())];
        let line_start = before.rfind('\n').map_or(0, |end| end + 1);
        EditError::Broken {
            line: before.matches('\n').count() + 1,
            column: before[line_start..].chars().count() + 1,
            reason: error.message().to_owned(),
        }
    })
}

/// Adds a table at the end.
pub(super) fn insert(text: &str, item: &SettingsItem) -> Result<String, EditError> {
    let newline = newline(text);
    let mut fresh = format!("{text}{}[{}]{newline}", gap(text), item.shown(item.path.len()));
    for (key, value) in item.value.as_object().ok_or_else(|| shape(item))? {
        // Text and lists of texts are written alike in JSON and TOML.
        let _ = write!(fresh, "{key} = {value}{newline}");
    }
    Ok(fresh)
}

/// Puts another word into a table.
pub(super) fn replace(text: &str, item: &SettingsItem, fresh: &ProgramUpdate) -> Result<String, EditError> {
    let old = span(text, item, fresh.place).ok_or_else(|| shape(item))?;
    // A text is written alike in JSON and TOML.
    Ok(format!("{}{}{}", &text[..old.start], Json::from(fresh.word.as_str()), &text[old.end..]))
}

/// Where a word of a table stands, in whatever way the table is written.
fn span(text: &str, item: &SettingsItem, place: ProgramPosition) -> Option<Range<usize>> {
    let whole = DeValue::Table(DeTable::parse(text).ok()?.into_inner());
    let own = item.path.iter().try_fold(&whole, |value, key| Some(value.get(*key)?.get_ref()))?;
    match place {
        ProgramPosition::Whole(key) => Some(own.get(key)?.span()),
        ProgramPosition::FirstOf(key) => Some(own.get(key)?.get_ref().get(0)?.span()),
    }
}

/// Takes a table out, with those below it and the empty line before it.
pub(super) fn remove(text: &str, item: &SettingsItem) -> Result<String, EditError> {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    // A text over several lines may look the same; what Maestro adds comes last.
    let first =
        lines.iter().rposition(|line| headed(line, item) == Some(TableHeader::Own)).ok_or_else(|| shape(item))?;
    let is_next = |line: &&str| line.trim_start().starts_with('[') && headed(line, item).is_none();
    let next = lines[first..].iter().position(is_next).map_or(lines.len(), |length| first + length);
    // What is said above the next table belongs to it.
    let says_nothing = |line: &str| line.trim().is_empty() || line.trim_start().starts_with('#');
    let above = lines[first..next].iter().rev().take_while(|line| says_nothing(line)).count();
    let end = next - above;
    let start = if first > 0 && lines[first - 1].trim().is_empty() { first - 1 } else { first };
    Ok(lines[..start].iter().chain(&lines[end..]).copied().collect())
}

/// Which table a line begins, as far as an item is concerned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TableHeader {
    /// The item's.
    Own,
    /// One inside the item's.
    Below,
}

/// Read as TOML by itself, since a header may have blanks, quotes and a comment.
fn headed(line: &str, item: &SettingsItem) -> Option<TableHeader> {
    let whole = value(line).ok().filter(|_| line.trim_start().starts_with('['))?;
    match item.find(&whole)?.as_object() {
        Some(table) if table.is_empty() => Some(TableHeader::Own),
        _ => Some(TableHeader::Below),
    }
}
