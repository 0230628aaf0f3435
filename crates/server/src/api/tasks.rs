//! Tasks over HTTP.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::{Json, Router, routing};
use maestro_api::fields::{DeletedReply, FieldSet, PageQuery};
use maestro_api::tasks::{
    DeletionQuery, DepthQuery, NewTask, NewTaskLine, TaskBody, TaskChange, TaskLineReply, TaskQuery, TaskSummary,
};
use maestro_api::words::{IdText, RevisionText, TaskItem};
use maestro_core::id::{ProjectId, SessionId, TaskId};
use maestro_core::session::{EntryKind, PairStatus};
use maestro_core::task::{Priority, TaskStatus};
use maestro_store::{
    Actor, AddTimeline, CreateTask, DeleteTask, NewEntry, Subtasks, TaskById, TaskFilter, TaskPatch, Tasks, UpdateTask,
};
use utoipa::OpenApi;

use super::{Failures, listed, tagged};
use crate::app::App;
use crate::caller::Caller;
use crate::error::ApiError;
use crate::extract::{Asked, Expected, OneId, Paging, Retry, Sent, required, word};

pub(super) fn routes() -> Router<App> {
    Router::new()
        .route("/api/tasks", routing::get(list).post(create))
        .route("/api/tasks/{id}", routing::get(get).patch(update).delete(delete))
        .route("/api/tasks/{id}/children", routing::get(children))
        .route("/api/tasks/{id}/timeline", routing::post(add_line))
}

/// What describes them.
#[derive(OpenApi)]
#[openapi(paths(list, create, get, update, delete, children, add_line))]
pub(super) struct Document;

/// Tasks, oldest first
#[utoipa::path(get, path = "/api/tasks", tag = "tasks", params(TaskQuery, PageQuery),
    responses((status = 200, body = [TaskItem]), Failures))]
async fn list(
    State(app): State<App>,
    Asked(wanted): Asked<TaskQuery>,
    Paging(page): Paging,
) -> Result<Response, ApiError> {
    let parent = match wanted.parent_id.as_deref() {
        None => None,
        Some("null") => Some(None),
        Some(id) => Some(word::<TaskId>("parentId", Some(id))?),
    };
    let filter = TaskFilter {
        project: word::<ProjectId>("projectId", wanted.project_id.as_deref())?,
        status: word::<TaskStatus>("status", wanted.status.as_deref())?,
        parent,
        below: None,
        session: word::<SessionId>("sessionId", wanted.session_id.as_deref())?,
    };
    let found = app.store.read(Tasks { filter, page }).await?;
    Ok(match wanted.fields.unwrap_or_default() {
        FieldSet::Full => listed(found, TaskBody::from),
        FieldSet::Summary => listed(found, TaskSummary::from),
    })
}

/// Make a task
#[utoipa::path(post, path = "/api/tasks", tag = "tasks", request_body = NewTask,
    params(Retry), responses((status = 201, body = TaskBody), Failures))]
async fn create(
    State(app): State<App>,
    Caller(actor): Caller,
    Sent { value, once }: Sent<NewTask>,
) -> Result<Response, ApiError> {
    let project = word::<ProjectId>("projectId", value.project_id.as_deref())?;
    let parent = word::<TaskId>("parentId", value.parent_id.as_deref())?;
    if project.is_none() && parent.is_none() {
        return Err(ApiError::invalid("Project ID is required"));
    }
    let change = CreateTask {
        project,
        parent,
        title: required(value.title, "Task title is required")?,
        description: value.description.unwrap_or_default(),
        priority: word::<Priority>("priority", value.priority.as_deref())?.unwrap_or_default(),
        initial_prompt: value.initial_prompt.unwrap_or_default(),
        skills: value.skill_ids.unwrap_or_default(),
        dependencies: ids("dependencies", value.dependencies)?.unwrap_or_default(),
        model: value.model,
        actor,
    };
    let task = app.store.write_once(change, once).await?;
    Ok((StatusCode::CREATED, tagged(task.revision, TaskBody::from(task))).into_response())
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
    responses((status = 200, body = TaskBody), Failures))]
async fn get(State(app): State<App>, OneId(id): OneId<TaskId>) -> Result<Response, ApiError> {
    let task = app.store.read(TaskById(id)).await?;
    Ok(tagged(task.revision, TaskBody::from(task)))
}

/// Change a task
#[utoipa::path(patch, path = "/api/tasks/{id}", tag = "tasks", request_body = TaskChange,
    params(("id" = IdText, Path), ("If-Match" = Option<RevisionText>, Header, description = "Only if it has this revision"), Retry),
    responses((status = 200, body = TaskBody), Failures))]
async fn update(
    State(app): State<App>,
    Caller(actor): Caller,
    Expected(expected): Expected,
    OneId(id): OneId<TaskId>,
    Sent { value, once }: Sent<TaskChange>,
) -> Result<Response, ApiError> {
    let session = word::<SessionId>("sessionId", value.session_id.as_deref())?.or_else(|| actor.session().cloned());
    let said = said(&value)?;
    let pair = match (session, said) {
        (Some(session), Some(said)) => Some((session, said)),
        (None, Some(_)) => return Err(ApiError::field("sessionId", "is needed with sessionStatus")),
        (_, None) => None,
    };
    let by_session = value.update_source.as_deref() == Some("session");
    let patch = if by_session { TaskPatch::default() } else { patch(value)? };
    let task = app.store.write_once(UpdateTask { id, patch, pair, expected, actor }, once).await?;
    Ok(tagged(task.revision, TaskBody::from(task)))
}

/// How a session stands to the task; old clients say `failed` where they mean that the session failed.
fn said(value: &TaskChange) -> Result<Option<PairStatus>, ApiError> {
    let failed = value.status.as_deref().is_some_and(|status| status.eq_ignore_ascii_case("failed"));
    match &value.session_status {
        None if failed && value.session_id.is_some() => Ok(Some(PairStatus::Failed)),
        status => word("sessionStatus", status.as_deref()),
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
        status: word("status", value.status.as_deref())?,
        priority: word("priority", value.priority.as_deref())?,
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
    responses((status = 200, body = DeletedReply), Failures))]
async fn delete(
    State(app): State<App>,
    Caller(actor): Caller,
    OneId(id): OneId<TaskId>,
    Asked(deletion): Asked<DeletionQuery>,
) -> Result<Json<DeletedReply>, ApiError> {
    let subtasks = if deletion.cascade.unwrap_or_default() { Subtasks::Delete } else { Subtasks::Keep };
    app.store.write(DeleteTask { id: id.clone(), subtasks, actor }).await?;
    Ok(Json(DeletedReply::of(&id)))
}

/// The subtasks of a task
#[utoipa::path(get, path = "/api/tasks/{id}/children", tag = "tasks", params(("id" = IdText, Path), DepthQuery),
    responses((status = 200, body = [TaskBody]), Failures))]
async fn children(
    State(app): State<App>,
    OneId(id): OneId<TaskId>,
    Asked(depth): Asked<DepthQuery>,
) -> Result<Response, ApiError> {
    app.store.read(TaskById(id.clone())).await?;
    let filter = if depth.recursive.unwrap_or_default() {
        TaskFilter { below: Some(id), ..TaskFilter::default() }
    } else {
        TaskFilter { parent: Some(Some(id)), ..TaskFilter::default() }
    };
    let found = app.store.read(Tasks { filter, ..Tasks::default() }).await?;
    Ok(listed(found, TaskBody::from))
}

/// Add a line about a task to a session's timeline
#[utoipa::path(post, path = "/api/tasks/{id}/timeline", tag = "tasks", request_body = NewTaskLine,
    params(("id" = IdText, Path), Retry), responses((status = 200, body = TaskLineReply), Failures))]
async fn add_line(
    State(app): State<App>,
    Caller(actor): Caller,
    OneId(task): OneId<TaskId>,
    Sent { value, once }: Sent<NewTaskLine>,
) -> Result<Json<TaskLineReply>, ApiError> {
    let message = required(value.message, "message is required")?;
    let named = word::<SessionId>("sessionId", value.session_id.as_deref())?;
    let session = named.or_else(|| actor_session(&actor)).ok_or_else(|| ApiError::invalid("sessionId is required"))?;
    let kind = word("type", value.kind.as_deref())?.unwrap_or_else(EntryKind::progress);
    let added = TaskLineReply {
        success: true,
        task_id: task.to_string(),
        session_id: session.to_string(),
        message: message.clone(),
        kind: kind.as_str().to_owned(),
    };
    let entry = NewEntry { kind, message, task: Some(task), metadata: None };
    app.store.write_once(AddTimeline { session, entry, actor }, once).await?;
    Ok(Json(added))
}

fn actor_session(actor: &Actor) -> Option<SessionId> {
    actor.session().cloned()
}
