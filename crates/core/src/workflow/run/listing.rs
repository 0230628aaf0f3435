//! Words by which a run is listed: its state, its driver and its executor.

use serde::{Deserialize, Serialize};

use super::RunStatus;
use crate::workflow::definition::EndStatus;

crate::word_enum! {
    /// Who executes what a run orders.
    #[derive(Default, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum RunDriver {
        /// The caller that asks what to do next.
        #[default]
        Caller = "caller",
        /// The server.
        Server = "server",
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

crate::word_enum! {
    /// How a run stands, for lists.
    #[derive(Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum RunState {
        /// It goes on, or waits.
        Running = "running",
        /// It was stopped for a while.
        Paused = "paused",
        /// It did what it should.
        Completed = "completed",
        /// It did not.
        Failed = "failed",
        /// It was stopped for good.
        Cancelled = "cancelled",
    }
}

impl RunState {
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

    /// Whether nothing more happens in it.
    pub fn is_over(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Cancelled)
    }
}
