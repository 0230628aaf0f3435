//! A session's queue on the wire.

use maestro_core::queue::{Queue, QueueItem, QueueStats};
use serde::Serialize;
use utoipa::ToSchema;

use super::words::{Id, ItemState};

/// The tasks of a session, in the order in which it takes them.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct QueueJson {
    #[schema(value_type = Id)]
    session_id: String,
    /// Always `queue`.
    strategy: &'static str,
    /// The item being worked on, or the last one that was; -1 before the first.
    current_index: i64,
    created_at: i64,
    updated_at: i64,
    items: Vec<ItemJson>,
}

impl From<&Queue> for QueueJson {
    fn from(queue: &Queue) -> Self {
        Self {
            session_id: queue.session_id.to_string(),
            strategy: "queue",
            current_index: queue.current_index,
            created_at: queue.created_at,
            updated_at: queue.updated_at,
            items: queue.items.iter().cloned().map(Into::into).collect(),
        }
    }
}

/// A task in a queue.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ItemJson {
    #[schema(value_type = Id)]
    pub(crate) task_id: String,
    #[schema(value_type = ItemState)]
    status: &'static str,
    added_at: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    started_at: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    completed_at: Option<i64>,
    /// Why it was given up.
    #[serde(skip_serializing_if = "Option::is_none")]
    fail_reason: Option<String>,
}

impl From<QueueItem> for ItemJson {
    fn from(item: QueueItem) -> Self {
        Self {
            task_id: item.task_id.into(),
            status: item.status.as_str(),
            added_at: item.added_at,
            started_at: item.started_at,
            completed_at: item.completed_at,
            fail_reason: item.fail_reason,
        }
    }
}

/// How many items are how far.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct StatsJson {
    total: usize,
    queued: usize,
    processing: usize,
    completed: usize,
    failed: usize,
    skipped: usize,
}

impl From<QueueStats> for StatsJson {
    fn from(stats: QueueStats) -> Self {
        let QueueStats { total, queued, processing, completed, failed, skipped } = stats;
        Self { total, queued, processing, completed, failed, skipped }
    }
}
