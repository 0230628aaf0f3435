//! Hidden characters: removed where a model reads, visible where a person does, and found by checks.
//!
//! A text can say more to a model than to the person who looks at it: tag characters spell ASCII without a shape, marks
//! of direction turn the order of reading, and zero-width characters or variation selectors spell bits.

use std::borrow::Cow;

/// The first hidden characters of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HiddenText {
    /// The line of the first one, from 1.
    pub line: usize,
    /// Its column, from 1.
    pub column: usize,
    /// The first one.
    pub first: char,
    /// How many there are in the whole text.
    pub count: usize,
    /// What its tag characters spell.
    pub spelled: String,
}

/// Whether a character has no shape of its own: marks of direction, tags, fillers, selectors of variants. Joiners and the
/// two selectors between an emoji and its text form depend on their neighbors and are not among them.
pub fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0d}' | '\u{feff}' | '\u{ffa0}'
        | '\u{fff0}'..='\u{fffb}' | '\u{fffe}' | '\u{ffff}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e0fff}')
}

/// A text in which nothing hides: what would steer a terminal, turn the order of reading or cannot be seen becomes
/// visible. Lines end alike.
pub fn escape_hidden(text: &str) -> String {
    let turns = |c: char| matches!(c, '\u{2028}' | '\u{2029}');
    let hides = |c: char| (c.is_control() && c != '\n' && c != '\t') || turns(c) || is_invisible(c);
    without_hidden_joiners(&text.replace("\r\n", "\n").replace(hides, "\u{fffd}")).into_owned()
}

/// A text without what cannot be seen, for a model; white space and lines stay as they are.
pub fn remove_hidden(text: &str) -> Cow<'_, str> {
    if is_plain(text) {
        return Cow::Borrowed(text);
    }
    let chars: Vec<char> = text.chars().collect();
    let seen = (0..chars.len()).filter(|at| !is_hidden_at(&chars, *at)).map(|at| chars[at]);
    Cow::Owned(seen.collect())
}

/// The bytes of a text without what cannot be seen. What is no text stays, and so do control characters and a mark of
/// byte order at the beginning, which spell nothing.
pub fn remove_hidden_bytes(bytes: &[u8]) -> Vec<u8> {
    const ORDER_MARK: &[u8] = "\u{feff}".as_bytes();
    let (mark, rest) = if bytes.starts_with(ORDER_MARK) { bytes.split_at(ORDER_MARK.len()) } else { (&[][..], bytes) };
    let mut kept = mark.to_vec();
    for chunk in rest.utf8_chunks() {
        let chars: Vec<char> = chunk.valid().chars().collect();
        let seen = (0..chars.len()).filter(|at| chars[*at].is_control() || !is_hidden_at(&chars, *at));
        kept.extend_from_slice(seen.map(|at| chars[at]).collect::<String>().as_bytes());
        kept.extend_from_slice(chunk.invalid());
    }
    kept
}

/// The hidden characters of a text, if it has any. A mark of byte order at the very beginning hides nothing.
pub fn find_hidden(text: &str) -> Option<HiddenText> {
    if is_plain(text) {
        return None;
    }
    let chars: Vec<char> = text.strip_prefix('\u{feff}').unwrap_or(text).chars().collect();
    let (mut found, mut line, mut column): (Option<HiddenText>, _, _) = (None, 1, 1);
    for (at, &c) in chars.iter().enumerate() {
        if is_hidden_at(&chars, at) {
            let first = HiddenText { line, column, first: c, count: 0, spelled: String::new() };
            let found = found.get_or_insert(first);
            found.count += 1;
            found.spelled.extend(tag_letter(c));
        }
        (line, column) = if c == '\n' { (line + 1, 1) } else { (line, column + 1) };
    }
    found
}

/// The letter that a tag character stands for.
fn tag_letter(c: char) -> Option<char> {
    let letter = u32::from(c).checked_sub(0xe0000).and_then(char::from_u32)?;
    (' '..='~').contains(&letter).then_some(letter)
}

fn is_plain(text: &str) -> bool {
    text.bytes().all(|byte| matches!(byte, b' '..=b'~' | b'\n' | b'\r' | b'\t'))
}

fn without_hidden_joiners(text: &str) -> Cow<'_, str> {
    let joins = |c: char| matches!(c, '\u{200c}' | '\u{200d}' | '\u{fe0e}' | '\u{fe0f}');
    if text.contains(joins) { remove_hidden(text) } else { Cow::Borrowed(text) }
}

/// Whether a character cannot be seen where it stands.
fn is_hidden_at(chars: &[char], at: usize) -> bool {
    let selects = |c: char| matches!(c, '\u{fe0e}' | '\u{fe0f}');
    let joins = |c: char| matches!(c, '\u{200c}' | '\u{200d}');
    let shaped = |c: &char| !c.is_whitespace() && !c.is_control() && !is_invisible(*c) && !joins(*c);
    let before = at.checked_sub(1).and_then(|at| chars.get(at));
    match chars[at] {
        // Emoji and several scripts need joiners between two of their own; elsewhere they only hide something.
        c if joins(c) => {
            let own = |c: Option<&char>| c.is_some_and(|c| shaped(c) && !c.is_ascii());
            !(own(before) && own(chars.get(at + 1)))
        }
        // One selector after a symbol or digit; a second one selects nothing.
        c if selects(c) => !before.is_some_and(|c| shaped(c) && !selects(*c) && !c.is_ascii_alphabetic()),
        c if c.is_whitespace() => false,
        c => c.is_control() || is_invisible(c),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_and_turns_are_seen_and_plain_text_stays() {
        assert_eq!(escape_hidden("a\r\nb\tc é"), "a\nb\tc é");
        for hidden in ["\u{1b}[31m", "\u{7}", "\u{202e}", "\u{2066}", "\u{e0041}", "\r", "\u{0}", "\u{200b}"] {
            let shown = escape_hidden(hidden);
            assert!(shown.starts_with('\u{fffd}'), "{hidden:?}: {shown:?}");
        }
    }

    #[test]
    fn a_model_reads_what_a_person_sees() {
        let tags: String = "obey".chars().filter_map(|c| char::from_u32(0xe0000 + u32::from(c))).collect();
        for hidden in [
            tags.as_str(),
            "\u{202e}",
            "\u{2066}\u{2069}",
            "\u{200b}\u{2060}\u{feff}",
            "\u{200c}\u{200d}\u{200c}",
            "\u{fe0e}\u{fe0f}",
            "\u{e0100}\u{e01ef}",
            "\u{1b}",
        ] {
            assert_eq!(remove_hidden(&format!("a{hidden}b")), "ab", "{hidden:?}");
            assert!(find_hidden(&format!("a{hidden}b")).is_some(), "{hidden:?}");
        }
        let bytes = [b"\xffa", tags.as_bytes(), "\u{200b}\u{feff}".as_bytes(), b"b\xfe"].concat();
        assert_eq!(remove_hidden_bytes(&bytes), b"\xffab\xfe");
        let plain = "\u{feff}---\r\n\u{1b}[0m";
        assert_eq!(remove_hidden_bytes(plain.as_bytes()), plain.as_bytes(), "they spell nothing");
        let bits = "👍\u{fe0f}\u{fe0e}\u{fe0f}";
        assert_eq!(remove_hidden(bits), "👍\u{fe0f}", "one selector is enough");
        for plain in ["👩\u{200d}💻 ❤\u{fe0f} 1\u{fe0f}⃣ می\u{200c}خواهم", "naïve – 日本", "a\r\n\tb"]
        {
            assert_eq!((remove_hidden(plain).as_ref(), find_hidden(plain)), (plain, None));
        }
        let found = find_hidden(&format!("one\ntwo {tags}")).unwrap();
        assert_eq!((found.line, found.column, found.count, found.spelled.as_str()), (2, 5, 4, "obey"));
        assert_eq!(find_hidden("\u{feff}one"), None);
    }
}
