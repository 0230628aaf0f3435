//! Free text on the command line: a sentence stays one, also if it begins with a dash.
//!
//! The parser takes `-h is gone` for the option `-h`. So a dash at the start of a sentence is hidden from it, and
//! [`free_text`] shows it again.

use std::convert::Infallible;
use std::ffi::OsString;

/// Stands before a hidden dash; Unicode keeps it free for private use.
const MARK: char = '\u{e000}';

/// The arguments with the dashes of sentences hidden: no option has a blank before its value.
pub(super) fn hide_dashes(arguments: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let hide = |argument: OsString| match argument.to_str() {
        Some(text) if is_sentence(text) => format!("{MARK}{text}").into(),
        _ => argument,
    };
    arguments.map(hide).collect()
}

fn is_sentence(text: &str) -> bool {
    let blank = text.find(char::is_whitespace);
    text.starts_with('-') && blank.is_some_and(|blank| text.find('=').is_none_or(|value| blank < value))
}

/// The text of an argument as it was typed.
#[expect(clippy::unnecessary_wraps, reason = "the parser wants a result")]
pub(super) fn free_text(text: &str) -> Result<String, Infallible> {
    Ok(show_dashes(text))
}

/// A text in which hidden dashes are shown again.
pub(super) fn show_dashes(text: &str) -> String {
    text.replace(MARK, "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sentences_are_told_from_options() {
        let hidden = |text: &str| hide_dashes([OsString::from(text)].into_iter())[0] != *text;
        for sentence in ["-h is gone", "--json is read\nnow", "- a list", "-x y=z"] {
            assert!(hidden(sentence), "{sentence}");
        }
        for option in ["-h", "--json", "--prompt=two words", "--prompt=two words = three", "words", "-1", ""] {
            assert!(!hidden(option), "{option}");
        }
    }
}
