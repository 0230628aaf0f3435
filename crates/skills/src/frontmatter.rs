//! YAML header of a file: where it begins and ends, and its entries.
//!
//! Fences are whole lines; a `---` inside a value closes nothing. A header that is no valid YAML is repaired
//! entry by entry, and every repair is reported.

mod repair;

use std::ops::Range;

use maestro_core::ProblemCode;
use maestro_core::yaml::{self, SourcePosition, YamlError, YamlNode};

pub use repair::HeaderRepair;

/// How much of a file may be header.
pub const MAX_BYTES: usize = 64 * 1024;

/// Where a header lies in a file, in bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct YamlHeader {
    /// The YAML, without its fences.
    pub yaml: Range<usize>,
    /// How many lines precede the YAML.
    pub lines_above: usize,
    /// Where the body begins.
    pub body_at: usize,
}

/// Why no header was found in what has been read so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum HeaderError {
    /// The text begins with something else.
    Missing,
    /// There is nothing but blank lines yet.
    Blank,
    /// It begins, but its end has not been seen.
    Unclosed,
}

/// Finds the header of a file, of which only the beginning need be there. What follows need not even be text.
pub fn find(bytes: &[u8]) -> Result<YamlHeader, HeaderError> {
    let mut lines = HeaderLines { bytes, at: if bytes.starts_with(BOM) { BOM.len() } else { 0 }, number: 0 };
    let opening = lines.find(|line| !line.trim_ascii().is_empty()).ok_or(HeaderError::Blank)?;
    if !is_fence(opening, b"---") {
        return Err(HeaderError::Missing);
    }
    let (start, lines_above) = (lines.at, lines.number);
    loop {
        let line_start = lines.at;
        let line = lines.next().ok_or(HeaderError::Unclosed)?;
        if is_fence(line, b"---") || is_fence(line, b"...") {
            return Ok(YamlHeader { yaml: start..line_start, lines_above, body_at: lines.at });
        }
    }
}

const BOM: &[u8] = b"\xef\xbb\xbf";

/// A line that is the fence and nothing else but a comment.
fn is_fence(line: &[u8], fence: &[u8]) -> bool {
    line.strip_prefix(fence).is_some_and(|rest| {
        let comment = rest.trim_ascii_start();
        comment.is_empty() || (comment.len() < rest.len() && comment.starts_with(b"#"))
    })
}

struct HeaderLines<'a> {
    bytes: &'a [u8],
    at: usize,
    number: usize,
}

impl<'a> Iterator for HeaderLines<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let rest = self.bytes.get(self.at..).filter(|rest| !rest.is_empty())?;
        let length = memchr::memchr(b'\n', rest).map_or(rest.len(), |end| end + 1);
        self.at += length;
        self.number += 1;
        rest.get(..length)
    }
}

/// A header's entries as they were understood.
#[derive(Debug)]
pub struct ParsedHeader<T> {
    /// What the caller made of the tree.
    pub value: T,
    /// What had to be read differently from how it was written.
    pub repairs: Vec<HeaderRepair>,
}

/// Reads a header's YAML and hands the tree to `read`, repairing what is no YAML if it can.
pub fn parse<T>(yaml: &str, read: impl Fn(&YamlNode<'_>) -> T) -> Result<ParsedHeader<T>, YamlError> {
    let error = match yaml::parse(yaml) {
        Ok(tree) => return Ok(ParsedHeader { value: read(&tree), repairs: Vec::new() }),
        Err(error) if error.excessive => return Err(error),
        Err(error) => error,
    };
    let (repaired, repairs) = repair::repair(yaml);
    match yaml::parse(&repaired) {
        Ok(tree) if !repairs.is_empty() => Ok(ParsedHeader { value: read(&tree), repairs }),
        _ => Err(error),
    }
}

/// What a missing header looks like to the user: the code, the message, the place and the way out.
pub fn explain_missing(text: &str, reason: HeaderError) -> (ProblemCode, SourcePosition, String, String) {
    let first = text.trim_start_matches('\u{feff}').lines().find(|line| !line.trim().is_empty());
    let line = text.lines().take_while(|line| line.trim_matches('\u{feff}').trim().is_empty()).count() + 1;
    let place = SourcePosition { line: if first.is_some() { line } else { 1 }, column: 1 };
    let add = "begin the file with a line `---`, then `name:` and `description:`, then a line `---`";
    match (reason, first) {
        (HeaderError::Unclosed, _) => (
            ProblemCode::FrontmatterUnclosed,
            place,
            "the frontmatter is opened by `---` but never closed".to_owned(),
            "put a line `---` after the last field".to_owned(),
        ),
        (HeaderError::Blank, _) | (HeaderError::Missing, None) => {
            (ProblemCode::FrontmatterMissing, place, "the file is empty".to_owned(), add.to_owned())
        }
        (HeaderError::Missing, Some(line)) if line.trim_start().starts_with("```") => (
            ProblemCode::FrontmatterMissing,
            place,
            "the frontmatter is inside a code fence".to_owned(),
            "remove the ``` lines around it, so that the file begins with `---`".to_owned(),
        ),
        (HeaderError::Missing, Some(_)) => (
            ProblemCode::FrontmatterMissing,
            place,
            "the file does not begin with frontmatter".to_owned(),
            add.to_owned(),
        ),
    }
}

#[cfg(test)]
mod tests;
