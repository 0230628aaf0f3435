//! What a session says of its work over HTTP, and what it hears in return.

use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use maestro_core::id::{SessionId, TaskId};
use maestro_core::notice::{self, Notice};
use maestro_core::report::ReportKind;
use maestro_core::session::SessionStatus;
use maestro_store::{Actor, Confirm, Notices, NoticesOf, Report, Reported, Who};
use serde::{Deserialize, Serialize};
use serde_json::Value as Json_;
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::Failures;
use crate::app::App;
use crate::caller::Caller;
use crate::error::ApiError;
use crate::extract::{OneId, Sent, word};

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(of_session))
        .routes(routes!(of_task))
        .routes(routes!(notices))
        .routes(routes!(confirm))
}

/// How it goes.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct NewReport {
    /// progress unless said otherwise; complete, blocked, error, needs-input.
    kind: Option<String>,
    /// In the session's words. A report of progress without words is a sign of life.
    message: Option<String>,
    /// About which tasks. Without any: the session's only one, and all of them when it is done.
    task_ids: Option<Vec<String>>,
    #[schema(value_type = Option<Object>)]
    metadata: Option<Json_>,
}

/// What came of a report, and what happened meanwhile.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct ReportAnswer {
    success: bool,
    session_id: String,
    /// Whether the session works.
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
    #[schema(value_type = Vec<Object>)]
    notices: Vec<Notice>,
    /// For people and models, a line each.
    changes: Vec<String>,
    /// Confirm with this that they were heard; 0 when there is nothing to confirm.
    notice_cursor: i64,
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
        metadata: value.metadata,
        actor,
    })
}

/// A session says how it goes, and hears what changed
#[utoipa::path(post, path = "/api/sessions/{id}/reports", tag = "reports", request_body = NewReport,
    params(("id" = String, Path),
        ("Idempotency-Key" = Option<String>, Header, description = "The same key reports once")),
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
    params(("id" = String, Path),
        ("Idempotency-Key" = Option<String>, Header, description = "The same key reports once")),
    responses((status = 200, body = ReportAnswer), Failures))]
async fn of_task(
    State(app): State<App>,
    Caller(actor): Caller,
    OneId(id): OneId<TaskId>,
    Sent { value, once }: Sent<NewReport>,
) -> Result<Json<ReportAnswer>, ApiError> {
    let who = match actor.session() {
        Some(session) => Who::Session(session.clone()),
        None => Who::Task(id),
    };
    let report = report(who, value, actor)?;
    Ok(Json(app.store.write_once(report, once).await?.into()))
}

/// What happened since a session last confirmed
#[utoipa::path(get, path = "/api/sessions/{id}/notices", tag = "reports", params(("id" = String, Path)),
    responses((status = 200, body = News), Failures))]
async fn notices(State(app): State<App>, OneId(id): OneId<SessionId>) -> Result<Json<News>, ApiError> {
    Ok(Json(app.store.read(NoticesOf(id)).await?.into()))
}

/// Up to where a session heard.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct Heard {
    /// The `noticeCursor` that came with them.
    notice_cursor: i64,
    /// How they were heard.
    how: Option<String>,
}

/// Confirm that notices were heard; messages among them count as delivered from now on
#[utoipa::path(post, path = "/api/sessions/{id}/notices/confirm", tag = "reports", request_body = Heard,
    params(("id" = String, Path)), responses((status = 204), Failures))]
async fn confirm(
    State(app): State<App>,
    Caller(actor): Caller,
    OneId(session): OneId<SessionId>,
    Sent { value, .. }: Sent<Heard>,
) -> Result<StatusCode, ApiError> {
    let how = value.how.unwrap_or_else(|| "reply".to_owned());
    app.store.write(Confirm { session, cursor: value.notice_cursor, how, actor }).await?;
    Ok(StatusCode::NO_CONTENT)
}
