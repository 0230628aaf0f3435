//! Reports of sessions, and the notices they receive in return.

use maestro_core::notice::SessionNotice;
use maestro_core::session::SessionStatus;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};
use utoipa::ToSchema;

use crate::fields::whole_number;
use crate::request::{ApiRequest, in_path};
use crate::schemas::{IdText, ReportWord, SessionStateWord};

/// How it goes.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct NewReport {
    /// progress unless said otherwise.
    #[schema(value_type = Option<ReportWord>)]
    pub kind: Option<String>,
    /// In the session's words. A report of progress without words is a sign of life.
    pub message: Option<String>,
    /// About which tasks. Without any: the session's only one, and all of them when it is done.
    #[schema(value_type = Option<Vec<IdText>>)]
    pub task_ids: Option<Vec<String>>,
    #[schema(value_type = Option<Object>)]
    pub metadata: Option<Map<String, Json>>,
    /// Whether the session takes back the question that it asked before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub withdraw: Option<bool>,
}

/// The result of a report, and what happened meanwhile.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = ReportAnswer)]
pub struct ReportReply {
    /// Always true.
    pub success: bool,
    #[schema(value_type = IdText)]
    pub session_id: String,
    /// Whether the session works.
    #[schema(value_type = SessionStateWord)]
    pub session_status: SessionStatus,
    /// Whether this was its last word.
    pub session_completed: bool,
    /// The tasks it was about.
    pub task_ids: Vec<String>,
    #[serde(flatten)]
    pub news: NoticeList,
}

/// What happened since a session last confirmed.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = News)]
pub struct NoticeList {
    /// For programs.
    #[schema(value_type = Vec<NoticeBody>)]
    pub notices: Vec<SessionNotice>,
    /// For people and models, a line each.
    pub changes: Vec<String>,
    /// Confirm with this that they were received; 0 when there is nothing to confirm.
    pub notice_cursor: i64,
}

/// Something that changed for a session, as [`SessionNotice`] is written.
#[derive(Debug, ToSchema)]
#[schema(as = NoticeJson)]
pub struct NoticeBody {
    /// What happened: `subtask_added`, `task_changed`, `task_deleted`, `task_assigned`, `task_unassigned`, `paused`,
    /// `resumed`, `cancelled`, `message`.
    pub kind: String,
    /// The task it is about.
    #[schema(value_type = Option<IdText>)]
    pub task: Option<String>,
    pub title: Option<String>,
    /// What a new subtask asks for, in full.
    pub description: Option<String>,
    /// What of the task changed.
    pub fields: Option<Vec<String>>,
    /// The message.
    #[schema(value_type = Option<IdText>)]
    pub id: Option<String>,
    pub from: Option<String>,
    pub text: Option<String>,
}

/// Up to where a session received notices.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Heard)]
pub struct NoticeConfirmation {
    /// The `noticeCursor` that came with them.
    #[serde(default, deserialize_with = "whole_number")]
    #[schema(value_type = i64, required = true, minimum = 0, maximum = 9_007_199_254_740_991_i64)]
    pub notice_cursor: Option<i64>,
    /// How they were received.
    pub how: Option<String>,
}

/// A session reports how it goes.
pub fn of_session(session: &str, report: &NewReport) -> ApiRequest<ReportReply> {
    ApiRequest::post(format!("/api/sessions/{}/reports", in_path(session)), report)
}

/// The session at work on a task reports how it goes.
pub fn of_task(task: &str, report: &NewReport) -> ApiRequest<ReportReply> {
    ApiRequest::post(format!("/api/tasks/{}/reports", in_path(task)), report)
}

/// Confirms that notices were received.
pub fn confirm(session: &str, confirmation: &NoticeConfirmation) -> ApiRequest<()> {
    ApiRequest::post(format!("/api/sessions/{}/notices/confirm", in_path(session)), confirmation)
}
