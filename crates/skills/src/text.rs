//! How much of a file is read, and what if it is no text?
//!
//! Every read is bounded. The head of a `SKILL.md` is read only as far as its header reaches.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use maestro_core::{Code, Problem, Severity};

use crate::frontmatter::{self, NoHeader};

/// The most of a skill's text that is read.
pub const MAX_TEXT_BYTES: u64 = 1024 * 1024;

/// What a first look at a file usually needs.
const FIRST_READ: usize = 4096;

/// The beginning of a text file.
#[derive(Debug)]
pub(crate) struct Head {
    /// As much as was needed; cut where the text stops being UTF-8.
    pub(crate) text: String,
    /// The file's whole size, where it is larger than what Maestro reads.
    pub(crate) too_large: Option<u64>,
    /// Where the first byte is that is no UTF-8, as line and column.
    pub(crate) not_utf8_at: Option<(usize, usize)>,
}

/// Reads a file up to the end of its header, or up to what a header may have.
pub(crate) fn read_head(path: &Path) -> io::Result<Head> {
    let mut file = File::open(path)?;
    let mut bytes = vec![0; FIRST_READ];
    let mut filled = read_full(&mut file, &mut bytes)?;
    let mut too_large = None;
    if filled == bytes.len() {
        too_large = Some(file.metadata()?.len()).filter(|&size| size > MAX_TEXT_BYTES);
        while filled == bytes.len() && bytes.len() < frontmatter::MAX_BYTES && !header_is_decided(&bytes) {
            bytes.resize((bytes.len() * 4).min(frontmatter::MAX_BYTES), 0);
            let more = bytes.get_mut(filled..).map_or(Ok(0), |rest| read_full(&mut file, rest))?;
            filled += more;
        }
    }
    let at_end = filled < bytes.len();
    bytes.truncate(filled);
    let (text, bad) = match String::from_utf8(bytes) {
        Ok(text) => (text, None),
        Err(error) => {
            let valid = error.utf8_error().valid_up_to();
            // A character cut in two by the end of the read is no fault of the file.
            let cut = error.utf8_error().error_len().is_none() && !at_end;
            let mut bytes = error.into_bytes();
            bytes.truncate(valid);
            (String::from_utf8(bytes).unwrap_or_default(), (!cut).then_some(()))
        }
    };
    let not_utf8_at = bad.map(|()| end_of(&text));
    Ok(Head { text, too_large, not_utf8_at })
}

/// Whether a longer read could not change what is known of the header.
fn header_is_decided(bytes: &[u8]) -> bool {
    let valid = match std::str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) if error.error_len().is_some() => return true,
        Err(error) => bytes.get(..error.valid_up_to()).and_then(|b| std::str::from_utf8(b).ok()).unwrap_or_default(),
    };
    !matches!(frontmatter::split(valid), Err(NoHeader::Unclosed)) && !valid.trim().is_empty()
}

fn read_full(file: &mut File, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while let Some(rest) = buffer.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        match file.read(rest) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

/// Line and column, from 1, just after the end of a text.
fn end_of(text: &str) -> (usize, usize) {
    let line = text.matches('\n').count() + 1;
    let column = text.rsplit('\n').next().map_or(0, |tail| tail.chars().count()) + 1;
    (line, column)
}

/// A whole file, or as much of it as Maestro reads.
#[derive(Debug)]
pub struct Contents {
    /// The bytes.
    pub bytes: Vec<u8>,
    /// Whether the file is larger.
    pub cut: bool,
}

/// Reads a file as far as `most` bytes.
pub fn read_bounded(path: &Path, most: u64) -> io::Result<Contents> {
    let mut bytes = Vec::new();
    File::open(path)?.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    let cut = bytes.len() as u64 > most;
    bytes.truncate(usize::try_from(most).unwrap_or(usize::MAX));
    Ok(Contents { bytes, cut })
}

/// Reads a small text file whole; what is too large, unreadable or no text is a problem.
pub(crate) fn read_document(path: &Path) -> Result<String, Problem> {
    let contents = read_bounded(path, MAX_TEXT_BYTES).map_err(|error| unreadable(path, &error))?;
    if contents.cut {
        return Err(too_large(path, Severity::Error));
    }
    String::from_utf8(contents.bytes).map_err(|error| {
        let valid = error.utf8_error().valid_up_to();
        let text = error.as_bytes().get(..valid).map(String::from_utf8_lossy).unwrap_or_default();
        not_utf8(path, end_of(&text))
    })
}

pub(crate) fn unreadable(path: &Path, error: &io::Error) -> Problem {
    Problem::new(
        Code::FileUnreadable,
        Severity::Error,
        path,
        format!("cannot be read: {error}"),
        "check that it exists and that you may read it",
    )
}

pub(crate) fn too_large(path: &Path, severity: Severity) -> Problem {
    Problem::new(
        Code::FileTooLarge,
        severity,
        path,
        "larger than 1 MiB, of which no more is read",
        "move what is not needed every time into files under references/",
    )
}

pub(crate) fn not_utf8(path: &Path, (line, column): (usize, usize)) -> Problem {
    Problem::new(
        Code::FileNotUtf8,
        Severity::Error,
        path,
        "is not UTF-8 text",
        "save it as UTF-8, for example: iconv -f latin1 -t utf-8 OLD > NEW",
    )
    .at(line, column)
}
