//! The queue of a session that takes its tasks one after the other.

use serde::{Deserialize, Serialize};

use crate::id::{SessionId, TaskId};

/// The tasks of a session, in the order in which it takes them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TaskQueue {
    /// The session.
    pub session_id: SessionId,
    /// The item being worked on, or the last one that was; -1 before the first.
    pub current_index: i64,
    /// When it was made.
    pub created_at: i64,
    /// When it last changed.
    pub updated_at: i64,
    /// The items.
    pub items: Vec<QueueItem>,
}

/// A task in a queue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct QueueItem {
    /// The task.
    pub task_id: TaskId,
    /// How far it is.
    pub status: QueueItemStatus,
    /// When it came into the queue.
    pub added_at: i64,
    /// When work on it began.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub started_at: Option<i64>,
    /// When work on it ended.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub completed_at: Option<i64>,
    /// Why it was given up.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub fail_reason: Option<String>,
}

crate::word_enum! {
    /// How far a task in a queue is.
    #[derive(Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum QueueItemStatus {
        /// Its turn has not come.
        Queued = "queued",
        /// It is being worked on.
        Processing = "processing",
        /// It is done.
        Completed = "completed",
        /// It was given up.
        Failed = "failed",
        /// It was left out.
        Skipped = "skipped",
    }
}

/// How many items are how far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct QueueStats {
    /// All of them.
    pub total: usize,
    /// Those whose turn has not come.
    pub queued: usize,
    /// The one being worked on.
    pub processing: usize,
    /// Those that are done.
    pub completed: usize,
    /// Those given up.
    pub failed: usize,
    /// Those left out.
    pub skipped: usize,
}

impl TaskQueue {
    /// The item being worked on.
    pub fn processing(&self) -> Option<&QueueItem> {
        self.items.iter().find(|item| item.status == QueueItemStatus::Processing)
    }

    /// The item whose turn is next.
    pub fn next(&self) -> Option<&QueueItem> {
        self.items.iter().find(|item| item.status == QueueItemStatus::Queued)
    }

    /// How many items are how far.
    pub fn stats(&self) -> QueueStats {
        let mut stats = QueueStats { total: self.items.len(), ..QueueStats::default() };
        for item in &self.items {
            match item.status {
                QueueItemStatus::Queued => stats.queued += 1,
                QueueItemStatus::Processing => stats.processing += 1,
                QueueItemStatus::Completed => stats.completed += 1,
                QueueItemStatus::Failed => stats.failed += 1,
                QueueItemStatus::Skipped => stats.skipped += 1,
            }
        }
        stats
    }
}
