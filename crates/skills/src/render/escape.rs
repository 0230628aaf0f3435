//! Escaping of foreign text for a prompt's markup.
//!
//! Characters that mean something to the markup are escaped; invisible ones are left out, so that a
//! description cannot say more to a model than to the person who looks at it.

use std::fmt::Write as _;
use std::path::Path;

use maestro_core::hidden_chars::{is_invisible, remove_hidden};

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
    remove_hidden(text).into_owned()
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
