//! Sessions over HTTP.

use std::collections::HashSet;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::{Router, routing};
use maestro_api::fields::{DeletedReply, FieldSet, NamedFields, PageQuery};
use maestro_api::list_items::SessionItem;
use maestro_api::schemas::{IdText, RevisionText};
use maestro_api::sessions::{
    NewSession, NewSessionEvent, NewTimelineLine, SessionBody, SessionChange, SessionQuery, SessionSummary,
    TimelineBody, drop_masks,
};
use maestro_core::SessionRole;
use maestro_core::id::{ProjectId, SessionId, TaskId};
use maestro_core::session::{Approach, EntryKind, SessionStatus};
use maestro_store::{
    AddSessionEvent, AddTimelineEntry, BindTask, CreateSession, DeleteSession, LivenessFilter, NewTimelineEntry,
    SessionFilter, SessionList, TimelineQuery, TimelineRange, UnbindTask, UpdateSession,
};
use serde_json::Value as Json_;
use utoipa::OpenApi;

use super::{ApiFailures, etag_response, list_response};
use crate::app::AppState;
use crate::caller::{Caller, CallingActor};
use crate::error::ApiError;
use crate::extract::{
    ExpectedRevision, IdempotencyHeader, JsonBody, PagingParams, PathId, PathIds, UrlQuery, parse_word, required,
};
use crate::full_session::{FullSession, FullSessions};
use crate::json_reply::JsonReply;

pub(super) fn routes() -> Router<AppState> {
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
pub(super) struct SessionsApiDoc;

/// Sessions, oldest first
#[utoipa::path(get, path = "/api/sessions", tag = "sessions", params(SessionQuery, PageQuery),
    responses((status = 200, body = [SessionItem]), ApiFailures))]
async fn list(
    State(app): State<AppState>,
    UrlQuery(wanted): UrlQuery<SessionQuery>,
    PagingParams(page): PagingParams,
) -> Result<Response, ApiError> {
    let liveness = match wanted.active.as_deref() {
        Some("true") => LivenessFilter::NotCompleted,
        Some("alive") => LivenessFilter::Alive,
        _ => LivenessFilter::Any,
    };
    let filter = SessionFilter {
        project: parse_word::<ProjectId>("projectId", wanted.project_id.as_deref())?,
        task: parse_word::<TaskId>("taskId", wanted.task_id.as_deref())?,
        status: parse_word::<SessionStatus>("status", wanted.status.as_deref())?,
        liveness,
    };
    let sessions = SessionList { filter, page };
    Ok(match wanted.fields.unwrap_or_default() {
        FieldSet::Full => list_response(app.store.read(FullSessions(sessions)).await?, |session| session),
        FieldSet::Summary => list_response(app.store.read(sessions).await?, SessionSummary::from),
    })
}

/// Start a session
#[utoipa::path(post, path = "/api/sessions", tag = "sessions", request_body = NewSession,
    params(IdempotencyHeader), responses((status = 201, body = SessionBody), ApiFailures))]
async fn create(
    State(app): State<AppState>,
    caller: Caller,
    JsonBody { value, once }: JsonBody<NewSession>,
) -> Result<Response, ApiError> {
    caller.refuse_workers("begin sessions")?;
    let actor = caller.actor();
    let project = parse_word::<ProjectId>("projectId", value.project_id.as_deref())?;
    caller.check_project(project.as_ref())?;
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
        id: parse_word("id", value.id.as_deref())?,
        project: project.ok_or_else(|| ApiError::invalid("Project ID is required"))?,
        tasks,
        name: value.name.filter(|name| !name.trim().is_empty()),
        role: named.as_deref().map(role).transpose()?.unwrap_or(SessionRole::Worker),
        agent: value.agent_id,
        strategy: parse_word("strategy", value.strategy.as_deref())?.unwrap_or(Approach::Simple),
        status: parse_word("status", value.status.as_deref())?.unwrap_or(SessionStatus::Idle),
        env: value.env.unwrap_or_default(),
        metadata,
        parent: actor.session().cloned(),
        hostname: app.facts.hostname.clone(),
        platform: std::env::consts::OS.to_owned(),
    };
    let session = app.store.write_once(change, once).await?;
    let session = app.store.read(FullSession(session.id)).await?;
    Ok((StatusCode::CREATED, etag_response(session.revision, session)).into_response())
}

/// The role that a word of any age names.
fn role(word: &str) -> Result<SessionRole, ApiError> {
    match word {
        "worker" | "execute" | "coordinated-worker" => Ok(SessionRole::Worker),
        "orchestrator" | "coordinator" | "coordinate" | "coordinated-coordinator" => Ok(SessionRole::Orchestrator),
        _ => Err(ApiError::field("role", "must be \"worker\" or \"orchestrator\"")),
    }
}

/// One session with the end of its timeline
#[utoipa::path(get, path = "/api/sessions/{id}", tag = "sessions", params(("id" = IdText, Path)),
    responses((status = 200, body = SessionBody), ApiFailures))]
async fn get(State(app): State<AppState>, PathId(id): PathId<SessionId>) -> Result<Response, ApiError> {
    session_response(&app, id).await
}

pub(super) async fn session_response(app: &AppState, id: SessionId) -> Result<Response, ApiError> {
    let session = app.store.read(FullSession(id)).await?;
    Ok(etag_response(session.revision, session))
}

/// Change a session
#[utoipa::path(patch, path = "/api/sessions/{id}", tag = "sessions", request_body = SessionChange,
    params(("id" = IdText, Path), ("If-Match" = Option<RevisionText>, Header, description = "Only if it has this revision"), IdempotencyHeader),
    responses((status = 200, body = SessionBody), ApiFailures))]
async fn update(
    State(app): State<AppState>,
    CallingActor(actor): CallingActor,
    ExpectedRevision(expected): ExpectedRevision,
    PathId(id): PathId<SessionId>,
    JsonBody { value, once }: JsonBody<SessionChange>,
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
        status: parse_word("status", value.status.as_deref())?,
        needs_input: value.needs_input.map(|asks| Some(asks).filter(|asks| !asks.is_empty())),
        tasks: tasks.transpose()?,
        env: drop_masks(value.env.unwrap_or_default()),
        events,
        timeline,
        expected,
        ..UpdateSession::of(id.clone(), actor)
    };
    app.store.write_once(change, once).await?;
    session_response(&app, id).await
}

/// Remove a session; its tasks stay
#[utoipa::path(delete, path = "/api/sessions/{id}", tag = "sessions", params(("id" = IdText, Path)),
    responses((status = 200, body = DeletedReply), ApiFailures))]
async fn delete(
    State(app): State<AppState>,
    CallingActor(actor): CallingActor,
    PathId(id): PathId<SessionId>,
) -> Result<JsonReply<DeletedReply>, ApiError> {
    app.store.write(DeleteSession { id: id.clone(), actor }).await?;
    Ok(JsonReply(DeletedReply::of(&id)))
}

fn parse_event(event: NewSessionEvent) -> Result<(EntryKind, Option<Json_>), ApiError> {
    let kind = required(event.kind, "type is required")?;
    Ok((kind.parse().map_err(|error| ApiError::field("type", error))?, event.data))
}

/// Note something a session's tools did
#[utoipa::path(post, path = "/api/sessions/{id}/events", tag = "sessions", request_body = NewSessionEvent,
    params(("id" = IdText, Path), IdempotencyHeader), responses((status = 200, body = SessionBody), ApiFailures))]
async fn add_event(
    State(app): State<AppState>,
    CallingActor(actor): CallingActor,
    PathId(id): PathId<SessionId>,
    JsonBody { value, once }: JsonBody<NewSessionEvent>,
) -> Result<Response, ApiError> {
    let (kind, data) = parse_event(value)?;
    app.store.write_once(AddSessionEvent { session: id.clone(), kind, data, actor }, once).await?;
    session_response(&app, id).await
}

/// A session's whole timeline, oldest line first
#[utoipa::path(get, path = "/api/sessions/{id}/timeline", tag = "sessions", params(("id" = IdText, Path), PageQuery),
    responses((status = 200, body = [TimelineBody]), ApiFailures))]
async fn timeline(
    State(app): State<AppState>,
    PathId(session): PathId<SessionId>,
    PagingParams(page): PagingParams,
) -> Result<Response, ApiError> {
    let found = app.store.read(TimelineQuery { session, range: TimelineRange::From(page) }).await?;
    Ok(list_response(found, TimelineBody::from))
}

fn parse_line(line: NewTimelineLine) -> Result<NewTimelineEntry, ApiError> {
    Ok(NewTimelineEntry {
        kind: parse_word("type", line.kind.as_deref())?.unwrap_or_else(EntryKind::progress),
        message: required(line.message, "message is required")?,
        task: parse_word("taskId", line.task_id.as_deref())?,
        metadata: line.metadata.map(Json_::Object),
    })
}

/// Add a line to a session's timeline
#[utoipa::path(post, path = "/api/sessions/{id}/timeline", tag = "sessions", request_body = NewTimelineLine,
    params(("id" = IdText, Path), IdempotencyHeader), responses((status = 200, body = SessionBody), ApiFailures))]
async fn add_line(
    State(app): State<AppState>,
    CallingActor(actor): CallingActor,
    PathId(id): PathId<SessionId>,
    JsonBody { value, once }: JsonBody<NewTimelineLine>,
) -> Result<Response, ApiError> {
    app.store.write_once(AddTimelineEntry { session: id.clone(), entry: parse_line(value)?, actor }, once).await?;
    session_response(&app, id).await
}

/// Give a session another task
#[utoipa::path(post, path = "/api/sessions/{id}/tasks/{taskId}", tag = "sessions",
    params(("id" = IdText, Path), ("taskId" = IdText, Path)),
    responses((status = 200, body = SessionBody), ApiFailures))]
async fn bind(
    State(app): State<AppState>,
    CallingActor(actor): CallingActor,
    PathIds(session, task): PathIds<SessionId, TaskId>,
) -> Result<Response, ApiError> {
    app.store.write(BindTask { session: session.clone(), task, actor }).await?;
    session_response(&app, session).await
}

/// Take a task from a session
#[utoipa::path(delete, path = "/api/sessions/{id}/tasks/{taskId}", tag = "sessions",
    params(("id" = IdText, Path), ("taskId" = IdText, Path)),
    responses((status = 200, body = SessionBody), ApiFailures))]
async fn unbind(
    State(app): State<AppState>,
    CallingActor(actor): CallingActor,
    PathIds(session, task): PathIds<SessionId, TaskId>,
) -> Result<Response, ApiError> {
    app.store.write(UnbindTask { session: session.clone(), task, actor }).await?;
    session_response(&app, session).await
}
