//! Tasks and their status.

use serde::{Deserialize, Serialize};

use crate::id::{ProjectId, SessionId, TaskId};
use crate::session::TaskSessionStatus;
use crate::word_enum::word_parser;

/// A unit of work in a project; a subtask is a task with a parent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Task {
    /// Its id.
    pub id: TaskId,
    /// The project it belongs to.
    pub project: ProjectId,
    /// The task it is a part of.
    pub parent: Option<TaskId>,
    /// What is to be done, in a line.
    pub title: String,
    /// What is to be done, in full.
    pub description: String,
    /// How far it is.
    pub status: TaskStatus,
    /// How urgent it is.
    pub priority: TaskPriority,
    /// The first words an agent gets.
    pub initial_prompt: String,
    /// Skills it asks for.
    pub skills: Vec<String>,
    /// Agents it is meant for.
    pub agents: Vec<String>,
    /// Tasks that must be done before it.
    pub dependencies: Vec<TaskId>,
    /// The model it asks for.
    pub model: Option<String>,
    /// When it was made.
    pub created_at: i64,
    /// When it last changed.
    pub updated_at: i64,
    /// When work on it started.
    pub started_at: Option<i64>,
    /// When it was first done.
    pub completed_at: Option<i64>,
    /// Counts its changes.
    pub revision: i64,
    /// The sessions bound to it and how each stands, oldest binding first.
    pub sessions: Vec<TaskSession>,
}

/// A session bound to a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskSession {
    /// The session.
    pub session: SessionId,
    /// What it last said about this task.
    pub status: Option<TaskSessionStatus>,
    /// When it said so.
    pub updated_at: i64,
}

crate::word_enum! {
    /// How far a task is.
    #[derive(Hash, Serialize, Deserialize)]
    #[serde(rename_all = "snake_case")]
    pub enum TaskStatus {
        /// No work has started.
        Todo = "todo",
        /// A session works on it.
        InProgress = "in_progress",
        /// It is done and waits for a review.
        InReview = "in_review",
        /// It cannot continue without help.
        Blocked = "blocked",
        /// It is done.
        Completed = "completed",
        /// It will not be done.
        Cancelled = "cancelled",
        /// It is out of sight.
        Archived = "archived",
    }
}

impl TaskStatus {
    /// What a person or orchestrator may make of it.
    pub fn next(self) -> &'static [Self] {
        use TaskStatus::{Archived, Blocked, Cancelled, Completed, InProgress, InReview, Todo};
        match self {
            Todo => &[InProgress, InReview, Completed, Cancelled, Blocked, Archived],
            InProgress => &[Todo, InReview, Completed, Cancelled, Blocked],
            InReview | Blocked => &[Todo, InProgress, InReview, Completed, Cancelled, Blocked],
            Completed => &[Todo, InProgress, InReview, Archived],
            Cancelled => &[Todo, Archived],
            Archived => &[Todo],
        }
    }

    /// Whether it may become the other; staying what it is, it always may.
    pub fn may_become(self, other: Self) -> bool {
        self == other || self.next().contains(&other)
    }

    /// Whether no work is left on it.
    pub fn is_closed(self) -> bool {
        matches!(self, Self::Completed | Self::Cancelled | Self::Archived)
    }
}

word_parser!(
    TaskStatus, "pending" => Todo, "open" => Todo, "done" => Completed, "complete" => Completed,
    "canceled" => Cancelled, "failed" => Blocked
);

crate::word_enum! {
    /// How urgent a task is.
    #[derive(Default, Hash, Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum TaskPriority {
        /// It can wait.
        Low = "low",
        /// As usual.
        #[default]
        Medium = "medium",
        /// Soon.
        High = "high",
        /// Now.
        Critical = "critical",
    }
}

word_parser!(TaskPriority);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_spelling_of_a_status_is_understood() {
        let cases = [
            ("PENDING", TaskStatus::Todo),
            ("in-progress", TaskStatus::InProgress),
            ("IN_PROGRESS", TaskStatus::InProgress),
            ("done", TaskStatus::Completed),
            ("failed", TaskStatus::Blocked),
        ];
        for (text, status) in cases {
            assert_eq!(text.parse(), Ok(status), "{text}");
        }
        for status in TaskStatus::ALL {
            assert_eq!(status.as_str().parse(), Ok(status));
            assert_eq!(serde_json::to_value(status).unwrap(), status.as_str());
        }
        assert_eq!(
            "banana".parse::<TaskStatus>().unwrap_err().to_string(),
            "must be one of todo, in_progress, in_review, blocked, completed, cancelled, archived"
        );
    }

    #[test]
    fn nothing_is_a_dead_end() {
        for status in TaskStatus::ALL {
            assert!(status.may_become(TaskStatus::Todo), "{status} can be reopened");
        }
        assert!(!TaskStatus::Completed.may_become(TaskStatus::Blocked));
    }
}
