//! Problems to show to a user: what is wrong, where, and how to fix it.
//!
//! A [`Problem`] is data: the command line prints it, the API sends it, the page shows it. Nothing here
//! decides how it looks.

mod problem_code;

use std::path::{Path, PathBuf};

use serde::{Serialize, Serializer};

pub use problem_code::ProblemCode;

crate::word_enum! {
    /// How much a problem matters.
    #[derive(PartialOrd, Ord, Hash, Serialize)]
    #[serde(rename_all = "lowercase")]
    pub enum ProblemSeverity {
        /// Worth knowing; nothing is lost.
        Info = "info",
        /// A rule is broken; what was meant could still be used.
        Warning = "warning",
        /// Something could not be used at all.
        Error = "error",
    }
}

/// Something a user should know or fix: what is wrong, where, and what to do now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Problem {
    /// The stable name of this kind of problem.
    pub code: ProblemCode,
    /// How much it matters.
    pub severity: ProblemSeverity,
    /// The file or directory it is about.
    #[serde(serialize_with = "lossy")]
    pub path: PathBuf,
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
    /// What is wrong.
    pub message: String,
    /// What to do about it.
    pub help: String,
}

impl Problem {
    /// A problem about a whole file or directory; [`Problem::at`] narrows it down.
    pub fn new(
        code: ProblemCode,
        severity: ProblemSeverity,
        path: impl Into<PathBuf>,
        message: impl Into<String>,
        help: impl Into<String>,
    ) -> Self {
        Self { code, severity, path: path.into(), line: 1, column: 1, message: message.into(), help: help.into() }
    }

    /// The same problem at a line and column, both from 1.
    #[must_use]
    pub fn at(mut self, line: usize, column: usize) -> Self {
        self.line = line.max(1);
        self.column = column.max(1);
        self
    }
}

/// Writes a path as text. A name that is no UTF-8 is still shown, with replacement characters.
pub fn lossy<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&path.to_string_lossy())
}
