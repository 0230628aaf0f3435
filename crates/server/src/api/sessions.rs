//! Sessions over HTTP.

use std::collections::HashSet;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::{Json, Router, routing};
use maestro_api::fields::{DeletedReply, FieldSet, NamedFields, PageQuery};
use maestro_api::sessions::{
    NewSession, NewSessionEvent, NewTimelineLine, SessionBody, SessionChange, SessionQuery, SessionSummary,
    TimelineBody, drop_masks,
};
use maestro_api::words::{IdText, RevisionText, SessionItem};
use maestro_core::Role;
use maestro_core::id::{ProjectId, SessionId, TaskId};
use maestro_core::session::{Approach, EntryKind, SessionStatus};
use maestro_store::{
    AddSessionEvent, AddTimeline, BindTask, CreateSession, DeleteSession, Living, NewEntry, Part, SessionFilter,
    Sessions, Timeline, UnbindTask, UpdateSession,
};
use serde_json::Value as Json_;
use utoipa::OpenApi;

use super::{Failures, listed, tagged};
use crate::app::App;
use crate::caller::Caller;
use crate::error::ApiError;
use crate::extract::{Asked, Expected, OneId, Paging, Retry, Sent, TwoIds, required, word};
use crate::full_session::{FullSession, FullSessions};

pub(super) fn routes() -> Router<App> {
    Router::new()
        .route("/api/sessions", routing::get(list).post(create))
        .route("/api/sessions/{id}", routing::get(get).patch(update).delete(delete))
        .route("/api/sessions/{id}/events", routing::post(add_event))
        .route("/api/sessions/{id}/timeline", routing::get(timeline).post(add_line))
        .route("/api/sessions/{id}/tasks/{taskId}", routing::post(bind).delete(unbind))
}

/// What describes them.
#[derive(OpenApi)]
#[openapi(paths(list, create, get, update, delete, add_event, timeline, add_line, bind, unbind))]
pub(super) struct Document;

/// Sessions, oldest first
#[utoipa::path(get, path = "/api/sessions", tag = "sessions", params(SessionQuery, PageQuery),
    responses((status = 200, body = [SessionItem]), Failures))]
async fn list(
    State(app): State<App>,
    Asked(wanted): Asked<SessionQuery>,
    Paging(page): Paging,
) -> Result<Response, ApiError> {
    let living = match wanted.active.as_deref() {
        Some("true") => Living::NotCompleted,
        Some("alive") => Living::Alive,
        _ => Living::Any,
    };
    let filter = SessionFilter {
        project: word::<ProjectId>("projectId", wanted.project_id.as_deref())?,
        task: word::<TaskId>("taskId", wanted.task_id.as_deref())?,
        status: word::<SessionStatus>("status", wanted.status.as_deref())?,
        living,
    };
    let sessions = Sessions { filter, page };
    Ok(match wanted.fields.unwrap_or_default() {
        FieldSet::Full => listed(app.store.read(FullSessions(sessions)).await?, |session| session),
        FieldSet::Summary => listed(app.store.read(sessions).await?, SessionSummary::from),
    })
}

/// Start a session
#[utoipa::path(post, path = "/api/sessions", tag = "sessions", request_body = NewSession,
    params(Retry), responses((status = 201, body = SessionBody), Failures))]
async fn create(
    State(app): State<App>,
    caller: Caller,
    Sent { value, once }: Sent<NewSession>,
) -> Result<Response, ApiError> {
    caller.not_a_worker("begin sessions")?;
    let Caller(actor) = caller;
    let project = word::<ProjectId>("projectId", value.project_id.as_deref())?;
    let tasks = match (value.task_ids, value.task_id) {
        (Some(tasks), _) => tasks,
        (None, Some(task)) => vec![task],
        (None, None) => return Err(ApiError::invalid("taskIds is required")),
    };
    let parse = |text: String| text.parse::<TaskId>().map_err(|error| ApiError::field("taskIds", error));
    let mut tasks: Vec<TaskId> = tasks.into_iter().map(parse).collect::<Result<_, _>>()?;
    let mut seen = HashSet::new();
    tasks.retain(|task| seen.insert(task.clone()));
    let metadata = value.metadata.unwrap_or_default();
    let named = value.role.or(value.mode).or_else(|| metadata.get("role")?.as_str().map(str::to_owned));
    let change = CreateSession {
        id: word("id", value.id.as_deref())?,
        project: project.ok_or_else(|| ApiError::invalid("Project ID is required"))?,
        tasks,
        name: value.name.filter(|name| !name.trim().is_empty()),
        role: named.as_deref().map(role).transpose()?.unwrap_or(Role::Worker),
        agent: value.agent_id,
        strategy: word("strategy", value.strategy.as_deref())?.unwrap_or(Approach::Simple),
        status: word("status", value.status.as_deref())?.unwrap_or(SessionStatus::Idle),
        env: value.env.unwrap_or_default(),
        metadata,
        parent: actor.session().cloned(),
        hostname: app.facts.hostname.clone(),
        platform: std::env::consts::OS.to_owned(),
    };
    let session = app.store.write_once(change, once).await?;
    let session = app.store.read(FullSession(session.id)).await?;
    Ok((StatusCode::CREATED, tagged(session.revision, session)).into_response())
}

/// The role that a word of any age names.
fn role(word: &str) -> Result<Role, ApiError> {
    match word {
        "worker" | "execute" | "coordinated-worker" => Ok(Role::Worker),
        "orchestrator" | "coordinator" | "coordinate" | "coordinated-coordinator" => Ok(Role::Orchestrator),
        _ => Err(ApiError::field("role", "must be \"worker\" or \"orchestrator\"")),
    }
}

/// One session with the end of its timeline
#[utoipa::path(get, path = "/api/sessions/{id}", tag = "sessions", params(("id" = IdText, Path)),
    responses((status = 200, body = SessionBody), Failures))]
async fn get(State(app): State<App>, OneId(id): OneId<SessionId>) -> Result<Response, ApiError> {
    whole(&app, id).await
}

pub(super) async fn whole(app: &App, id: SessionId) -> Result<Response, ApiError> {
    let session = app.store.read(FullSession(id)).await?;
    Ok(tagged(session.revision, session))
}

/// Change a session
#[utoipa::path(patch, path = "/api/sessions/{id}", tag = "sessions", request_body = SessionChange,
    params(("id" = IdText, Path), ("If-Match" = Option<RevisionText>, Header, description = "Only if it has this revision"), Retry),
    responses((status = 200, body = SessionBody), Failures))]
async fn update(
    State(app): State<App>,
    Caller(actor): Caller,
    Expected(expected): Expected,
    OneId(id): OneId<SessionId>,
    Sent { value, once }: Sent<SessionChange>,
) -> Result<Response, ApiError> {
    let tasks = value.task_ids.map(|ids| {
        ids.iter().map(|id| id.parse().map_err(|error| ApiError::field("taskIds", error))).collect::<Result<_, _>>()
    });
    let events = value
        .events
        .unwrap_or_default()
        .into_iter()
        .map(|NamedFields(event)| parse_event(event))
        .collect::<Result<_, _>>()?;
    let timeline = value
        .timeline
        .unwrap_or_default()
        .into_iter()
        .map(|NamedFields(line)| parse_line(line))
        .collect::<Result<_, _>>()?;
    let change = UpdateSession {
        name: value.name.map(|name| required(Some(name), "Session name cannot be empty")).transpose()?,
        agent: value.agent_id,
        status: word("status", value.status.as_deref())?,
        needs_input: value.needs_input.map(|asks| Some(asks).filter(|asks| !asks.is_empty())),
        tasks: tasks.transpose()?,
        env: drop_masks(value.env.unwrap_or_default()),
        events,
        timeline,
        expected,
        ..UpdateSession::of(id.clone(), actor)
    };
    app.store.write_once(change, once).await?;
    whole(&app, id).await
}

/// Remove a session; its tasks stay
#[utoipa::path(delete, path = "/api/sessions/{id}", tag = "sessions", params(("id" = IdText, Path)),
    responses((status = 200, body = DeletedReply), Failures))]
async fn delete(
    State(app): State<App>,
    Caller(actor): Caller,
    OneId(id): OneId<SessionId>,
) -> Result<Json<DeletedReply>, ApiError> {
    app.store.write(DeleteSession { id: id.clone(), actor }).await?;
    Ok(Json(DeletedReply::of(&id)))
}

fn parse_event(event: NewSessionEvent) -> Result<(EntryKind, Option<Json_>), ApiError> {
    let kind = required(event.kind, "type is required")?;
    Ok((kind.parse().map_err(|error| ApiError::field("type", error))?, event.data))
}

/// Note something a session's tools did
#[utoipa::path(post, path = "/api/sessions/{id}/events", tag = "sessions", request_body = NewSessionEvent,
    params(("id" = IdText, Path), Retry), responses((status = 200, body = SessionBody), Failures))]
async fn add_event(
    State(app): State<App>,
    Caller(actor): Caller,
    OneId(id): OneId<SessionId>,
    Sent { value, once }: Sent<NewSessionEvent>,
) -> Result<Response, ApiError> {
    let (kind, data) = parse_event(value)?;
    app.store.write_once(AddSessionEvent { session: id.clone(), kind, data, actor }, once).await?;
    whole(&app, id).await
}

/// A session's whole timeline, oldest line first
#[utoipa::path(get, path = "/api/sessions/{id}/timeline", tag = "sessions", params(("id" = IdText, Path), PageQuery),
    responses((status = 200, body = [TimelineBody]), Failures))]
async fn timeline(
    State(app): State<App>,
    OneId(session): OneId<SessionId>,
    Paging(page): Paging,
) -> Result<Response, ApiError> {
    let found = app.store.read(Timeline { session, part: Part::From(page) }).await?;
    Ok(listed(found, TimelineBody::from))
}

fn parse_line(line: NewTimelineLine) -> Result<NewEntry, ApiError> {
    Ok(NewEntry {
        kind: word("type", line.kind.as_deref())?.unwrap_or_else(EntryKind::progress),
        message: required(line.message, "message is required")?,
        task: word("taskId", line.task_id.as_deref())?,
        metadata: line.metadata.map(Json_::Object),
    })
}

/// Add a line to a session's timeline
#[utoipa::path(post, path = "/api/sessions/{id}/timeline", tag = "sessions", request_body = NewTimelineLine,
    params(("id" = IdText, Path), Retry), responses((status = 200, body = SessionBody), Failures))]
async fn add_line(
    State(app): State<App>,
    Caller(actor): Caller,
    OneId(id): OneId<SessionId>,
    Sent { value, once }: Sent<NewTimelineLine>,
) -> Result<Response, ApiError> {
    app.store.write_once(AddTimeline { session: id.clone(), entry: parse_line(value)?, actor }, once).await?;
    whole(&app, id).await
}

/// Give a session another task
#[utoipa::path(post, path = "/api/sessions/{id}/tasks/{taskId}", tag = "sessions",
    params(("id" = IdText, Path), ("taskId" = IdText, Path)),
    responses((status = 200, body = SessionBody), Failures))]
async fn bind(
    State(app): State<App>,
    Caller(actor): Caller,
    TwoIds(session, task): TwoIds<SessionId, TaskId>,
) -> Result<Response, ApiError> {
    app.store.write(BindTask { session: session.clone(), task, actor }).await?;
    whole(&app, session).await
}

/// Take a task from a session
#[utoipa::path(delete, path = "/api/sessions/{id}/tasks/{taskId}", tag = "sessions",
    params(("id" = IdText, Path), ("taskId" = IdText, Path)),
    responses((status = 200, body = SessionBody), Failures))]
async fn unbind(
    State(app): State<App>,
    Caller(actor): Caller,
    TwoIds(session, task): TwoIds<SessionId, TaskId>,
) -> Result<Response, ApiError> {
    app.store.write(UnbindTask { session: session.clone(), task, actor }).await?;
    whole(&app, session).await
}
