//! Tables and lists that were created around an item, and their removal.

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::SettingsFormat;
use super::edit::{EditError, FormatEditor, read, without_mark};
use super::settings_item::{ItemSlot, SettingsItem};

/// A table or a list that was made so that an item has a place: the keys that lead to it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CreatedParents(Vec<String>);

/// What is missing in a text around items that are to be put into it, the outermost first.
pub fn missing_parents(
    text: &str,
    format: SettingsFormat,
    items: &[SettingsItem],
) -> Result<Vec<CreatedParents>, EditError> {
    let whole = read(text, format)?;
    let mut missing = Vec::new();
    for item in items {
        let outer = match item.slot {
            ItemSlot::Member => item.path.len() - 1,
            ItemSlot::Hook | ItemSlot::PlainHook => item.path.len(),
        };
        for length in 1..=outer {
            let keys = CreatedParents(item.path[..length].iter().map(|key| (*key).to_owned()).collect());
            if keys.find(&whole).is_none() && !missing.contains(&keys) {
                missing.push(keys);
            }
        }
    }
    Ok(missing)
}

/// A text without what was made around items, as far as nothing is in it any more.
pub fn take_out_empty(text: &str, format: SettingsFormat, made: &[CreatedParents]) -> String {
    let (mark, text) = without_mark(text);
    // What is in something else goes before it.
    let rest = made.iter().rev().fold(text.to_owned(), |text, keys| keys.remove_from(&text, format).unwrap_or(text));
    format!("{mark}{rest}")
}

impl CreatedParents {
    fn find<'a>(&self, whole: &'a Json) -> Option<&'a Json> {
        self.0.iter().try_fold(whole, |value, key| value.get(key))
    }

    /// A text without it, if it is there and empty, and can be taken out without anything else being touched.
    fn remove_from(&self, text: &str, format: SettingsFormat) -> Option<String> {
        let hand = FormatEditor::of(format);
        let mut rest = (hand.value)(text).ok()?;
        let is_empty = match self.find(&rest)? {
            Json::Object(entries) => entries.is_empty(),
            Json::Array(list) => list.is_empty(),
            _ => false,
        };
        if !is_empty {
            return None;
        }
        let (last, way) = self.0.split_last()?;
        let holder = way.iter().try_fold(&mut rest, |value, key| value.get_mut(key))?;
        holder.as_object_mut()?.remove(last);
        let after = (hand.remove_empty)(text, &self.0)?;
        (hand.value)(&after).is_ok_and(|whole| whole == rest).then_some(after)
    }
}
