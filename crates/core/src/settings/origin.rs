//! The origin of a setting.

use std::fmt;
use std::path::PathBuf;

/// Whose file a setting stands in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SettingAuthor {
    /// The user's own.
    User,
    /// One that came with a checked-out project.
    Project,
}

/// Where a setting came from.
#[derive(Debug, Clone, PartialEq)]
pub enum SettingOrigin {
    /// It is the default.
    Default,
    /// A line of a configuration file.
    File {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// Whose file it is.
        author: SettingAuthor,
    },
    /// An environment variable.
    Variable(String),
    /// A `--set` flag.
    Flag,
}

impl SettingOrigin {
    /// Whether a checked-out project set it, rather than the user.
    pub fn comes_with_project(&self) -> bool {
        matches!(self, Self::File { author: SettingAuthor::Project, .. })
    }
}

impl fmt::Display for SettingOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File { path, line, .. } => write!(f, "{}:{line}", path.display()),
            Self::Variable(name) => write!(f, "${name}"),
            Self::Flag => f.write_str("--set"),
        }
    }
}
