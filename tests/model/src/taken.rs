//! What of a request does its answer say again?

use serde::Deserialize;
use serde_json::Value;

use crate::api::Turn;

/// A text that is known by what stands around it.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Between {
    pub(crate) after: String,
    pub(crate) until: String,
}

impl Between {
    /// Looks for it in what was said to the model, from the latest on; tools and the model itself are not heard.
    pub(crate) fn find(&self, turns: &[Turn]) -> Option<String> {
        turns.iter().rev().find_map(|turn| {
            let said = serde_json::from_str(&turn.said).ok()?;
            texts(&said).into_iter().find_map(|text| self.within(text))
        })
    }

    fn within(&self, text: &str) -> Option<String> {
        let (_, rest) = text.split_once(self.after.as_str())?;
        let (found, _) = rest.split_once(self.until.as_str())?;
        Some(found.to_owned())
    }
}

/// What was found in a request, by the name under which a script asks for it.
#[derive(Debug, Default)]
pub(crate) struct Taken(pub(crate) Vec<(String, String)>);

impl Taken {
    /// Puts it in place of each `{{NAME}}`. A name for which nothing was found stays, so that a test sees it.
    pub(crate) fn fill(&self, text: &str) -> String {
        let mut filled = String::new();
        let mut rest = text;
        while let Some((before, named)) = rest.split_once("{{") {
            filled.push_str(before);
            if let Some((value, after)) = self.named(named) {
                filled.push_str(value);
                rest = after;
            } else {
                filled.push_str("{{");
                rest = named;
            }
        }
        filled + rest
    }

    /// The same in every text of a value.
    pub(crate) fn fill_all(&self, value: &mut Value) {
        match value {
            Value::String(text) => *text = self.fill(text),
            Value::Array(list) => list.iter_mut().for_each(|value| self.fill_all(value)),
            Value::Object(map) => map.values_mut().for_each(|value| self.fill_all(value)),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    /// What stands for the name at the beginning of a text, and what comes behind that name.
    fn named<'a>(&self, text: &'a str) -> Option<(&str, &'a str)> {
        let (name, after) = text.split_once("}}")?;
        let (_, value) = self.0.iter().find(|(known, _)| known == name)?;
        Some((value, after))
    }
}

fn texts(value: &Value) -> Vec<&str> {
    match value {
        Value::String(text) => vec![text],
        Value::Array(list) => list.iter().flat_map(texts).collect(),
        Value::Object(map) => map.values().flat_map(texts).collect(),
        Value::Null | Value::Bool(_) | Value::Number(_) => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn said(value: &Value) -> Turn {
        Turn { said: value.to_string(), results: 0 }
    }

    #[test]
    fn the_latest_that_was_said_counts() {
        let ticket = Between { after: "--ticket ".to_owned(), until: " ".to_owned() };
        let old = said(&json!("run it with --ticket a#1 now"));
        let new = said(&json!([{ "type": "text", "text": "\"quoted\"\n--ticket b#2 now" }]));
        assert_eq!(ticket.find(&[old, new, Turn::default()]).as_deref(), Some("b#2"));
        assert_eq!(ticket.find(&[said(&json!("--ticket c#3"))]), None);
    }

    #[test]
    fn names_are_filled_in_once_and_those_that_nobody_said_stay() {
        let taken = Taken(vec![("A".to_owned(), "{{B}}".to_owned()), ("B".to_owned(), "2".to_owned())]);
        assert_eq!(taken.fill("a={{A}} b={{B}} c={{C}} {{B"), "a={{B}} b=2 c={{C}} {{B");
        let mut value = json!({ "cmd": ["{{B}}", 1], "{{B}}": null });
        taken.fill_all(&mut value);
        assert_eq!(value, json!({ "cmd": ["2", 1], "{{B}}": null }));
    }
}
