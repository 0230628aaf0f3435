//! Mapping of plain lines, read without the grammar.
//!
//! Most frontmatter is `key: value` on a line each, with at most one level of mappings or lists below, a list of words in
//! brackets, or a block of text. That much is read here, in the time it takes to look at each byte. At the first sign of anything
//! else this gives up, and the whole grammar decides; what is read here is what the grammar would have read, which a test checks.

use std::borrow::Cow;

use super::{SourcePosition, YamlNode, YamlPair, YamlValue};

/// The longest key that is read here.
const MOST_KEY_BYTES: usize = 128;

/// The mapping that a text is, if it is one of plain lines.
pub(super) fn read(text: &str) -> Option<YamlNode<'_>> {
    let mut lines = PlainLines { rest: text, number: 0 };
    let mut pairs = Vec::new();
    while let Some(line) = lines.next() {
        let line = line?;
        if line.indent != 0 || line.key.is_none() {
            return None;
        }
        let value = match block_style(line.value) {
            Some(style) => lines.block(style)?,
            None => match scalar(&line)? {
                Some(value) => value,
                None => below(&mut lines)?,
            },
        };
        pairs.push(line.pair(value)?);
    }
    let place = pairs.first()?.place;
    Some(YamlNode { place, value: YamlValue::Map(pairs) })
}

/// The mapping or list below a key without a value.
fn below<'a>(lines: &mut PlainLines<'a>) -> Option<YamlNode<'a>> {
    let first = lines.clone().next()??;
    // Items may begin where their key does, and nothing else may.
    let belongs = |line: &PlainLine<'_>| line.indent > 0 || line.key.is_none();
    if !belongs(&first) {
        return None;
    }
    let (mut pairs, mut items) = (Vec::new(), Vec::new());
    let mut ahead = lines.clone();
    while let Some(line) = ahead.next() {
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
        *lines = ahead.clone();
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

/// How the lines of a block become a text.
#[derive(Clone, Copy)]
struct BlockStyle {
    /// Whether lines are joined by blanks.
    folded: bool,
    /// Whether the text ends without a line break.
    stripped: bool,
}

fn block_style(value: &str) -> Option<BlockStyle> {
    let (folded, stripped) = match value {
        "|" => (false, false),
        "|-" => (false, true),
        ">" => (true, false),
        ">-" => (true, true),
        _ => return None,
    };
    Some(BlockStyle { folded, stripped })
}

/// The lines that are not blank; nothing for one that is not plain.
#[derive(Clone)]
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

impl<'a> PlainLines<'a> {
    /// The text of the block that begins here; nothing for one whose lines are not all indented alike.
    fn block(&mut self, style: BlockStyle) -> Option<YamlNode<'a>> {
        let (mut text, mut depth, mut breaks) = (String::new(), 0, 0);
        let first = self.number + 1;
        while let Some((line, rest)) = self.rest.split_once('\n') {
            let content = line.trim_start_matches(' ');
            let indent = line.len() - content.len();
            if content.is_empty() {
                if depth == 0 || indent > depth {
                    return None;
                }
                breaks += 1;
            } else if indent == 0 {
                break;
            } else {
                if depth == 0 {
                    depth = indent;
                }
                // A line that is indented further is not folded, and may be blank but for that.
                if indent < depth || (style.folded && indent > depth) || !is_plain(content) {
                    return None;
                }
                match (style.folded, breaks) {
                    _ if text.is_empty() => {}
                    (true, 0) => text.push(' '),
                    (folded, breaks) => text.extend(std::iter::repeat_n('\n', breaks + usize::from(!folded))),
                }
                breaks = 0;
                text.push_str(line.get(depth..)?);
            }
            self.rest = rest;
            self.number += 1;
        }
        // Without a line break at its end, or without any line, the grammar has more to say.
        if text.is_empty() || (!self.rest.is_empty() && !self.rest.contains('\n') && self.rest.starts_with(' ')) {
            return None;
        }
        if !style.stripped {
            text.push('\n');
        }
        // The grammar sees it where its text begins.
        let place = SourcePosition { line: first, column: depth + 1 };
        Some(YamlNode { place, value: YamlValue::Quoted(text.into()) })
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
    if !separated || !is_plain(value) {
        return None;
    }
    let gap = content.len() - value.len();
    Some(PlainLine { number, indent, key, gap, value: value.trim_end_matches(' ') })
}

fn is_plain_key(key: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
    key.len() <= MOST_KEY_BYTES && key.starts_with(|first: char| first.is_ascii_alphabetic()) && key.bytes().all(inner)
}

fn is_plain(text: &str) -> bool {
    text.bytes().all(|byte| matches!(byte, b' '..=b'~')) || text.chars().all(is_plain_char)
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
        '[' => YamlValue::List(flow_items(line)?),
        '-' | '?' | ':' | ',' | ']' | '{' | '}' | '#' | '&' | '*' | '!' | '|' | '>' | '%' | '@' | '`' => {
            return None;
        }
        _ if text.contains(": ") || text.contains(" #") || text.ends_with(':') => return None,
        _ => YamlValue::Plain(text.into()),
    };
    Some(Some(YamlNode { place, value }))
}

/// The items of a list in brackets: words, or texts in quotes.
fn flow_items<'a>(line: &PlainLine<'a>) -> Option<Vec<YamlNode<'a>>> {
    let inner = line.value.strip_prefix('[')?.strip_suffix(']')?;
    // Columns are counted in characters.
    if !inner.is_ascii() {
        return None;
    }
    let mut items = Vec::new();
    let mut rest = inner.trim_start_matches(' ');
    while !rest.is_empty() {
        let place = line.place(line.gap + 1 + (inner.len() - rest.len()));
        let quote = rest.chars().next().filter(|first| matches!(first, '"' | '\''));
        let (value, behind) = if let Some(quote) = quote {
            let (text, behind) = rest.get(1..)?.split_once(quote)?;
            if text.contains('\\') {
                return None;
            }
            (YamlValue::Quoted(text.into()), behind.trim_start_matches(' '))
        } else {
            let end = rest.find(',').unwrap_or(rest.len());
            let (text, behind) = rest.split_at(end);
            let text = text.trim_end_matches(' ');
            if !is_flow_word(text) {
                return None;
            }
            (YamlValue::Plain(text.into()), behind)
        };
        items.push(YamlNode { place, value });
        rest = match behind.strip_prefix(',') {
            Some(next) => Some(next.trim_start_matches(' ')).filter(|next| !next.is_empty())?,
            None if behind.is_empty() => "",
            None => return None,
        };
    }
    Some(items)
}

fn is_flow_word(text: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b' ' | b'_' | b'-' | b'.' | b'/' | b'+');
    text.starts_with(|first: char| first.is_ascii_alphanumeric()) && text.bytes().all(inner)
}

/// The text between two quotes that has none inside.
fn quoted(text: &str, quote: char) -> Option<&str> {
    let inner = text.strip_prefix(quote)?.strip_suffix(quote)?;
    (!inner.contains(quote)).then_some(inner)
}
