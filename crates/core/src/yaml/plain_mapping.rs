//! Mapping of plain lines, read without the grammar.
//!
//! Most frontmatter is `key: value` on a line each, with at most one level of mappings or lists below. That much is read here, in
//! the time it takes to look at each byte. At the first sign of anything else this gives up, and the whole grammar decides;
//! what is read here is what the grammar would have read, which a test checks.

use std::borrow::Cow;
use std::iter::Peekable;

use super::{SourcePosition, YamlNode, YamlPair, YamlValue};

/// The longest key that is read here.
const MOST_KEY_BYTES: usize = 128;

/// The mapping that a text is, if it is one of plain lines.
pub(super) fn read(text: &str) -> Option<YamlNode<'_>> {
    let mut lines = PlainLines { rest: text, number: 0 }.peekable();
    let mut pairs = Vec::new();
    while let Some(line) = lines.next() {
        let line = line?;
        if line.indent != 0 || line.key.is_none() {
            return None;
        }
        let value = match scalar(&line)? {
            Some(value) => value,
            None => below(&mut lines)?,
        };
        pairs.push(line.pair(value)?);
    }
    let place = pairs.first()?.place;
    Some(YamlNode { place, value: YamlValue::Map(pairs) })
}

/// The mapping or list below a key without a value.
fn below<'a>(lines: &mut Peekable<PlainLines<'a>>) -> Option<YamlNode<'a>> {
    let first = (*lines.peek()?)?;
    // Items may begin where their key does, and nothing else may.
    let belongs = |line: &PlainLine<'_>| line.indent > 0 || line.key.is_none();
    if !belongs(&first) {
        return None;
    }
    let (mut pairs, mut items) = (Vec::new(), Vec::new());
    while let Some(line) = lines.peek().copied() {
        let line = line?;
        if !belongs(&line) {
            break;
        }
        if line.indent != first.indent || line.key.is_some() != first.key.is_some() {
            return None;
        }
        let value = scalar(&line)??;
        match line.key {
            Some(_) => pairs.push(line.pair(value)?),
            None => items.push(value),
        }
        lines.next();
    }
    let value = if first.key.is_some() { YamlValue::Map(pairs) } else { YamlValue::List(items) };
    // The grammar sees a list that is not indented only at its first item.
    let place = if first.indent == 0 { first.place(first.gap) } else { first.place(0) };
    Some(YamlNode { place, value })
}

/// A line with a key, or with an item of a list.
#[derive(Clone, Copy)]
struct PlainLine<'a> {
    number: usize,
    indent: usize,
    /// The key; nothing for an item.
    key: Option<&'a str>,
    /// How far the value is behind the beginning.
    gap: usize,
    value: &'a str,
}

impl<'a> PlainLine<'a> {
    /// The place so many bytes behind the beginning; all before a value is ASCII.
    fn place(&self, behind: usize) -> SourcePosition {
        SourcePosition { line: self.number, column: self.indent + behind + 1 }
    }

    fn pair(&self, value: YamlNode<'a>) -> Option<YamlPair<'a>> {
        Some(YamlPair { key: Cow::Borrowed(self.key?), place: self.place(0), value })
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
    let (key, behind) = if let Some(behind) = content.strip_prefix('-') {
        (None, behind)
    } else {
        let (key, behind) = content.split_once(':')?;
        (Some(key).filter(|key| is_plain_key(key))?.into(), behind)
    };
    let value = behind.trim_start_matches(' ');
    let separated = behind.is_empty() || value.len() < behind.len();
    if !separated || !value.chars().all(is_plain_char) {
        return None;
    }
    let gap = content.len() - value.len();
    Some(PlainLine { number, indent, key, gap, value: value.trim_end_matches(' ') })
}

fn is_plain_key(key: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    key.len() <= MOST_KEY_BYTES && key.starts_with(|first: char| first.is_ascii_alphabetic()) && key.bytes().all(inner)
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
