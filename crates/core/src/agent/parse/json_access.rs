//! Access to the fields of an agent's JSON.

use serde_json::Value as Json;

/// The text of this name.
pub(super) fn text<'j>(json: &'j Json, key: &str) -> Option<&'j str> {
    json.get(key)?.as_str()
}

/// The same, as a text of its own.
pub(super) fn owned(json: &Json, key: &str) -> Option<String> {
    text(json, key).map(str::to_owned)
}

/// The number of this name; some agents write whole numbers as fractions.
pub(super) fn number(json: &Json, key: &str) -> Option<u64> {
    let value = json.get(key)?;
    value.as_u64().or_else(|| value.as_f64().filter(|number| *number >= 0.0).map(whole))
}

/// The status of this name.
pub(super) fn status(json: &Json, key: &str) -> Option<u16> {
    json.get(key)?.as_u64()?.try_into().ok()
}

/// The amount of money of this name; zero counts as unknown.
pub(super) fn money(json: &Json, key: &str) -> Option<f64> {
    json.get(key)?.as_f64().filter(|amount| *amount > 0.0)
}

/// The items of this name; none, if there are none.
pub(super) fn items<'j>(json: &'j Json, key: &str) -> &'j [Json] {
    json.get(key).and_then(Json::as_array).map_or(&[], Vec::as_slice)
}

/// The words of something that is a text, or a list of parts with a `text` each.
pub(super) fn words(json: &Json) -> String {
    match json {
        Json::String(text) => text.clone(),
        Json::Array(parts) => {
            let texts: Vec<&str> = parts.iter().filter_map(|part| text(part, "text")).collect();
            texts.join("\n")
        }
        Json::Null => String::new(),
        other => other.to_string(),
    }
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is positive, and a cast saturates")]
fn whole(number: f64) -> u64 {
    number.round() as u64
}
