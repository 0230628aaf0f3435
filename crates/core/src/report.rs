//! Reports of a session about its work, and their consequences.

use serde::{Deserialize, Serialize};

use crate::session::{EntryKind, TaskSessionStatus};
use crate::word_enum::word_parser;

crate::word_enum! {
    /// What a session reports.
    #[derive(Serialize, Deserialize)]
    #[serde(rename_all = "kebab-case")]
    pub enum ReportKind {
        /// It makes progress.
        Progress = "progress",
        /// It is done.
        Complete = "complete",
        /// It cannot continue.
        Blocked = "blocked",
        /// Something went wrong.
        Error = "error",
        /// It asks a person.
        NeedsInput = "needs-input",
    }
}

impl ReportKind {
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

word_parser!(ReportKind);
