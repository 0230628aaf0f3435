//! Escaping of foreign text for a prompt's markup.
//!
//! Characters that mean something to the markup are escaped; invisible ones are left out, so that a
//! description cannot say more to a model than to the person who looks at it.

use std::fmt::Write as _;
use std::path::Path;

/// Text on one line, without what cannot be seen.
pub(super) fn one_line(text: &str) -> String {
    visible(text).split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Text that keeps its lines, without what cannot be seen.
pub(super) fn lines(text: &str) -> String {
    let kept: String = visible(text).chars().filter(|&c| !c.is_control() || matches!(c, '\n' | '\t')).collect();
    kept.trim().to_owned()
}

/// A path, absolute and escaped. What cannot be seen is written as its number, so that the path stays what it is.
pub(super) fn path(path: &Path) -> String {
    let mut escaped = String::new();
    for c in path.to_string_lossy().chars() {
        if c.is_control() || is_invisible(c) {
            let _ = write!(escaped, "&#x{:X};", u32::from(c));
        } else {
            push(c, "&#x27;", &mut escaped);
        }
    }
    escaped
}

/// Text for XML.
pub(super) fn xml(text: &str) -> String {
    escape(text, "&apos;")
}

/// Text for XML, as Python's `html.escape` writes it.
pub(super) fn html(text: &str) -> String {
    escape(text, "&#x27;")
}

fn escape(text: &str, apostrophe: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        push(c, apostrophe, &mut escaped);
    }
    escaped
}

fn push(c: char, apostrophe: &str, escaped: &mut String) {
    match c {
        '&' => escaped.push_str("&amp;"),
        '<' => escaped.push_str("&lt;"),
        '>' => escaped.push_str("&gt;"),
        '"' => escaped.push_str("&quot;"),
        '\'' => escaped.push_str(apostrophe),
        _ => escaped.push(c),
    }
}

/// How long a character is once it is escaped, either way.
pub(super) fn bytes(c: char) -> usize {
    match c {
        '<' | '>' => 4,
        '&' => 5,
        '"' | '\'' => 6,
        _ => c.len_utf8(),
    }
}

/// The text without what cannot be seen; white space stays.
pub(super) fn visible(text: &str) -> String {
    if text.bytes().all(|byte| matches!(byte, b' '..=b'~' | b'\n' | b'\t')) {
        return text.to_owned();
    }
    let chars: Vec<char> = text.chars().collect();
    let letter = |index: Option<usize>| index.and_then(|index| chars.get(index)).is_some_and(char::is_ascii_alphabetic);
    let seen = chars.iter().enumerate().filter(|&(index, &c)| match c {
        // Emoji and several scripts need the joiners; between two Latin letters they only hide something.
        '\u{200c}' | '\u{200d}' => !(letter(index.checked_sub(1)) && letter(Some(index + 1))),
        _ if c.is_whitespace() => true,
        _ => !c.is_control() && !is_invisible(c),
    });
    seen.map(|(_, &c)| c).collect()
}

/// Characters without a shape of their own: marks of direction, tags, fillers, selectors of variants. The two
/// selectors that choose between an emoji and its text form are not among them.
fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0d}' | '\u{feff}' | '\u{ffa0}'
        | '\u{fff0}'..='\u{fffb}' | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_description_becomes_one_visible_line() {
        assert_eq!(one_line("  two\r\n lines\tand\u{1b}[31m more\u{7} "), "two lines and[31m more");
        assert_eq!(one_line("a\u{e0041}b\u{202e}c\u{200b}d\u{feff}e\u{e0101}f"), "abcdef");
        assert_eq!(one_line("x\u{200d}y"), "xy");
        assert_eq!(one_line("👩\u{200d}💻 ❤\u{fe0f} می\u{200c}خواهم"), "👩\u{200d}💻 ❤\u{fe0f} می\u{200c}خواهم");
    }

    #[test]
    fn lines_stay_where_the_format_keeps_them() {
        assert_eq!(lines("\n one\r\n\ttwo\u{0}\n"), "one\n\ttwo");
    }

    #[test]
    fn markup_in_a_value_is_text() {
        assert_eq!(
            xml("</description><skill> & \"it's\""),
            "&lt;/description&gt;&lt;skill&gt; &amp; &quot;it&apos;s&quot;"
        );
        assert_eq!(html("it's"), "it&#x27;s");
        for c in ['<', '>', '&', '"', '\'', 'ä'] {
            assert_eq!((bytes(c), bytes(c)), (xml(&c.to_string()).len(), html(&c.to_string()).len()));
        }
        assert_eq!(path(Path::new("/a<b/c\nd/e&f")), "/a&lt;b/c&#xA;d/e&amp;f");
    }
}
