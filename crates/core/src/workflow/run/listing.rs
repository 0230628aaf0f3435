//! Words by which a run is listed: its state, its driver and its executor.

use serde::{Deserialize, Serialize};

use super::RunStatus;
use crate::workflow::definition::EndStatus;

/// Who executes what a run orders.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunDriver {
    /// The caller that asks what to do next.
    #[default]
    Caller,
    /// The server.
    Server,
}

impl RunDriver {
    /// Both of them.
    pub const ALL: [Self; 2] = [Self::Caller, Self::Server];

    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Caller => "caller",
            Self::Server => "server",
        }
    }

    /// What the word stands for.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|driver| driver.as_str() == word)
    }
}

/// Who executes something, and until when that is believed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunExecutor {
    /// Who.
    pub by: String,
    /// Until when.
    pub until: i64,
}

/// How a run stands, for lists.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunState {
    /// It goes on, or waits.
    Running,
    /// It was stopped for a while.
    Paused,
    /// It did what it should.
    Completed,
    /// It did not.
    Failed,
    /// It was stopped for good.
    Cancelled,
}

impl RunState {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Running, Self::Paused, Self::Completed, Self::Failed, Self::Cancelled];

    /// How a run of this status stands.
    pub fn of(status: &RunStatus) -> Self {
        match status {
            RunStatus::New | RunStatus::Active => Self::Running,
            RunStatus::Paused => Self::Paused,
            RunStatus::Ended(ending) if ending.status == EndStatus::Success => Self::Completed,
            RunStatus::Ended(_) => Self::Failed,
            RunStatus::Cancelled => Self::Cancelled,
        }
    }

    /// The word for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Running => "running",
            Self::Paused => "paused",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }

    /// What the word stands for.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.as_str() == word)
    }

    /// Whether nothing more happens in it.
    pub fn is_over(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Cancelled)
    }
}
