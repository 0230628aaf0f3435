//! Work handed from one role to another.

use serde::{Deserialize, Serialize};

use crate::id::{HandoffId, ProjectId, TaskId};

/// Work passed from one role to another, with what the other needs to know.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Handoff {
    /// Its id.
    pub id: HandoffId,
    /// The project.
    pub project_id: ProjectId,
    /// The task it is about.
    pub task_id: Option<TaskId>,
    /// Who passes it on.
    pub from: String,
    /// Who gets it.
    pub to: String,
    /// What it is about, in a line.
    pub title: String,
    /// What the other needs to know.
    pub body: String,
    /// How far it is.
    pub state: HandoffState,
    /// Who took it.
    pub accepted_by: Option<String>,
    /// The result.
    pub result: Option<String>,
    /// When it was made.
    pub created_at: i64,
    /// When it was taken.
    pub accepted_at: Option<i64>,
    /// When it was finished.
    pub completed_at: Option<i64>,
}

/// How far work passed on is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum HandoffState {
    /// It is waiting.
    Pending,
    /// It was accepted.
    Accepted,
    /// It is done.
    Completed,
}

impl HandoffState {
    /// All of them, in order.
    pub const ALL: [Self; 3] = [Self::Pending, Self::Accepted, Self::Completed];

    /// The word on the wire, in file names and on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Accepted => "accepted",
            Self::Completed => "completed",
        }
    }

    /// The state this word names.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.as_str() == word)
    }
}
