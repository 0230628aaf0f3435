//! Texts by others, cut to a length, with invisible characters written out.

use maestro_core::excerpt::{ellipsize, split_chars};
use maestro_core::hidden_chars::{find_hidden, is_invisible};
use maestro_core::short_id::random_part;
use serde::Serialize;

/// How much of a hidden message is shown.
const SPELLED: usize = 200;

/// How many characters a short id has, and how many a UUID.
const SHORT_ID: usize = 4;
const UUID: usize = 36;

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

    /// The start of a text made for a terminal, with its colors, which the filter `terminal` shows.
    pub(super) fn colored(text: &str, most: usize) -> Self {
        let (head, cut) = beginning(text, most);
        Self { text: head.to_owned(), cut }
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
        c if is_hidden(c) => out.extend(c.escape_unicode()),
        c => out.push(c),
    }
}

/// Whether a character steers a terminal, changes the direction of text, or cannot be seen: such characters can disguise
/// a command.
fn is_hidden(c: char) -> bool {
    c.is_control() || matches!(c, '\u{2028}' | '\u{2029}') || is_invisible(c)
}

/// A text in which nothing hides, for every place of the page that shows one. Nothing where that is the text itself.
pub(super) fn revealed(text: &str) -> Option<String> {
    let hides = |c: char| is_hidden(c) && !matches!(c, '\n' | '\t' | '\r');
    text.contains(hides).then(|| {
        let mut out = String::with_capacity(text.len());
        text.chars().for_each(|c| write_out(c, &mut out));
        out
    })
}

/// A warning about what hides in a text, if something does.
pub(super) fn hidden_warning(text: &str) -> Option<String> {
    let found = find_hidden(text)?;
    let count =
        if found.count == 1 { "a hidden character".to_owned() } else { format!("{} hidden characters", found.count) };
    match found.spelled.trim() {
        "" => Some(count),
        spelled => Some(format!("{count}, which spell “{}”", ellipsize(spelled, SPELLED))),
    }
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

/// An amount of money: `$.31`, `$4.10`, `under $.01`.
pub(super) fn dollars(amount: f64) -> String {
    let text = format!("{amount:.2}");
    match amount {
        amount if amount < 0.01 => "under $.01".to_owned(),
        amount if amount < 1.0 => format!("${}", text.trim_start_matches('0')),
        _ => format!("${text}"),
    }
}

/// What was spent of what may be: `$.31 of $2`; nothing where nothing was reported.
pub(super) fn spent_of(spent: f64, limit: Option<f64>) -> Option<String> {
    (spent > 0.0).then(|| match limit {
        Some(limit) => format!("{} of {}", dollars(spent), dollars(limit).trim_end_matches(".00")),
        None => dollars(spent),
    })
}

/// Why something stopped, without what its title says already.
pub(super) fn stop_reason(message: &str) -> String {
    let lines = message.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("Stopped at: "));
    let words = lines.collect::<Vec<_>>().join(" ");
    if words.is_empty() { "no reason was given".to_owned() } else { words }
}

/// The beginning of an id's random part, by which commands know it; an id that a caller brought is shown whole.
pub(super) fn short_id(id: &str) -> String {
    random_part(id).map_or_else(|| id.to_owned(), |part| part.chars().take(SHORT_ID).collect())
}

/// A branch, with the short form of the id that ends its name.
pub(super) fn short_branch(name: &str) -> String {
    let at = name.len().checked_sub(UUID).filter(|at| name.is_char_boundary(*at));
    match at.map(|at| name.split_at(at)) {
        Some((head, id)) if random_part(id).is_some() => format!("{head}…{}", short_id(id)),
        _ => name.to_owned(),
    }
}

/// A number with its thousands apart.
pub(super) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_does_not_repeat_the_title() {
        assert_eq!(stop_reason("Stopped at: Export\nThe agent changed nothing\n"), "The agent changed nothing");
        assert_eq!(stop_reason("Stopped at: Export"), "no reason was given");
    }

    #[test]
    fn ids_are_as_short_as_commands_accept_them() {
        let run = "01a1f4f1-e88f-7200-94e3-aed1500448a0";
        assert_eq!(short_id(run), "aed1");
        assert_eq!(short_id("sess_1795110857305_2jobtxh5c"), "2job");
        assert_eq!(short_id("mine"), "mine");
        assert_eq!(short_branch(&format!("maestro/loop-{run}")), "maestro/loop-…aed1");
        for name in
            ["main", "feature/a-branch-with-a-name-that-is-longer-than-an-id", "é-branch-with-a-name-of-some-length"]
        {
            assert_eq!(short_branch(name), name);
        }
    }

    #[test]
    fn numbers_are_grouped_from_the_right() {
        for (number, text) in [(0, "0"), (999, "999"), (1000, "1,000"), (1_234_567, "1,234,567")] {
            assert_eq!(grouped(number), text);
        }
    }

    #[test]
    fn money_is_short() {
        for (amount, text) in [(0.001, "under $.01"), (0.31, "$.31"), (4.1, "$4.10"), (123.456, "$123.46")] {
            assert_eq!(dollars(amount), text);
        }
    }

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
    fn what_hides_is_shown_and_told() {
        let tags = "rm\u{e0068}\u{e0069}";
        assert_eq!(revealed(tags).as_deref(), Some("rm\\u{e0068}\\u{e0069}"));
        assert_eq!(hidden_warning(tags).as_deref(), Some("2 hidden characters, which spell “hi”"));
        assert_eq!(hidden_warning("rm \u{202e}x").as_deref(), Some("a hidden character"));
        for plain in ["", "line\r\nline\t", "naïve 👩‍💻 ✓"] {
            assert_eq!((revealed(plain), hidden_warning(plain)), (None, None), "{plain}");
        }
    }

    #[test]
    fn colours_of_a_terminal_are_dropped() {
        let printed = "\u{1b}[31mred\u{1b}[0m \u{1b}]0;title\u{7}end\u{1b}";
        assert_eq!(DisplayText::printed(printed, 99).text, "red end\\u{1b}");
        assert_eq!(DisplayText::printed("\u{1b}[", 99).text, "");
    }
}
