//! Mapping of plain lines, read without the grammar.
//!
//! Most frontmatter is `key: value` on a line each, with at most one level of mappings below. That much is read here, in
//! the time it takes to look at each byte. At the first sign of anything else this gives up, and the whole grammar decides;
//! what is read here is what the grammar would have read, which a test checks.

use std::borrow::Cow;

use super::{SourcePosition, YamlNode, YamlPair, YamlValue};

/// The longest key that is read here.
const MOST_KEY_BYTES: usize = 128;

/// The mapping that a text is, if it is one of plain lines.
pub(super) fn read(text: &str) -> Option<YamlNode<'_>> {
    let mut lines = PlainLines { rest: text, number: 0 }.peekable();
    let mut pairs = Vec::new();
    while let Some(line) = lines.next() {
        let line = line?;
        if line.indent != 0 {
            return None;
        }
        let value = match scalar(&line)? {
            Some(value) => value,
            None => {
                let first = *lines.peek()?.as_ref()?;
                if first.indent == 0 {
                    return None;
                }
                let mut inner = Vec::new();
                while let Some(Some(next)) =
                    lines.peek().copied().filter(|next| next.is_none_or(|next| next.indent > 0))
                {
                    if next.indent != first.indent {
                        return None;
                    }
                    inner.push(next.pair(scalar(&next)??));
                    lines.next();
                }
                YamlNode { place: first.place(0), value: YamlValue::Map(inner) }
            }
        };
        pairs.push(line.pair(value));
    }
    let place = pairs.first()?.place;
    Some(YamlNode { place, value: YamlValue::Map(pairs) })
}

/// A line with a key.
#[derive(Clone, Copy)]
struct PlainLine<'a> {
    number: usize,
    indent: usize,
    key: &'a str,
    /// How far the value is behind the key.
    gap: usize,
    value: &'a str,
}

impl<'a> PlainLine<'a> {
    /// The place so many bytes behind the key's; all before a value is ASCII.
    fn place(&self, behind: usize) -> SourcePosition {
        SourcePosition { line: self.number, column: self.indent + behind + 1 }
    }

    fn pair(&self, value: YamlNode<'a>) -> YamlPair<'a> {
        YamlPair { key: Cow::Borrowed(self.key), place: self.place(0), value }
    }
}

/// The lines that are not blank; nothing for one that is not plain.
struct PlainLines<'a> {
    rest: &'a str,
    number: usize,
}

impl<'a> Iterator for PlainLines<'a> {
    type Item = Option<PlainLine<'a>>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if self.rest.is_empty() {
                return None;
            }
            let (line, rest) = match self.rest.find('\n') {
                Some(end) => (self.rest.get(..end)?, self.rest.get(end + 1..)?),
                None => (self.rest, ""),
            };
            self.rest = rest;
            self.number += 1;
            if !line.bytes().all(|byte| byte == b' ') {
                return Some(plain_line(line, self.number));
            }
        }
    }
}

fn plain_line(line: &str, number: usize) -> Option<PlainLine<'_>> {
    let content = line.trim_start_matches(' ');
    let indent = line.len() - content.len();
    let is_key = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    let end = content.bytes().position(|byte| !is_key(&byte))?;
    let starts_well = content.as_bytes().first().is_some_and(u8::is_ascii_alphabetic);
    let (key, behind) = content.split_at_checked(end)?;
    let behind = behind.strip_prefix(':')?;
    let value = behind.trim_start_matches(' ');
    let separated = behind.is_empty() || value.len() < behind.len();
    if !starts_well || end > MOST_KEY_BYTES || !separated || !value.chars().all(is_plain_char) {
        return None;
    }
    let gap = key.len() + 1 + behind.len() - value.len();
    Some(PlainLine { number, indent, key, gap, value: value.trim_end_matches(' ') })
}

/// Characters that mean themselves, wherever they stand, as far as lines and encodings go.
fn is_plain_char(char: char) -> bool {
    match char {
        ' '..='~' => true,
        '\0'..='\u{9f}' | '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}' => false,
        _ => true,
    }
}

/// The value of a line: nothing where it ends with its key; nothing at all where it is not plain.
#[expect(clippy::option_option, reason = "no value is not the same as one that cannot be read here")]
fn scalar<'a>(line: &PlainLine<'a>) -> Option<Option<YamlNode<'a>>> {
    let place = line.place(line.gap);
    let text = line.value;
    let Some(first) = text.chars().next() else { return Some(None) };
    let value = match first {
        '"' => quoted(text, '"').filter(|inner| !inner.contains('\\')).map(|inner| YamlValue::Quoted(inner.into()))?,
        '\'' => quoted(text, '\'').map(|inner| YamlValue::Quoted(inner.into()))?,
        '-' | '?' | ':' | ',' | '[' | ']' | '{' | '}' | '#' | '&' | '*' | '!' | '|' | '>' | '%' | '@' | '`' => {
            return None;
        }
        _ if text.contains(": ") || text.contains(" #") || text.ends_with(':') => return None,
        _ => YamlValue::Plain(text.into()),
    };
    Some(Some(YamlNode { place, value }))
}

/// The text between two quotes that has none inside.
fn quoted(text: &str, quote: char) -> Option<&str> {
    let inner = text.strip_prefix(quote)?.strip_suffix(quote)?;
    (!inner.contains(quote)).then_some(inner)
}
