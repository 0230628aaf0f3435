//! Reports of sessions over HTTP, and the notices they receive in return.

use axum::extract::State;
use axum::http::StatusCode;
use axum::{Router, routing};
use maestro_api::reports::{NewReport, NoticeConfirmation, NoticeList, ReportReply};
use maestro_api::schemas::IdText;
use maestro_core::id::{SessionId, TaskId};
use maestro_core::notice;
use maestro_core::report::ReportKind;
use maestro_core::session::SessionStatus;
use maestro_store::{
    Actor, ConfirmNotices, PendingNotices, QuestionFate, ReportResult, ReportSource, SessionNotices, SubmitReport,
};
use serde_json::Value as Json_;
use utoipa::OpenApi;

use super::ApiFailures;
use crate::app::AppState;
use crate::caller::CallingActor;
use crate::error::ApiError;
use crate::extract::{IdempotencyHeader, JsonBody, LARGEST, PathId, parse_word};
use crate::json_reply::JsonReply;

pub(super) fn routes() -> Router<AppState> {
    Router::new()
        .route("/api/sessions/{id}/reports", routing::post(session_report))
        .route("/api/tasks/{id}/reports", routing::post(task_report))
        .route("/api/sessions/{id}/notices", routing::get(notices))
        .route("/api/sessions/{id}/notices/confirm", routing::post(confirm))
}

/// What describes them.
#[derive(OpenApi)]
#[openapi(paths(session_report, task_report, notices, confirm))]
pub(super) struct ReportsApiDoc;

fn notice_list(news: PendingNotices) -> NoticeList {
    NoticeList { changes: notice::describe_notices(&news.notices), notices: news.notices, notice_cursor: news.cursor }
}

fn reply(reported: ReportResult) -> ReportReply {
    ReportReply {
        success: true,
        session_id: reported.session.into(),
        session_status: reported.status,
        session_completed: reported.status == SessionStatus::Completed,
        task_ids: reported.tasks.into_iter().map(Into::into).collect(),
        news: notice_list(reported.news),
    }
}

fn report(who: ReportSource, value: NewReport, actor: Actor) -> Result<SubmitReport, ApiError> {
    let parse = |text: String| text.parse::<TaskId>().map_err(|error| ApiError::field("taskIds", error));
    Ok(SubmitReport {
        source: who,
        kind: parse_word("kind", value.kind.as_deref())?.unwrap_or(ReportKind::Progress),
        message: value.message.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty()),
        tasks: value.task_ids.unwrap_or_default().into_iter().map(parse).collect::<Result<_, _>>()?,
        metadata: value.metadata.map(Json_::Object),
        question: if value.withdraw == Some(true) { QuestionFate::Withdrawn } else { QuestionFate::Stays },
        actor,
    })
}

/// Report progress of a session and receive updates
#[utoipa::path(post, path = "/api/sessions/{id}/reports", tag = "reports", request_body = NewReport,
    params(("id" = IdText, Path), IdempotencyHeader),
    responses((status = 200, body = ReportReply), ApiFailures))]
async fn session_report(
    State(app): State<AppState>,
    CallingActor(actor): CallingActor,
    PathId(id): PathId<SessionId>,
    JsonBody { value, once }: JsonBody<NewReport>,
) -> Result<JsonReply<ReportReply>, ApiError> {
    let report = report(ReportSource::Session(id), value, actor)?;
    Ok(JsonReply(reply(app.store.write_once(report, once).await?)))
}

/// Report progress on a task; a session is started if there is none
#[utoipa::path(post, path = "/api/tasks/{id}/reports", tag = "reports", request_body = NewReport,
    params(("id" = IdText, Path), IdempotencyHeader),
    responses((status = 200, body = ReportReply), ApiFailures))]
async fn task_report(
    State(app): State<AppState>,
    CallingActor(actor): CallingActor,
    PathId(id): PathId<TaskId>,
    JsonBody { value, once }: JsonBody<NewReport>,
) -> Result<JsonReply<ReportReply>, ApiError> {
    let who = match actor.session() {
        Some(session) => ReportSource::SessionTask { session: session.clone(), task: id },
        None => ReportSource::Task(id),
    };
    let report = report(who, value, actor)?;
    Ok(JsonReply(reply(app.store.write_once(report, once).await?)))
}

/// What happened since a session last confirmed
#[utoipa::path(get, path = "/api/sessions/{id}/notices", tag = "reports", params(("id" = IdText, Path)),
    responses((status = 200, body = NoticeList), ApiFailures))]
async fn notices(
    State(app): State<AppState>,
    PathId(id): PathId<SessionId>,
) -> Result<JsonReply<NoticeList>, ApiError> {
    Ok(JsonReply(notice_list(app.store.read(SessionNotices(id)).await?)))
}

/// Confirm received notices; messages among them count as delivered from now on
#[utoipa::path(post, path = "/api/sessions/{id}/notices/confirm", tag = "reports", request_body = NoticeConfirmation,
    params(("id" = IdText, Path)), responses((status = 204), ApiFailures))]
async fn confirm(
    State(app): State<AppState>,
    CallingActor(actor): CallingActor,
    PathId(session): PathId<SessionId>,
    JsonBody { value, .. }: JsonBody<NoticeConfirmation>,
) -> Result<StatusCode, ApiError> {
    let how = value.how.unwrap_or_else(|| "reply".to_owned());
    let cursor = value.notice_cursor.ok_or_else(|| ApiError::field("noticeCursor", "is required"))?;
    if !(0..=LARGEST).contains(&cursor) {
        return Err(ApiError::field("noticeCursor", "must come from `Maestro-Next-Cursor`"));
    }
    app.store.write(ConfirmNotices { session, cursor, how, actor }).await?;
    Ok(StatusCode::NO_CONTENT)
}
