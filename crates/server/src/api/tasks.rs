//! Tasks over HTTP.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::{Router, routing};
use maestro_api::fields::{DeletedReply, FieldSet, PageQuery};
use maestro_api::list_items::TaskItem;
use maestro_api::schemas::{IdText, RevisionText};
use maestro_api::task_counts::{TaskCountBody, TaskCountQuery};
use maestro_api::tasks::{
    DeletionQuery, DepthQuery, NewTask, NewTaskLine, TaskBody, TaskChange, TaskLineReply, TaskQuery, TaskSummary,
};
use maestro_core::id::{ProjectId, SessionId, TaskId};
use maestro_core::session::{EntryKind, TaskSessionStatus};
use maestro_core::task::{TaskPriority, TaskStatus};
use maestro_store::{
    Actor, AddTimelineEntry, CreateTask, DeleteTask, NewTimelineEntry, SubtaskPolicy, TaskById, TaskFilter, TaskList,
    TaskNumbersQuery, TaskPatch, UpdateTask,
};
use utoipa::OpenApi;

use super::{ApiFailures, etag_response, list_response};
use crate::app::AppState;
use crate::caller::{Caller, CallingActor};
use crate::error::ApiError;
use crate::extract::{
    ExpectedRevision, IdempotencyHeader, JsonBody, PagingParams, PathId, UrlQuery, parse_word, required,
};
use crate::json_reply::JsonReply;

pub(super) fn routes() -> Router<AppState> {
    Router::new()
        .route("/api/tasks", routing::get(list).post(create))
        .route("/api/tasks/counts", routing::get(count))
        .route("/api/tasks/{id}", routing::get(get).patch(update).delete(delete))
        .route("/api/tasks/{id}/children", routing::get(children))
        .route("/api/tasks/{id}/timeline", routing::post(add_line))
}

/// What describes them.
#[derive(OpenApi)]
#[openapi(paths(list, count, create, get, update, delete, children, add_line))]
pub(super) struct TasksApiDoc;

/// Tasks, oldest first
#[utoipa::path(get, path = "/api/tasks", tag = "tasks", params(TaskQuery, PageQuery),
    responses((status = 200, body = [TaskItem]), ApiFailures))]
async fn list(
    State(app): State<AppState>,
    UrlQuery(wanted): UrlQuery<TaskQuery>,
    PagingParams(page): PagingParams,
) -> Result<Response, ApiError> {
    let parent = match wanted.parent_id.as_deref() {
        None => None,
        Some("null") => Some(None),
        Some(id) => Some(parse_word::<TaskId>("parentId", Some(id))?),
    };
    let filter = TaskFilter {
        project: parse_word::<ProjectId>("projectId", wanted.project_id.as_deref())?,
        status: parse_word::<TaskStatus>("status", wanted.status.as_deref())?,
        parent,
        below: None,
        session: parse_word::<SessionId>("sessionId", wanted.session_id.as_deref())?,
    };
    let found = app.store.read(TaskList { filter, page }).await?;
    Ok(match wanted.fields.unwrap_or_default() {
        FieldSet::Full => list_response(found, TaskBody::from),
        FieldSet::Summary => list_response(found, TaskSummary::from),
    })
}

/// How many tasks there are
#[utoipa::path(get, path = "/api/tasks/counts", tag = "tasks", params(TaskCountQuery),
    responses((status = 200, body = TaskCountBody), ApiFailures))]
async fn count(
    State(app): State<AppState>,
    caller: Caller,
    UrlQuery(wanted): UrlQuery<TaskCountQuery>,
) -> Result<JsonReply<TaskCountBody>, ApiError> {
    let project = caller.list_project(parse_word::<ProjectId>("projectId", wanted.project_id.as_deref())?)?;
    let numbers = app.store.read(TaskNumbersQuery { project }).await?;
    Ok(JsonReply(TaskCountBody::new(&numbers.tasks, numbers.asking)))
}

/// Make a task
#[utoipa::path(post, path = "/api/tasks", tag = "tasks", request_body = NewTask,
    params(IdempotencyHeader), responses((status = 201, body = TaskBody), ApiFailures))]
async fn create(
    State(app): State<AppState>,
    caller: Caller,
    JsonBody { value, once }: JsonBody<NewTask>,
) -> Result<Response, ApiError> {
    let actor = caller.actor();
    let project = parse_word::<ProjectId>("projectId", value.project_id.as_deref())?;
    caller.check_project(project.as_ref())?;
    let parent = parse_word::<TaskId>("parentId", value.parent_id.as_deref())?;
    if project.is_none() && parent.is_none() {
        return Err(ApiError::invalid("Project ID is required"));
    }
    let change = CreateTask {
        project,
        parent,
        title: required(value.title, "Task title is required")?,
        description: value.description.unwrap_or_default(),
        priority: parse_word::<TaskPriority>("priority", value.priority.as_deref())?.unwrap_or_default(),
        initial_prompt: value.initial_prompt.unwrap_or_default(),
        skills: value.skill_ids.unwrap_or_default(),
        dependencies: ids("dependencies", value.dependencies)?.unwrap_or_default(),
        model: value.model,
        actor,
    };
    let task = app.store.write_once(change, once).await?;
    Ok((StatusCode::CREATED, etag_response(task.revision, TaskBody::from(task))).into_response())
}

fn ids<I: std::str::FromStr<Err: std::fmt::Display>>(
    field: &str,
    texts: Option<Vec<String>>,
) -> Result<Option<Vec<I>>, ApiError> {
    let parse = |text: String| text.parse().map_err(|error| ApiError::field(field, error));
    texts.map(|texts| texts.into_iter().map(parse).collect()).transpose()
}

/// One task
#[utoipa::path(get, path = "/api/tasks/{id}", tag = "tasks", params(("id" = IdText, Path)),
    responses((status = 200, body = TaskBody), ApiFailures))]
async fn get(State(app): State<AppState>, PathId(id): PathId<TaskId>) -> Result<Response, ApiError> {
    let task = app.store.read(TaskById(id)).await?;
    Ok(etag_response(task.revision, TaskBody::from(task)))
}

/// Change a task
#[utoipa::path(patch, path = "/api/tasks/{id}", tag = "tasks", request_body = TaskChange,
    params(("id" = IdText, Path), ("If-Match" = Option<RevisionText>, Header, description = "Only if it has this revision"), IdempotencyHeader),
    responses((status = 200, body = TaskBody), ApiFailures))]
async fn update(
    State(app): State<AppState>,
    CallingActor(actor): CallingActor,
    ExpectedRevision(expected): ExpectedRevision,
    PathId(id): PathId<TaskId>,
    JsonBody { value, once }: JsonBody<TaskChange>,
) -> Result<Response, ApiError> {
    let session =
        parse_word::<SessionId>("sessionId", value.session_id.as_deref())?.or_else(|| actor.session().cloned());
    let said = session_status(&value)?;
    let task_session = match (session, said) {
        (Some(session), Some(said)) => Some((session, said)),
        (None, Some(_)) => return Err(ApiError::field("sessionId", "is needed with sessionStatus")),
        (_, None) => None,
    };
    let by_session = value.update_source.as_deref() == Some("session");
    let patch = if by_session { TaskPatch::default() } else { patch(value)? };
    let task = app.store.write_once(UpdateTask { id, patch, task_session, expected, actor }, once).await?;
    Ok(etag_response(task.revision, TaskBody::from(task)))
}

/// How a session stands to the task; old clients say `failed` where they mean that the session failed.
fn session_status(value: &TaskChange) -> Result<Option<TaskSessionStatus>, ApiError> {
    let failed = value.status.as_deref().is_some_and(|status| status.eq_ignore_ascii_case("failed"));
    match &value.session_status {
        None if failed && value.session_id.is_some() => Ok(Some(TaskSessionStatus::Failed)),
        status => parse_word("sessionStatus", status.as_deref()),
    }
}

fn patch(value: TaskChange) -> Result<TaskPatch, ApiError> {
    let title = match value.title {
        Some(title) => Some(required(Some(title), "Task title cannot be empty")?),
        None => None,
    };
    Ok(TaskPatch {
        title,
        description: value.description,
        status: parse_word("status", value.status.as_deref())?,
        priority: parse_word("priority", value.priority.as_deref())?,
        initial_prompt: value.initial_prompt,
        skills: value.skill_ids,
        agents: value.agent_ids,
        dependencies: ids("dependencies", value.dependencies)?,
        sessions: ids("sessionIds", value.session_ids)?,
        model: value.model,
    })
}

/// Remove a task
#[utoipa::path(delete, path = "/api/tasks/{id}", tag = "tasks", params(("id" = IdText, Path), DeletionQuery),
    responses((status = 200, body = DeletedReply), ApiFailures))]
async fn delete(
    State(app): State<AppState>,
    CallingActor(actor): CallingActor,
    PathId(id): PathId<TaskId>,
    UrlQuery(deletion): UrlQuery<DeletionQuery>,
) -> Result<JsonReply<DeletedReply>, ApiError> {
    let subtasks = if deletion.cascade.unwrap_or_default() { SubtaskPolicy::Delete } else { SubtaskPolicy::Keep };
    app.store.write(DeleteTask { id: id.clone(), subtasks, actor }).await?;
    Ok(JsonReply(DeletedReply::of(&id)))
}

/// The subtasks of a task
#[utoipa::path(get, path = "/api/tasks/{id}/children", tag = "tasks", params(("id" = IdText, Path), DepthQuery),
    responses((status = 200, body = [TaskBody]), ApiFailures))]
async fn children(
    State(app): State<AppState>,
    PathId(id): PathId<TaskId>,
    UrlQuery(depth): UrlQuery<DepthQuery>,
) -> Result<Response, ApiError> {
    app.store.read(TaskById(id.clone())).await?;
    let filter = if depth.recursive.unwrap_or_default() {
        TaskFilter { below: Some(id), ..TaskFilter::default() }
    } else {
        TaskFilter { parent: Some(Some(id)), ..TaskFilter::default() }
    };
    let found = app.store.read(TaskList { filter, ..TaskList::default() }).await?;
    Ok(list_response(found, TaskBody::from))
}

/// Add a line about a task to a session's timeline
#[utoipa::path(post, path = "/api/tasks/{id}/timeline", tag = "tasks", request_body = NewTaskLine,
    params(("id" = IdText, Path), IdempotencyHeader), responses((status = 200, body = TaskLineReply), ApiFailures))]
async fn add_line(
    State(app): State<AppState>,
    CallingActor(actor): CallingActor,
    PathId(task): PathId<TaskId>,
    JsonBody { value, once }: JsonBody<NewTaskLine>,
) -> Result<JsonReply<TaskLineReply>, ApiError> {
    let message = required(value.message, "message is required")?;
    let named = parse_word::<SessionId>("sessionId", value.session_id.as_deref())?;
    let session = named.or_else(|| actor_session(&actor)).ok_or_else(|| ApiError::invalid("sessionId is required"))?;
    let kind = parse_word("type", value.kind.as_deref())?.unwrap_or_else(EntryKind::progress);
    let added = TaskLineReply {
        success: true,
        task_id: task.to_string(),
        session_id: session.to_string(),
        message: message.clone(),
        kind: kind.as_str().to_owned(),
    };
    let entry = NewTimelineEntry { kind, message, task: Some(task), metadata: None };
    app.store.write_once(AddTimelineEntry { session, entry, actor }, once).await?;
    Ok(JsonReply(added))
}

fn actor_session(actor: &Actor) -> Option<SessionId> {
    actor.session().cloned()
}
