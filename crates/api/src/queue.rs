//! Queues of sessions.

use std::borrow::Cow;

use maestro_core::queue::{QueueItem, QueueItemStatus, QueueStats, TaskQueue};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::fields::EmptyBody;
use crate::request::{ApiRequest, in_path};
use crate::schemas::{IdText, QueueStateWord};

/// The tasks of a session, in the order in which it takes them.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = QueueJson)]
pub struct QueueBody {
    #[schema(value_type = IdText)]
    pub session_id: String,
    /// Always `queue`.
    pub strategy: Cow<'static, str>,
    /// The item being worked on, or the last one that was; -1 before the first.
    pub current_index: i64,
    pub created_at: i64,
    pub updated_at: i64,
    pub items: Vec<QueueItemBody>,
}

/// A task in a queue.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = ItemJson)]
pub struct QueueItemBody {
    #[schema(value_type = IdText)]
    pub task_id: String,
    #[schema(value_type = QueueStateWord)]
    pub status: QueueItemStatus,
    pub added_at: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started_at: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub completed_at: Option<i64>,
    /// Why it was given up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fail_reason: Option<String>,
}

/// How many items are how far.
#[derive(Debug, Clone, Copy, Serialize, Deserialize, ToSchema)]
#[schema(as = StatsJson)]
pub struct QueueStatsBody {
    pub total: usize,
    pub queued: usize,
    pub processing: usize,
    pub completed: usize,
    pub failed: usize,
    pub skipped: usize,
}

/// A queue and how far it is.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[schema(as = WholeQueue)]
pub struct QueueReply {
    pub queue: QueueBody,
    pub stats: QueueStatsBody,
}

/// The items of a queue and how far it is.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[schema(as = QueueItems)]
pub struct QueueItemsReply {
    pub items: Vec<QueueItemBody>,
    pub stats: QueueStatsBody,
}

/// The item whose turn it is.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Top)]
pub struct QueueTopReply {
    /// Whether there is one.
    pub has_more: bool,
    pub item: Option<QueueItemBody>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// The item that was started.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[schema(as = Started)]
pub struct QueueStartReply {
    /// Always true.
    pub success: bool,
    pub item: Option<QueueItemBody>,
    /// True when there was none left.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub empty: Option<bool>,
    pub message: String,
}

/// The item that ended, under the name of how it ended, and the next one.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Ended)]
pub struct QueueEndReply {
    /// Always true.
    pub success: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub completed_item: Option<QueueItemBody>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failed_item: Option<QueueItemBody>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub skipped_item: Option<QueueItemBody>,
    pub next_item: Option<QueueItemBody>,
    /// Whether there is a next one.
    pub has_more: bool,
    pub message: String,
}

/// Why an item was given up.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[schema(as = Failure)]
pub struct QueueFailure {
    pub reason: Option<String>,
}

/// A task for a queue.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = NewItem)]
pub struct NewQueueItem {
    #[schema(value_type = IdText)]
    pub task_id: Option<String>,
}

/// That a task is in the queue.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[schema(as = Pushed)]
pub struct QueuePushReply {
    /// Always true.
    pub success: bool,
    pub item: QueueItemBody,
}

fn path(session: &str) -> String {
    format!("/api/sessions/{}/queue", in_path(session))
}

/// The items of a session's queue.
pub fn items(session: &str) -> ApiRequest<QueueItemsReply> {
    ApiRequest::get(format!("{}/items", path(session)))
}

/// A session's queue.
pub fn get(session: &str) -> ApiRequest<QueueReply> {
    ApiRequest::get(path(session))
}

/// The item whose turn it is.
pub fn top(session: &str) -> ApiRequest<QueueTopReply> {
    ApiRequest::get(format!("{}/top", path(session)))
}

/// Starts the next item.
pub fn start(session: &str) -> ApiRequest<QueueStartReply> {
    ApiRequest::step(format!("{}/start", path(session)), &EmptyBody {})
}

/// Ends the current item as done.
pub fn complete(session: &str) -> ApiRequest<QueueEndReply> {
    ApiRequest::step(format!("{}/complete", path(session)), &EmptyBody {})
}

/// Ends the current item as given up.
pub fn fail(session: &str, failure: &QueueFailure) -> ApiRequest<QueueEndReply> {
    ApiRequest::step(format!("{}/fail", path(session)), failure)
}

/// Leaves out the current item, or the next one.
pub fn skip(session: &str) -> ApiRequest<QueueEndReply> {
    ApiRequest::step(format!("{}/skip", path(session)), &EmptyBody {})
}

/// Puts one more task at the end.
pub fn push(session: &str, item: &NewQueueItem) -> ApiRequest<QueuePushReply> {
    ApiRequest::post(format!("{}/push", path(session)), item)
}

impl From<&TaskQueue> for QueueBody {
    fn from(queue: &TaskQueue) -> Self {
        Self {
            session_id: queue.session_id.to_string(),
            strategy: Cow::Borrowed("queue"),
            current_index: queue.current_index,
            created_at: queue.created_at,
            updated_at: queue.updated_at,
            items: queue.items.iter().cloned().map(Into::into).collect(),
        }
    }
}

impl From<QueueItem> for QueueItemBody {
    fn from(item: QueueItem) -> Self {
        Self {
            task_id: item.task_id.into(),
            status: item.status,
            added_at: item.added_at,
            started_at: item.started_at,
            completed_at: item.completed_at,
            fail_reason: item.fail_reason,
        }
    }
}

impl From<QueueStats> for QueueStatsBody {
    fn from(stats: QueueStats) -> Self {
        let QueueStats { total, queued, processing, completed, failed, skipped } = stats;
        Self { total, queued, processing, completed, failed, skipped }
    }
}
