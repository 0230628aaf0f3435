//! Insertion and removal of an item in a text, with everything else untouched.

use serde_json::Value as Json;
use thiserror::Error;

use super::settings_item::{ItemMatch, ProgramUpdate, SettingsItem};
use super::{SettingsFormat, json, toml, yaml};

/// The result of putting an item into a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PutResult {
    /// It was there.
    Same,
    /// The text with the item in it.
    Changed(String),
}

/// The result of taking an item out of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RemoveResult {
    /// It was not there.
    NotThere,
    /// Something of that name was there, and is not Maestro's.
    NotOurs,
    /// The text without it.
    Changed(String),
}

/// Why a text cannot be edited. It is left as it is then.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum EditError {
    /// It is not what its name says.
    #[error("line {line}, column {column}: {reason}")]
    Broken {
        /// The line, from 1.
        line: usize,
        /// The column, from 1.
        column: usize,
        /// What is wrong.
        reason: String,
    },
    /// There is something else in the item's place.
    #[error("`{path}` exists and is not from Maestro")]
    Taken {
        /// The keys that lead there.
        path: String,
    },
    /// It says something in a way that cannot be added to.
    #[error("`{path}` is written in a way that cannot be added to or taken from")]
    Shape {
        /// The keys that lead there.
        path: String,
    },
}

/// How one kind of text is read and changed.
pub(super) struct FormatEditor {
    pub(super) value: fn(&str) -> Result<Json, EditError>,
    insert: fn(&str, &SettingsItem) -> Result<String, EditError>,
    /// Puts one word in place of another, and leaves the rest of an item as it is.
    replace: fn(&str, &SettingsItem, &ProgramUpdate) -> Result<String, EditError>,
    remove: fn(&str, &SettingsItem) -> Result<String, EditError>,
    /// Takes out what is empty at the end of some keys, where the kind of text has a way to write that.
    pub(super) remove_empty: fn(&str, &[String]) -> Option<String>,
}

impl FormatEditor {
    pub(super) fn of(format: SettingsFormat) -> Self {
        match format {
            SettingsFormat::Json => Self {
                value: json::value,
                insert: json::insert,
                replace: json::replace,
                remove: json::remove,
                remove_empty: json::remove_empty,
            },
            SettingsFormat::Toml => Self {
                value: toml::value,
                insert: toml::insert,
                replace: toml::replace,
                remove: toml::remove,
                // A table's name brings those around it along, and takes them along.
                remove_empty: |_, _| None,
            },
            SettingsFormat::Yaml => Self {
                value: yaml::value,
                insert: yaml::insert,
                replace: yaml::replace,
                remove: yaml::remove,
                remove_empty: yaml::remove_empty,
            },
        }
    }
}

/// What a text says.
pub(super) fn read(text: &str, format: SettingsFormat) -> Result<Json, EditError> {
    (FormatEditor::of(format).value)(without_mark(text).1)
}

/// Puts an item into a text; one of Maestro's own that is out of date is brought up to date.
pub fn put(text: &str, format: SettingsFormat, item: &SettingsItem) -> Result<PutResult, EditError> {
    let (mark, text) = without_mark(text);
    let hand = FormatEditor::of(format);
    let before = (hand.value)(text)?;
    let (wanted, after) = match item.find(&before).map(|found| (found, item.compare(found))) {
        None => (item.clone(), (hand.insert)(text, item)?),
        Some((_, ItemMatch::Same)) => return Ok(PutResult::Same),
        // All of it is Maestro's own, and may be replaced.
        Some((_, ItemMatch::Outdated)) => (item.clone(), (hand.insert)(&(hand.remove)(text, item)?, item)?),
        Some((_, ItemMatch::Other)) => return Err(EditError::Taken { path: item.shown(item.path.len()) }),
        Some((found, ItemMatch::Stale(fresh))) => {
            (SettingsItem { value: fresh.put_into(found), ..item.clone() }, (hand.replace)(text, item, &fresh)?)
        }
    };
    let is_new = text.trim().is_empty() && wanted.opening.is_some();
    let expected = if is_new { wanted.whole_file() } else { wanted.put_into(&before) };
    let is_right = (hand.value)(&after).is_ok_and(|whole| expected == Some(whole));
    if is_right { Ok(PutResult::Changed(format!("{mark}{after}"))) } else { Err(shape(item)) }
}

/// Takes an item out of a text, if it is Maestro's. What was made around it stays; [`take_out_empty`] is for that.
///
/// [`take_out_empty`]: super::take_out_empty
pub fn take_out(text: &str, format: SettingsFormat, item: &SettingsItem) -> Result<RemoveResult, EditError> {
    let (mark, text) = without_mark(text);
    let hand = FormatEditor::of(format);
    let before = (hand.value)(text)?;
    match item.find(&before) {
        None => return Ok(RemoveResult::NotThere),
        Some(found) if !item.is_ours(found) => return Ok(RemoveResult::NotOurs),
        Some(_) => {}
    }
    let after = (hand.remove)(text, item)?;
    let is_right = (hand.value)(&after)
        .is_ok_and(|whole| item.find(&whole).is_none() && item.rest_of(&before) == item.rest_of(&whole));
    if is_right { Ok(RemoveResult::Changed(format!("{mark}{after}"))) } else { Err(shape(item)) }
}

pub(super) fn shape(item: &SettingsItem) -> EditError {
    EditError::Shape { path: item.shown(item.path.len()) }
}

/// A text and the mark that some editors put in front of it.
pub(super) fn without_mark(text: &str) -> (&str, &str) {
    let rest = text.strip_prefix('\u{feff}').unwrap_or(text);
    text.split_at(text.len() - rest.len())
}

/// How a text ends its lines.
pub(super) fn newline(text: &str) -> &'static str {
    if text.contains("\r\n") { "\r\n" } else { "\n" }
}

/// What is to be added at the end of a text, so that it begins a line of its own, after an empty one.
pub(super) fn gap(text: &str) -> String {
    let newline = newline(text);
    match text {
        "" => String::new(),
        text if text.ends_with('\n') => newline.to_owned(),
        _ => newline.repeat(2),
    }
}
