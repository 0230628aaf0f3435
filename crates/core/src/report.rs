//! Reports of a session about its work, and their consequences.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::closest_word::UnknownWord;
use crate::session::{EntryKind, TaskSessionStatus};

/// What a session reports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReportKind {
    /// It makes progress.
    Progress,
    /// It is done.
    Complete,
    /// It cannot continue.
    Blocked,
    /// Something went wrong.
    Error,
    /// It asks a person.
    NeedsInput,
}

impl ReportKind {
    /// Every kind, in the order they are shown.
    pub const ALL: [Self; 5] = [Self::Progress, Self::Complete, Self::Blocked, Self::Error, Self::NeedsInput];

    /// The word on the command line and on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Progress => "progress",
            Self::Complete => "complete",
            Self::Blocked => "blocked",
            Self::Error => "error",
            Self::NeedsInput => "needs-input",
        }
    }

    /// How the session then stands to the task.
    pub fn task_session_status(self) -> TaskSessionStatus {
        match self {
            Self::Progress => TaskSessionStatus::Working,
            Self::Complete => TaskSessionStatus::Completed,
            Self::Blocked => TaskSessionStatus::Blocked,
            Self::Error => TaskSessionStatus::Failed,
            Self::NeedsInput => TaskSessionStatus::NeedsInput,
        }
    }

    /// The line it leaves in the timeline.
    pub fn entry_kind(self) -> EntryKind {
        EntryKind::of(match self {
            Self::Progress => "progress",
            Self::Complete => "task_completed",
            Self::Blocked => "task_blocked",
            Self::Error => "error",
            Self::NeedsInput => "needs_input",
        })
    }
}

impl fmt::Display for ReportKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for ReportKind {
    type Err = UnknownWord;

    fn from_str(text: &str) -> Result<Self, UnknownWord> {
        let word = text.to_ascii_lowercase().replace('_', "-");
        let known = || Self::ALL.into_iter().map(Self::as_str).collect();
        Self::ALL.into_iter().find(|kind| kind.as_str() == word).ok_or_else(|| UnknownWord { known: known() })
    }
}
