//! Bounded reading of text files.
//!
//! Every read is bounded. The head of a `SKILL.md` is read only as far as its header reaches.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use maestro_core::hidden_chars::HiddenText;
use maestro_core::workflow::executions::quote_word;
use maestro_core::{Problem, ProblemCode, ProblemSeverity};
use rustix::fs::{Mode, OFlags};

use crate::directory::OpenFile;
use crate::frontmatter::{self, HeaderError, YamlHeader};

/// The most of a skill's text that is read.
pub const MAX_TEXT_BYTES: u64 = 1024 * 1024;

/// What a first look at a file usually needs.
pub(crate) const FIRST_READ: usize = 4096;

/// Room for the beginning of a file; more is taken only for the few headers that need it.
pub(crate) struct HeadBuffer {
    first: [u8; FIRST_READ],
    more: Vec<u8>,
}

impl HeadBuffer {
    pub(crate) fn new() -> Self {
        Self { first: [0; FIRST_READ], more: Vec::new() }
    }
}

/// The beginning of a file, and what is known of its header.
#[derive(Debug)]
pub(crate) struct FileHead<'a> {
    /// As much as had to be read.
    pub(crate) bytes: &'a [u8],
    /// Where the header is.
    pub(crate) header: Result<YamlHeader, HeaderError>,
    /// Whether the file is larger than what Maestro reads.
    pub(crate) too_large: bool,
    /// Whether these bytes are the whole file.
    pub(crate) whole: bool,
}

impl FileHead<'_> {
    /// What was read, as text, or the line and column where it stops being text. A character that only the read cut
    /// in two is no fault of the file: it is left out.
    pub(crate) fn text(&self) -> Result<&str, (usize, usize)> {
        match std::str::from_utf8(self.bytes) {
            Err(error) if error.error_len().is_none() && !self.whole => {
                text_of(self.bytes.get(..error.valid_up_to()).unwrap_or_default())
            }
            _ => text_of(self.bytes),
        }
    }
}

/// Reads a file up to the end of its header, or up to what a header may have.
pub(crate) fn read_head(opened: OpenFile, buffer: &mut HeadBuffer) -> io::Result<FileHead<'_>> {
    let OpenFile { mut file, stamp } = opened;
    let too_large = stamp.size() > MAX_TEXT_BYTES;
    let is_whole = |bytes: &[u8]| bytes.len() as u64 >= stamp.size();
    // One call brings the whole header nearly always; then there is nothing more to ask for.
    let filled = read_once(&mut file, &mut buffer.first)?;
    let first = buffer.first.get(..filled).unwrap_or_default();
    let mut header = frontmatter::find(first);
    if !may_come(&header) {
        return Ok(FileHead { bytes: first, header, too_large, whole: is_whole(first) });
    }
    let bytes = &mut buffer.more;
    bytes.extend_from_slice(first);
    let mut at_end = filled == 0;
    while !at_end && bytes.len() < frontmatter::MAX_BYTES && may_come(&header) {
        let had = bytes.len();
        bytes.resize((had * 4).clamp(FIRST_READ, frontmatter::MAX_BYTES), 0);
        let got = bytes.get_mut(had..).map_or(Ok(0), |rest| read_full(&mut file, rest))?;
        at_end = had + got < bytes.len();
        bytes.truncate(had + got);
        header = frontmatter::find(bytes);
    }
    Ok(FileHead { bytes, header, too_large, whole: is_whole(bytes) })
}

/// Whether reading on could still bring the end of the header.
fn may_come(header: &Result<YamlHeader, HeaderError>) -> bool {
    matches!(header, Err(HeaderError::Unclosed | HeaderError::Blank))
}

/// The text of some bytes, or where it stops being text, as line and column.
pub(crate) fn text_of(bytes: &[u8]) -> Result<&str, (usize, usize)> {
    std::str::from_utf8(bytes).map_err(|error| {
        let valid = bytes.get(..error.valid_up_to()).unwrap_or_default();
        end_of(&String::from_utf8_lossy(valid))
    })
}

fn read_full(file: &mut File, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while let Some(rest) = buffer.get_mut(filled..).filter(|rest| !rest.is_empty()) {
        match read_once(file, rest)? {
            0 => break,
            count => filled += count,
        }
    }
    Ok(filled)
}

fn read_once(file: &mut File, buffer: &mut [u8]) -> io::Result<usize> {
    loop {
        match file.read(buffer) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            read => return read,
        }
    }
}

/// Line and column, from 1, just after the end of a text.
fn end_of(text: &str) -> (usize, usize) {
    let line = text.matches('\n').count() + 1;
    let column = text.rsplit('\n').next().map_or(0, |tail| tail.chars().count()) + 1;
    (line, column)
}

/// A whole file, or as much of it as Maestro reads.
#[derive(Debug)]
pub struct FileContents {
    /// The bytes.
    pub bytes: Vec<u8>,
    /// Whether the file is larger.
    pub cut: bool,
}

/// Reads a file as far as `most` bytes. A pipe or device that took its place is an error, and not waited for.
pub fn read_bounded(path: &Path, most: u64) -> io::Result<FileContents> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let file = File::from(rustix::fs::open(path, flags, Mode::empty())?);
    let metadata = file.metadata()?;
    let kind = metadata.file_type();
    if kind.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    if !kind.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
    }
    take(file, metadata.len(), most)
}

/// Reads a file that was `size` bytes large a moment ago.
fn take(file: File, size: u64, most: u64) -> io::Result<FileContents> {
    let mut bytes = Vec::with_capacity(usize::try_from(size.min(most) + 1).unwrap_or_default());
    file.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    let cut = bytes.len() as u64 > most;
    bytes.truncate(usize::try_from(most).unwrap_or(usize::MAX));
    Ok(FileContents { bytes, cut })
}

/// Reads a small text file whole; what is too large, unreadable or no text is a problem.
pub(crate) fn read_document(opened: io::Result<OpenFile>, path: &Path) -> Result<String, Problem> {
    let contents = opened
        .and_then(|opened| take(opened.file, opened.stamp.size(), MAX_TEXT_BYTES))
        .map_err(|error| unreadable(path, &error))?;
    if contents.cut {
        return Err(too_large(path, ProblemSeverity::Error));
    }
    text_of(&contents.bytes).map(str::to_owned).map_err(|place| not_utf8(path, place))
}

pub(crate) fn unreadable(path: &Path, error: &io::Error) -> Problem {
    Problem::new(
        ProblemCode::FileUnreadable,
        ProblemSeverity::Error,
        path,
        format!("it cannot be read: {error}"),
        "check that it exists and that you may read it",
    )
}

pub(crate) fn too_large(path: &Path, severity: ProblemSeverity) -> Problem {
    Problem::new(
        ProblemCode::FileTooLarge,
        severity,
        path,
        "the file is larger than 1 MiB; the rest is not read",
        "move what is not needed every time into files under references/",
    )
}

/// Text that a reader does not see.
pub(crate) fn hidden_text(path: &Path, hidden: &HiddenText) -> Problem {
    let spelled = match hidden.spelled.as_str() {
        "" => String::new(),
        spelled => format!(", which spell `{spelled}`"),
    };
    let noun = if hidden.count == 1 { "invisible character" } else { "invisible characters" };
    let message =
        format!("the text hides {} {noun}{spelled}; the first is U+{:04X}", hidden.count, u32::from(hidden.first));
    let help = "remove them; if you did not put them there, do not trust this skill. Agents get the text without them";
    Problem::new(ProblemCode::HiddenUnicode, ProblemSeverity::Warning, path, message, help)
        .at(hidden.line, hidden.column)
}

pub(crate) fn not_utf8(path: &Path, (line, column): (usize, usize)) -> Problem {
    let (old, new) = (quote_word(&path.to_string_lossy()), quote_word(&format!("{}.new", path.display())));
    let help = format!("save it as UTF-8, for example: iconv -f latin1 -t utf-8 {old} > {new} && mv {new} {old}");
    Problem::new(ProblemCode::FileNotUtf8, ProblemSeverity::Error, path, "the file is not UTF-8 text", help)
        .at(line, column)
}
