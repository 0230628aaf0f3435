//! How much of a text by others is shown, and how? Its beginning, with what was left out said, and nothing invisible.

use serde::Serialize;

/// A text as it is shown.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub(super) struct Shown {
    pub(super) text: String,
    /// How many characters were left out at its end.
    pub(super) cut: usize,
}

impl Shown {
    /// The beginning of a text, with everything invisible in it written out.
    pub(super) fn exactly(text: &str, most: usize) -> Self {
        let (head, cut) = beginning(text, most);
        let mut text = String::with_capacity(head.len());
        head.chars().for_each(|c| write_out(c, &mut text));
        Self { text, cut }
    }

    /// The beginning of a text that was made for a terminal: what would colour it there is dropped.
    pub(super) fn printed(text: &str, most: usize) -> Self {
        Self::exactly(&without_escapes(text), most)
    }

    /// Whether nothing was left out.
    pub(super) fn is_whole(&self) -> bool {
        self.cut == 0
    }
}

/// The first characters, and how many there are besides.
fn beginning(text: &str, most: usize) -> (&str, usize) {
    match text.char_indices().nth(most) {
        Some((end, _)) => (&text[..end], text[end..].chars().count()),
        None => (text, 0),
    }
}

/// A character as it is, or its number where it would be invisible or turn around what stands beside it.
fn write_out(c: char, out: &mut String) {
    match c {
        '\n' | '\t' => out.push(c),
        // Lines that end as on another system look the same.
        '\r' => {}
        c if c.is_control() || turns(c) => out.extend(c.escape_unicode()),
        c => out.push(c),
    }
}

/// Whether a character changes the direction of text, or takes no place: by these a command can look like another.
fn turns(c: char) -> bool {
    matches!(c, '\u{61c}' | '\u{200b}' | '\u{200e}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

/// The text without the sequences by which terminals are told of colours, titles and places.
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
        assert_eq!(Shown::exactly("äöü", 2), Shown { text: "äö".to_owned(), cut: 1 });
        assert_eq!(Shown::exactly("äöü", 3), Shown { text: "äöü".to_owned(), cut: 0 });
        assert!(Shown::exactly("", 0).is_whole());
    }

    #[test]
    fn nothing_is_invisible() {
        assert_eq!(Shown::exactly("rm \u{202e}fdp\0\u{1b}[2J\r\n\t.", 99).text, "rm \\u{202e}fdp\\u{0}\\u{1b}[2J\n\t.");
    }

    #[test]
    fn colours_of_a_terminal_are_dropped() {
        let printed = "\u{1b}[31mred\u{1b}[0m \u{1b}]0;title\u{7}end\u{1b}";
        assert_eq!(Shown::printed(printed, 99).text, "red end\\u{1b}");
        assert_eq!(Shown::printed("\u{1b}[", 99).text, "");
    }
}
