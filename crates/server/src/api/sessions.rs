//! Sessions over HTTP.

use std::collections::HashSet;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::{Json, Router, routing};
use maestro_core::Role;
use maestro_core::id::{ProjectId, SessionId, TaskId};
use maestro_core::session::{Approach, EntryKind, Session, SessionStatus, TimelineEntry};
use maestro_store::{
    AddSessionEvent, AddTimeline, BindTask, CreateSession, DeleteSession, Living, NewEntry, Part, SessionFilter,
    Sessions, Timeline, UnbindTask, UpdateSession,
};
use serde::Deserialize;
use serde_json::{Map, Value as Json_};
use utoipa::{IntoParams, OpenApi, ToSchema};

use super::{Failures, listed, tagged};
use crate::app::App;
use crate::caller::Caller;
use crate::error::ApiError;
use crate::extract::{Asked, Expected, Object, OneId, Paging, Retry, Sent, TwoIds, required, word};
use crate::wire::words::{Id, Kind, Part as RolePart, Revision, SessionItem, SessionState, Strategy, Text};
use crate::wire::{self, Deleted, EntryJson, Fields, FullSession, FullSessions, SessionJson, SessionSummary};

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

/// Which sessions are wanted.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
struct Wanted {
    /// Only this project's.
    #[param(value_type = Option<Id>)]
    project_id: Option<String>,
    /// Only those at work on this task.
    #[param(value_type = Option<Id>)]
    task_id: Option<String>,
    /// Only those in this status.
    #[param(value_type = Option<SessionState>)]
    status: Option<String>,
    /// `true` for all but the completed ones, `alive` for those that have not ended.
    active: Option<String>,
    /// `summary` for what a table shows.
    #[param(inline)]
    fields: Option<Fields>,
    /// How many at most.
    #[param(minimum = 1, maximum = 10_000)]
    limit: Option<i64>,
    /// The `Maestro-Next-Cursor` of the part before.
    #[param(minimum = 0, maximum = 9_007_199_254_740_991_i64)]
    cursor: Option<i64>,
}

/// Sessions, oldest first
#[utoipa::path(get, path = "/api/sessions", tag = "sessions", params(Wanted),
    responses((status = 200, body = [SessionItem]), Failures))]
async fn list(State(app): State<App>, Asked(wanted): Asked<Wanted>) -> Result<Response, ApiError> {
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
    let page = Paging { limit: wanted.limit, cursor: wanted.cursor }.page()?;
    let sessions = Sessions { filter, page };
    Ok(match wanted.fields.unwrap_or_default() {
        Fields::Full => listed::<SessionJson, SessionJson>(app.store.read(FullSessions(sessions)).await?),
        Fields::Summary => listed::<Session, SessionSummary>(app.store.read(sessions).await?),
    })
}

/// What a session is made of.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct NewSession {
    /// The id it shall have.
    #[schema(value_type = Option<Id>)]
    id: Option<String>,
    #[schema(value_type = Id)]
    project_id: Option<String>,
    /// Its tasks, the main one first.
    #[schema(value_type = Option<Vec<Id>>)]
    task_ids: Option<Vec<String>>,
    /// Its only task, where `taskIds` is left out.
    #[schema(value_type = Option<Id>)]
    task_id: Option<String>,
    name: Option<String>,
    agent_id: Option<String>,
    #[schema(value_type = Option<RolePart>)]
    role: Option<String>,
    /// The same in newer words: `execute`, `coordinate` and theirs.
    #[schema(value_type = Option<RolePart>)]
    mode: Option<String>,
    #[schema(value_type = Option<Strategy>)]
    strategy: Option<String>,
    /// idle unless said otherwise.
    #[schema(value_type = Option<SessionState>)]
    status: Option<String>,
    #[schema(value_type = Option<Object>)]
    env: Option<Map<String, Json_>>,
    #[schema(value_type = Option<Object>)]
    metadata: Option<Map<String, Json_>>,
}

/// Begin a session
#[utoipa::path(post, path = "/api/sessions", tag = "sessions", request_body = NewSession,
    params(Retry), responses((status = 201, body = SessionJson), Failures))]
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
#[utoipa::path(get, path = "/api/sessions/{id}", tag = "sessions", params(("id" = Id, Path)),
    responses((status = 200, body = SessionJson), Failures))]
async fn get(State(app): State<App>, OneId(id): OneId<SessionId>) -> Result<Response, ApiError> {
    whole(&app, id).await
}

pub(super) async fn whole(app: &App, id: SessionId) -> Result<Response, ApiError> {
    let session = app.store.read(FullSession(id)).await?;
    Ok(tagged(session.revision, session))
}

/// What of a session is to change.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct SessionChange {
    #[schema(value_type = Option<Text>)]
    name: Option<String>,
    #[schema(value_type = Option<Vec<Id>>)]
    task_ids: Option<Vec<String>>,
    #[schema(value_type = Option<SessionState>)]
    status: Option<String>,
    agent_id: Option<String>,
    /// Variables to add.
    #[schema(value_type = Option<Object>)]
    env: Option<Map<String, Json_>>,
    /// Things its tools did, to add.
    #[schema(value_type = Option<Vec<NewEvent>>)]
    events: Option<Vec<Object<NewEvent>>>,
    /// Lines to add.
    #[schema(value_type = Option<Vec<NewLine>>)]
    timeline: Option<Vec<Object<NewLine>>>,
    /// What it asks of a person; an empty text when it asks no more.
    needs_input: Option<String>,
}

/// Change a session
#[utoipa::path(patch, path = "/api/sessions/{id}", tag = "sessions", request_body = SessionChange,
    params(("id" = Id, Path), ("If-Match" = Option<Revision>, Header, description = "Only if it has this revision"), Retry),
    responses((status = 200, body = SessionJson), Failures))]
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
    let events =
        value.events.unwrap_or_default().into_iter().map(|Object(event)| event.parse()).collect::<Result<_, _>>()?;
    let timeline =
        value.timeline.unwrap_or_default().into_iter().map(|Object(line)| line.parse()).collect::<Result<_, _>>()?;
    let change = UpdateSession {
        name: value.name.map(|name| required(Some(name), "Session name cannot be empty")).transpose()?,
        agent: value.agent_id,
        status: word("status", value.status.as_deref())?,
        needs_input: value.needs_input.map(|asks| Some(asks).filter(|asks| !asks.is_empty())),
        tasks: tasks.transpose()?,
        env: wire::without_masks(value.env.unwrap_or_default()),
        events,
        timeline,
        expected,
        ..UpdateSession::of(id.clone(), actor)
    };
    app.store.write_once(change, once).await?;
    whole(&app, id).await
}

/// Remove a session; its tasks stay
#[utoipa::path(delete, path = "/api/sessions/{id}", tag = "sessions", params(("id" = Id, Path)),
    responses((status = 200, body = Deleted), Failures))]
async fn delete(
    State(app): State<App>,
    Caller(actor): Caller,
    OneId(id): OneId<SessionId>,
) -> Result<Json<Deleted>, ApiError> {
    app.store.write(DeleteSession { id: id.clone(), actor }).await?;
    Ok(Json(Deleted::of(&id)))
}

/// Something a session's tools did.
#[derive(Debug, Deserialize, ToSchema)]
struct NewEvent {
    #[serde(rename = "type")]
    #[schema(value_type = Kind)]
    kind: Option<String>,
    /// What exactly, in whatever form.
    #[schema(value_type = Option<Value>)]
    data: Option<Json_>,
}

impl NewEvent {
    fn parse(self) -> Result<(EntryKind, Option<Json_>), ApiError> {
        let kind = required(self.kind, "type is required")?;
        Ok((kind.parse().map_err(|error| ApiError::field("type", error))?, self.data))
    }
}

/// Note something a session's tools did
#[utoipa::path(post, path = "/api/sessions/{id}/events", tag = "sessions", request_body = NewEvent,
    params(("id" = Id, Path), Retry), responses((status = 200, body = SessionJson), Failures))]
async fn add_event(
    State(app): State<App>,
    Caller(actor): Caller,
    OneId(id): OneId<SessionId>,
    Sent { value, once }: Sent<NewEvent>,
) -> Result<Response, ApiError> {
    let (kind, data) = value.parse()?;
    app.store.write_once(AddSessionEvent { session: id.clone(), kind, data, actor }, once).await?;
    whole(&app, id).await
}

/// A session's whole timeline, oldest line first
#[utoipa::path(get, path = "/api/sessions/{id}/timeline", tag = "sessions", params(("id" = Id, Path), Paging),
    responses((status = 200, body = [EntryJson]), Failures))]
async fn timeline(
    State(app): State<App>,
    OneId(session): OneId<SessionId>,
    Asked(paging): Asked<Paging>,
) -> Result<Response, ApiError> {
    let found = app.store.read(Timeline { session, part: Part::From(paging.page()?) }).await?;
    Ok(listed::<TimelineEntry, EntryJson>(found))
}

/// A line for a timeline.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct NewLine {
    /// `progress` unless said otherwise.
    #[serde(rename = "type")]
    #[schema(value_type = Option<Kind>)]
    kind: Option<String>,
    #[schema(value_type = Text)]
    message: Option<String>,
    #[schema(value_type = Option<Id>)]
    task_id: Option<String>,
    #[schema(value_type = Option<Object>)]
    metadata: Option<Map<String, Json_>>,
}

impl NewLine {
    fn parse(self) -> Result<NewEntry, ApiError> {
        Ok(NewEntry {
            kind: word("type", self.kind.as_deref())?.unwrap_or_else(EntryKind::progress),
            message: required(self.message, "message is required")?,
            task: word("taskId", self.task_id.as_deref())?,
            metadata: self.metadata.map(Json_::Object),
        })
    }
}

/// Add a line to a session's timeline
#[utoipa::path(post, path = "/api/sessions/{id}/timeline", tag = "sessions", request_body = NewLine,
    params(("id" = Id, Path), Retry), responses((status = 200, body = SessionJson), Failures))]
async fn add_line(
    State(app): State<App>,
    Caller(actor): Caller,
    OneId(id): OneId<SessionId>,
    Sent { value, once }: Sent<NewLine>,
) -> Result<Response, ApiError> {
    app.store.write_once(AddTimeline { session: id.clone(), entry: value.parse()?, actor }, once).await?;
    whole(&app, id).await
}

/// Give a session another task
#[utoipa::path(post, path = "/api/sessions/{id}/tasks/{taskId}", tag = "sessions",
    params(("id" = Id, Path), ("taskId" = Id, Path)),
    responses((status = 200, body = SessionJson), Failures))]
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
    params(("id" = Id, Path), ("taskId" = Id, Path)),
    responses((status = 200, body = SessionJson), Failures))]
async fn unbind(
    State(app): State<App>,
    Caller(actor): Caller,
    TwoIds(session, task): TwoIds<SessionId, TaskId>,
) -> Result<Response, ApiError> {
    app.store.write(UnbindTask { session: session.clone(), task, actor }).await?;
    whole(&app, session).await
}
