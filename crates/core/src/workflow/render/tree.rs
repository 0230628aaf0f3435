//! Nested values as indented lines, one for each thing that they hold.

use serde_json::Value as Json;

use super::phrases::{lines, one_line};
use crate::workflow::value_type::value_text;

/// How long a list may be that stands on one line.
const MAX_LINE: usize = 80;

/// The lines of a value.
pub(super) fn tree(value: &Json) -> Vec<String> {
    match value {
        Json::Object(fields) if !fields.is_empty() => {
            fields.iter().flat_map(|(name, value)| named(name, value)).collect()
        }
        Json::Array(items) if is_nested(value) => items.iter().flat_map(item).collect(),
        Json::Array(items) if items.is_empty() => vec!["(none)".to_owned()],
        Json::Object(_) => vec!["(none)".to_owned()],
        other => lines(&value_text(other)),
    }
}

/// The lines of a value that has a name: one, or what it holds below the name.
pub(super) fn named(name: &str, value: &Json) -> Vec<String> {
    let name = one_line(name);
    match tree(value).as_slice() {
        [one] if !is_nested(value) => vec![format!("{name}: {one}")],
        many => std::iter::once(format!("{name}:")).chain(many.iter().map(|line| format!("  {line}"))).collect(),
    }
}

/// The lines of a value that is one of several.
pub(super) fn item(value: &Json) -> Vec<String> {
    let mark = |(index, line): (usize, String)| format!("{}{line}", if index == 0 { "- " } else { "  " });
    tree(value).into_iter().enumerate().map(mark).collect()
}

/// Whether a value needs lines of its own.
pub(super) fn is_nested(value: &Json) -> bool {
    match value {
        Json::Object(fields) => !fields.is_empty(),
        Json::Array(items) => {
            let word = |item: &Json| !item.is_array() && !item.is_object() && is_word(&value_text(item));
            !items.iter().all(word) || value_text(value).len() > MAX_LINE
        }
        _ => false,
    }
}

/// Whether it is clear where a text ends when another follows it.
fn is_word(text: &str) -> bool {
    !text.is_empty() && !text.contains(|c: char| c == ',' || c.is_whitespace() || c.is_control())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_inside_a_value_stands_below_it() {
        let gate = json!({
            "reasons": ["check `tests` is not ok", "MUST 1: two\nlines"],
            "checks": [{"step": "tests", "printed": "a\nb", "files": ["a.rs", "b.rs"]}, {"step": "lint"}],
            "none": [], "nothing": {}, "round": 2, "deep": {"er": {"x": true}},
        });
        let expected = "\
gate:
  reasons:
    - check `tests` is not ok
    - MUST 1: two
      lines
  checks:
    - step: tests
      printed:
        a
        b
      files: a.rs, b.rs
    - step: lint
  none: (none)
  nothing: (none)
  round: 2
  deep:
    er:
      x: true";
        assert_eq!(named("gate", &gate).join("\n"), expected);
    }
}
