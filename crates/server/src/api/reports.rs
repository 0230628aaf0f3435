//! What a session says of its work over HTTP, and what it hears in return.

use axum::extract::State;
use axum::http::StatusCode;
use axum::{Json, Router, routing};
use maestro_core::id::{SessionId, TaskId};
use maestro_core::notice::{self, Notice};
use maestro_core::report::ReportKind;
use maestro_core::session::SessionStatus;
use maestro_store::{Actor, Confirm, Notices, NoticesOf, Report, Reported, Who};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json_};
use utoipa::{OpenApi, ToSchema};

use super::Failures;
use crate::app::App;
use crate::caller::Caller;
use crate::error::ApiError;
use crate::extract::{LARGEST, OneId, Retry, Sent, whole_number, word};
use crate::wire::words::{Id, Report as ReportWord, SessionState};

pub(super) fn routes() -> Router<App> {
    Router::new()
        .route("/api/sessions/{id}/reports", routing::post(of_session))
        .route("/api/tasks/{id}/reports", routing::post(of_task))
        .route("/api/sessions/{id}/notices", routing::get(notices))
        .route("/api/sessions/{id}/notices/confirm", routing::post(confirm))
}

/// What describes them.
#[derive(OpenApi)]
#[openapi(paths(of_session, of_task, notices, confirm))]
pub(super) struct Document;

/// How it goes.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct NewReport {
    /// progress unless said otherwise.
    #[schema(value_type = Option<ReportWord>)]
    kind: Option<String>,
    /// In the session's words. A report of progress without words is a sign of life.
    message: Option<String>,
    /// About which tasks. Without any: the session's only one, and all of them when it is done.
    #[schema(value_type = Option<Vec<Id>>)]
    task_ids: Option<Vec<String>>,
    #[schema(value_type = Option<Object>)]
    metadata: Option<Map<String, Json_>>,
}

/// What came of a report, and what happened meanwhile.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct ReportAnswer {
    /// Always true.
    success: bool,
    #[schema(value_type = Id)]
    session_id: String,
    /// Whether the session works.
    #[schema(value_type = SessionState)]
    session_status: String,
    /// Whether this was its last word.
    session_completed: bool,
    /// The tasks it was about.
    task_ids: Vec<String>,
    #[serde(flatten)]
    news: News,
}

/// What happened since a session last confirmed.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct News {
    /// For programs.
    #[schema(value_type = Vec<NoticeJson>)]
    notices: Vec<Notice>,
    /// For people and models, a line each.
    changes: Vec<String>,
    /// Confirm with this that they were heard; 0 when there is nothing to confirm.
    notice_cursor: i64,
}

/// Something that changed under a session's feet.
#[derive(ToSchema)]
#[expect(dead_code, reason = "only describes what is sent")]
struct NoticeJson {
    /// What happened: `subtask_added`, `task_changed`, `task_deleted`, `task_assigned`, `task_unassigned`, `paused`,
    /// `resumed`, `cancelled`, `message`.
    kind: String,
    /// The task it is about.
    #[schema(value_type = Option<Id>)]
    task: Option<String>,
    title: Option<String>,
    /// What of the task changed.
    fields: Option<Vec<String>>,
    /// The message.
    #[schema(value_type = Option<Id>)]
    id: Option<String>,
    from: Option<String>,
    text: Option<String>,
}

impl From<Notices> for News {
    fn from(news: Notices) -> Self {
        Self { changes: notice::in_words(&news.notices), notices: news.notices, notice_cursor: news.cursor }
    }
}

impl From<Reported> for ReportAnswer {
    fn from(reported: Reported) -> Self {
        Self {
            success: true,
            session_id: reported.session.into(),
            session_status: reported.status.to_string(),
            session_completed: reported.status == SessionStatus::Completed,
            task_ids: reported.tasks.into_iter().map(Into::into).collect(),
            news: reported.news.into(),
        }
    }
}

fn report(who: Who, value: NewReport, actor: Actor) -> Result<Report, ApiError> {
    let parse = |text: String| text.parse::<TaskId>().map_err(|error| ApiError::field("taskIds", error));
    Ok(Report {
        who,
        kind: word("kind", value.kind.as_deref())?.unwrap_or(ReportKind::Progress),
        message: value.message.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty()),
        tasks: value.task_ids.unwrap_or_default().into_iter().map(parse).collect::<Result<_, _>>()?,
        metadata: value.metadata.map(Json_::Object),
        actor,
    })
}

/// A session says how it goes, and hears what changed
#[utoipa::path(post, path = "/api/sessions/{id}/reports", tag = "reports", request_body = NewReport,
    params(("id" = Id, Path), Retry),
    responses((status = 200, body = ReportAnswer), Failures))]
async fn of_session(
    State(app): State<App>,
    Caller(actor): Caller,
    OneId(id): OneId<SessionId>,
    Sent { value, once }: Sent<NewReport>,
) -> Result<Json<ReportAnswer>, ApiError> {
    let report = report(Who::Session(id), value, actor)?;
    Ok(Json(app.store.write_once(report, once).await?.into()))
}

/// Whoever works on a task says how it goes; a session is begun if there is none
#[utoipa::path(post, path = "/api/tasks/{id}/reports", tag = "reports", request_body = NewReport,
    params(("id" = Id, Path), Retry),
    responses((status = 200, body = ReportAnswer), Failures))]
async fn of_task(
    State(app): State<App>,
    Caller(actor): Caller,
    OneId(id): OneId<TaskId>,
    Sent { value, once }: Sent<NewReport>,
) -> Result<Json<ReportAnswer>, ApiError> {
    let who = match actor.session() {
        Some(session) => Who::At { session: session.clone(), task: id },
        None => Who::Task(id),
    };
    let report = report(who, value, actor)?;
    Ok(Json(app.store.write_once(report, once).await?.into()))
}

/// What happened since a session last confirmed
#[utoipa::path(get, path = "/api/sessions/{id}/notices", tag = "reports", params(("id" = Id, Path)),
    responses((status = 200, body = News), Failures))]
async fn notices(State(app): State<App>, OneId(id): OneId<SessionId>) -> Result<Json<News>, ApiError> {
    Ok(Json(app.store.read(NoticesOf(id)).await?.into()))
}

/// Up to where a session heard.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct Heard {
    /// The `noticeCursor` that came with them.
    #[serde(default, deserialize_with = "whole_number")]
    #[schema(value_type = i64, required = true, minimum = 0, maximum = 9_007_199_254_740_991_i64)]
    notice_cursor: Option<i64>,
    /// How they were heard.
    how: Option<String>,
}

/// Confirm that notices were heard; messages among them count as delivered from now on
#[utoipa::path(post, path = "/api/sessions/{id}/notices/confirm", tag = "reports", request_body = Heard,
    params(("id" = Id, Path)), responses((status = 204), Failures))]
async fn confirm(
    State(app): State<App>,
    Caller(actor): Caller,
    OneId(session): OneId<SessionId>,
    Sent { value, .. }: Sent<Heard>,
) -> Result<StatusCode, ApiError> {
    let how = value.how.unwrap_or_else(|| "reply".to_owned());
    let cursor = value.notice_cursor.ok_or_else(|| ApiError::field("noticeCursor", "is required"))?;
    if !(0..=LARGEST).contains(&cursor) {
        return Err(ApiError::field("noticeCursor", "must come from `Maestro-Next-Cursor`"));
    }
    app.store.write(Confirm { session, cursor, how, actor }).await?;
    Ok(StatusCode::NO_CONTENT)
}
