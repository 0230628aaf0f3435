//! Problems of the file being read, with their places, under strict or lenient validation.

use std::io;
use std::path::PathBuf;

use maestro_core::settings::SkillValidation;
use maestro_core::yaml::SourcePosition;
use maestro_core::{Problem, ProblemCode, ProblemSeverity};

use crate::directory::{OpenDirectory, OpenFile};
use crate::file_stamp::FileStamp;
use crate::text::{self, FileHead, HeadBuffer};

/// The problems of one file, and whether they keep it from being used.
#[derive(Debug)]
pub(super) struct FileFindings<'a> {
    directory: &'a OpenDirectory<'a>,
    file: &'a str,
    validation: SkillValidation,
    lines_above: usize,
    refused: bool,
    problems: Vec<Problem>,
    stamp: Option<FileStamp>,
}

impl<'a> FileFindings<'a> {
    pub(super) fn new(directory: &'a OpenDirectory<'a>, file: &'a str, validation: SkillValidation) -> Self {
        Self { directory, file, validation, lines_above: 0, refused: false, problems: Vec::new(), stamp: None }
    }

    /// The beginning of the file; that it cannot be read is a finding.
    pub(super) fn read_head<'b>(&mut self, buffer: &'b mut HeadBuffer) -> Option<FileHead<'b>> {
        let read = self.open().and_then(|opened| text::read_head(opened, buffer));
        read.map_err(|error| self.add(text::unreadable(&self.path(), &error))).ok()
    }

    /// The whole file; that it cannot be read is a finding.
    pub(super) fn read_document(&mut self) -> Option<String> {
        let read = text::read_document(self.open(), &self.path());
        read.map_err(|problem| self.add(problem)).ok()
    }

    fn open(&mut self) -> io::Result<OpenFile> {
        let opened = self.directory.open_file(self.file)?;
        self.stamp = Some(opened.stamp);
        Ok(opened)
    }

    /// The file. Made when it is needed: most files have nothing to report.
    pub(super) fn path(&self) -> PathBuf {
        self.directory.join(self.file)
    }

    /// Places reported from now on are counted from `lines` below the top of the file.
    pub(super) fn set_line_offset(&mut self, lines: usize) {
        self.lines_above = lines;
    }

    /// Something that keeps the file from being used.
    pub(super) fn error(
        &mut self,
        code: ProblemCode,
        place: SourcePosition,
        message: impl Into<String>,
        help: impl Into<String>,
    ) {
        self.refused = true;
        self.push(code, ProblemSeverity::Error, place, message, help);
    }

    /// Something to fix; the file is used anyway.
    pub(super) fn warn(
        &mut self,
        code: ProblemCode,
        place: SourcePosition,
        message: impl Into<String>,
        help: impl Into<String>,
    ) {
        self.push(code, ProblemSeverity::Warning, place, message, help);
    }

    /// A broken rule of the standard: an error when validation is strict, else a warning.
    pub(super) fn rule(
        &mut self,
        code: ProblemCode,
        place: SourcePosition,
        message: impl Into<String>,
        help: impl Into<String>,
    ) {
        match self.validation {
            SkillValidation::Strict => self.error(code, place, message, help),
            SkillValidation::Lenient => self.warn(code, place, message, help),
        }
    }

    /// A problem that was made elsewhere.
    pub(super) fn add(&mut self, problem: Problem) {
        self.refused |= problem.severity == ProblemSeverity::Error;
        self.problems.push(problem);
    }

    /// Whether the file may be used.
    pub(super) fn usable(&self) -> bool {
        !self.refused
    }

    /// Hands over the problems, and the file with what it was like before it was read.
    pub(super) fn finish(self, problems: &mut Vec<Problem>, read: &mut Vec<(String, FileStamp)>) {
        problems.extend(self.problems);
        read.extend(self.stamp.map(|stamp| (self.file.to_owned(), stamp)));
    }

    fn push(
        &mut self,
        code: ProblemCode,
        severity: ProblemSeverity,
        place: SourcePosition,
        message: impl Into<String>,
        help: impl Into<String>,
    ) {
        let place = place.below(self.lines_above);
        self.problems.push(Problem::new(code, severity, self.path(), message, help).at(place.line, place.column));
    }
}
