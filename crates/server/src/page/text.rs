//! Texts by others, cut to a length, with invisible characters written out.

use maestro_core::excerpt::split_chars;
use serde::Serialize;

/// A text to show.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub(super) struct DisplayText {
    pub(super) text: String,
    /// How many characters were cut at its end.
    pub(super) cut: usize,
}

impl DisplayText {
    /// The start of a text, with invisible characters written out.
    pub(super) fn exactly(text: &str, most: usize) -> Self {
        let (head, cut) = beginning(text, most);
        let mut text = String::with_capacity(head.len());
        head.chars().for_each(|c| write_out(c, &mut text));
        Self { text, cut }
    }

    /// The start of a text made for a terminal: color sequences are dropped.
    pub(super) fn printed(text: &str, most: usize) -> Self {
        Self::exactly(&without_escapes(text), most)
    }

    /// Whether nothing was cut.
    pub(super) fn is_whole(&self) -> bool {
        self.cut == 0
    }
}

/// The first characters, and how many more there are.
fn beginning(text: &str, most: usize) -> (&str, usize) {
    let (head, rest) = split_chars(text, most);
    (head, rest.chars().count())
}

/// The character itself, or its code point where it is invisible or changes the direction of text.
fn write_out(c: char, out: &mut String) {
    match c {
        '\n' | '\t' => out.push(c),
        // CRLF line ends look the same.
        '\r' => {}
        c if c.is_control() || is_bidi(c) => out.extend(c.escape_unicode()),
        c => out.push(c),
    }
}

/// Whether a character changes the direction of text, or has no width: such characters can disguise a command.
fn is_bidi(c: char) -> bool {
    matches!(c, '\u{61c}' | '\u{200b}' | '\u{200e}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

/// The text without terminal escape sequences.
fn without_escapes(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        if c != '\u{1b}' {
            plain.push(c);
            continue;
        }
        match rest.next_if(|c| matches!(c, '[' | ']')) {
            Some('[') => while rest.next().is_some_and(|c| !matches!(c, '@'..='~')) {},
            Some(_) => {
                while rest.next_if(|c| !matches!(c, '\u{7}' | '\u{1b}' | '\n')).is_some() {}
                rest.next_if_eq(&'\u{7}');
            }
            None if rest.next_if_eq(&'\\').is_some() => {}
            None => plain.push(c),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_cut_is_counted_in_characters() {
        assert_eq!(DisplayText::exactly("äöü", 2), DisplayText { text: "äö".to_owned(), cut: 1 });
        assert_eq!(DisplayText::exactly("äöü", 3), DisplayText { text: "äöü".to_owned(), cut: 0 });
        assert!(DisplayText::exactly("", 0).is_whole());
    }

    #[test]
    fn nothing_is_invisible() {
        assert_eq!(
            DisplayText::exactly("rm \u{202e}fdp\0\u{1b}[2J\r\n\t.", 99).text,
            "rm \\u{202e}fdp\\u{0}\\u{1b}[2J\n\t."
        );
    }

    #[test]
    fn colours_of_a_terminal_are_dropped() {
        let printed = "\u{1b}[31mred\u{1b}[0m \u{1b}]0;title\u{7}end\u{1b}";
        assert_eq!(DisplayText::printed(printed, 99).text, "red end\\u{1b}");
        assert_eq!(DisplayText::printed("\u{1b}[", 99).text, "");
    }
}
