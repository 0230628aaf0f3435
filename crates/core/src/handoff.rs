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

crate::word_enum! {
    /// How far work passed on is.
    #[derive(Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum HandoffState {
        /// It is waiting.
        Pending = "pending",
        /// It was accepted.
        Accepted = "accepted",
        /// It is done.
        Completed = "completed",
    }
}
