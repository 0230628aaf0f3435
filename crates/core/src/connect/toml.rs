//! How is a table added to TOML, and taken out again, with everything else kept?

use std::fmt::Write as _;

use serde_json::Value as Json;

use super::edit::{EditError, gap, newline, shape};
use super::item::Item;

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
pub(super) fn insert(text: &str, item: &Item) -> Result<String, EditError> {
    let newline = newline(text);
    let mut fresh = format!("{text}{}[{}]{newline}", gap(text), item.shown(item.path.len()));
    for (key, value) in item.value.as_object().ok_or_else(|| shape(item))? {
        // Text and lists of texts are written alike in JSON and TOML.
        let _ = write!(fresh, "{key} = {value}{newline}");
    }
    Ok(fresh)
}

/// Writes a table anew, at the end.
pub(super) fn replace(text: &str, item: &Item) -> Result<String, EditError> {
    insert(&remove(text, item)?, item)
}

/// Takes a table out, with those below it and the empty line before it.
pub(super) fn remove(text: &str, item: &Item) -> Result<String, EditError> {
    let name = item.shown(item.path.len());
    let is_own = |line: &str| {
        let inner = line.trim().strip_prefix('[').unwrap_or_default();
        inner.strip_prefix(name.as_str()).is_some_and(|rest| rest.starts_with([']', '.']))
    };
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    // A text over several lines may look the same; what Maestro adds comes last.
    let is_header = |line: &&str| line.trim() == format!("[{name}]");
    let first = lines.iter().rposition(is_header).ok_or_else(|| shape(item))?;
    let is_next = |line: &&str| line.trim_start().starts_with('[') && !is_own(line);
    let next = lines[first..].iter().position(is_next).map_or(lines.len(), |length| first + length);
    // What is said above the next table belongs to it.
    let says_nothing = |line: &str| line.trim().is_empty() || line.trim_start().starts_with('#');
    let above = lines[first..next].iter().rev().take_while(|line| says_nothing(line)).count();
    let end = next - above;
    let start = if first > 0 && lines[first - 1].trim().is_empty() { first - 1 } else { first };
    Ok(lines[..start].iter().chain(&lines[end..]).copied().collect())
}
