//! The text of a plan with its line starts. Keeps out of the
//! Markdown parser what would mislead or stall it; it never interprets Markdown itself.

use std::borrow::Cow;
use std::ops::Range;

/// The longest run of indentation and list or quote markers, in bytes, that is read as nesting.
/// Markdown parsers look at every open container on every line, so unlimited nesting would make
/// the time quadratic.
const MAX_NESTING_BYTES: usize = 256;

/// The text of a plan.
#[derive(Debug)]
pub(super) struct PlanSource<'a> {
    text: &'a str,
    line_starts: Vec<usize>,
    body_start: usize,
}

impl<'a> PlanSource<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let ends = text.match_indices('\n').map(|(at, _)| at.saturating_add(1));
        Self { text, line_starts: std::iter::once(0).chain(ends).collect(), body_start: front_matter_len(text) }
    }

    /// Where the Markdown begins, after any front matter.
    pub(super) fn body_start(&self) -> usize {
        self.body_start
    }

    /// The Markdown, with the same offsets as the text from [`Self::body_start`] on, and the
    /// offset of each item that was left out because it is nested too deeply.
    pub(super) fn body(&self) -> (Cow<'a, str>, Vec<usize>) {
        limit_nesting(self.from(self.body_start))
    }

    /// The text from an offset on; empty when the offset is none.
    pub(super) fn from(&self, start: usize) -> &'a str {
        self.text.get(start..).unwrap_or_default()
    }

    /// The text in a range of offsets; empty when the range is none.
    pub(super) fn slice(&self, range: Range<usize>) -> &'a str {
        self.text.get(range).unwrap_or_default()
    }

    /// Whether the character at an offset is escaped, given that Markdown split the text there.
    pub(super) fn follows_backslash(&self, at: usize) -> bool {
        self.text.get(..at).is_some_and(|before| before.ends_with('\\'))
    }

    /// The offset of a 1-based line and column.
    pub(super) fn offset(&self, line: usize, column: usize) -> usize {
        let start = line.checked_sub(1).and_then(|index| self.line_starts.get(index)).copied().unwrap_or(0);
        start.saturating_add(column.saturating_sub(1))
    }

    /// The 1-based line and column of an offset.
    pub(super) fn position(&self, at: usize) -> (usize, usize) {
        let line = self.line_starts.partition_point(|start| *start <= at);
        let start = line.checked_sub(1).and_then(|index| self.line_starts.get(index)).copied().unwrap_or(0);
        (line, at.saturating_sub(start).saturating_add(1))
    }
}

/// The length of YAML front matter, or 0. Without this its last key would read as a heading,
/// since `---` underlines it.
fn front_matter_len(text: &str) -> usize {
    let mut lines = text.split_inclusive('\n');
    let Some(first) = lines.next().filter(|line| line.trim_end() == "---") else {
        return 0;
    };
    let mut len = first.len();
    for (index, line) in lines.enumerate() {
        len = len.saturating_add(line.len());
        let is_key = line.contains(':') && line.starts_with(|c: char| c.is_alphabetic() || c == '_');
        // Anything but a key on the second line means that the `---` is a mere rule.
        if index == 0 && !is_key {
            return 0;
        }
        if matches!(line.trim_end(), "---" | "...") {
            return len;
        }
    }
    0
}

/// Overwrites, byte for byte, the markers that lie beyond [`MAX_NESTING_BYTES`] on their line.
fn limit_nesting(text: &str) -> (Cow<'_, str>, Vec<usize>) {
    let mut out = String::new();
    let mut copied = 0_usize;
    let mut too_deep = Vec::new();
    let mut line_start = 0_usize;
    for line in text.split_inclusive(['\n', '\r']) {
        let nesting = nesting_len(line);
        if nesting > MAX_NESTING_BYTES {
            let limit = line_start.saturating_add(MAX_NESTING_BYTES);
            let end = line_start.saturating_add(nesting);
            out.push_str(text.get(copied..limit).unwrap_or_default());
            let markers = text.get(limit..end).unwrap_or_default();
            out.extend(markers.chars().map(|c| if is_blank(c) { c } else { '.' }));
            copied = end;
            let has_marker = !markers.chars().all(is_blank);
            if has_marker && text.get(end..).is_some_and(|rest| rest.starts_with('[')) {
                too_deep.push(end);
            }
        }
        line_start = line_start.saturating_add(line.len());
    }
    if copied == 0 {
        return (Cow::Borrowed(text), too_deep);
    }
    out.push_str(text.get(copied..).unwrap_or_default());
    (Cow::Owned(out), too_deep)
}

/// The length of a line's leading blanks and list or quote markers.
fn nesting_len(line: &str) -> usize {
    if line.len() <= MAX_NESTING_BYTES {
        return 0;
    }
    let mut rest = line;
    loop {
        rest = rest.trim_start_matches(is_blank);
        let digits = rest.trim_start_matches(|c: char| c.is_ascii_digit());
        let after = if digits.len() < rest.len() {
            digits.strip_prefix(['.', ')'])
        } else {
            rest.strip_prefix(['-', '*', '+'])
        };
        let after = after.filter(|after| after.starts_with(is_blank));
        match after.or_else(|| rest.strip_prefix('>')) {
            Some(after) => rest = after,
            None => return line.len().saturating_sub(rest.len()),
        }
    }
}

fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t')
}
