//! Tasks over HTTP.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::{Json, Router, routing};
use maestro_core::id::{ProjectId, SessionId, TaskId};
use maestro_core::session::{EntryKind, PairStatus};
use maestro_core::task::{Priority, Task, TaskStatus};
use maestro_store::{
    Actor, AddTimeline, CreateTask, DeleteTask, NewEntry, Subtasks, TaskById, TaskFilter, TaskPatch, Tasks, UpdateTask,
};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, OpenApi, ToSchema};

use super::{Failures, listed, tagged};
use crate::app::App;
use crate::caller::Caller;
use crate::error::ApiError;
use crate::extract::{Asked, Expected, OneId, Paging, Retry, Sent, required, word};
use crate::wire::words::{Id, IdOrNull, Kind, PairState, Revision, TaskItem, TaskState, Text, Urgency};
use crate::wire::{Deleted, Fields, TaskJson, TaskSummary};

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

/// Which tasks are wanted.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
struct Wanted {
    /// Only this project's.
    #[param(value_type = Option<Id>)]
    project_id: Option<String>,
    /// Only those in this status.
    #[param(value_type = Option<TaskState>)]
    status: Option<String>,
    /// Only the subtasks of this one; `null` for tasks that are no subtask.
    #[param(value_type = Option<IdOrNull>)]
    parent_id: Option<String>,
    /// Only those this session is bound to.
    #[param(value_type = Option<Id>)]
    session_id: Option<String>,
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

/// Tasks, oldest first
#[utoipa::path(get, path = "/api/tasks", tag = "tasks", params(Wanted),
    responses((status = 200, body = [TaskItem]), Failures))]
async fn list(State(app): State<App>, Asked(wanted): Asked<Wanted>) -> Result<Response, ApiError> {
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
    let page = Paging { limit: wanted.limit, cursor: wanted.cursor }.page()?;
    let found = app.store.read(Tasks { filter, page }).await?;
    Ok(match wanted.fields.unwrap_or_default() {
        Fields::Full => listed::<Task, TaskJson>(found),
        Fields::Summary => listed::<Task, TaskSummary>(found),
    })
}

/// What a task is made of.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct NewTask {
    /// Where it belongs; not needed for a subtask.
    #[schema(value_type = Option<Id>)]
    project_id: Option<String>,
    /// What is to be done, in a line.
    #[schema(value_type = Text)]
    title: Option<String>,
    /// The task it is a part of.
    #[schema(value_type = Option<Id>)]
    parent_id: Option<String>,
    /// What is to be done, in full.
    description: Option<String>,
    #[schema(value_type = Option<Urgency>)]
    priority: Option<String>,
    /// The first words an agent gets.
    initial_prompt: Option<String>,
    /// Skills it asks for.
    skill_ids: Option<Vec<String>>,
    /// Tasks that must be done before it.
    #[schema(value_type = Option<Vec<Id>>)]
    dependencies: Option<Vec<String>>,
    /// The model it asks for.
    model: Option<String>,
}

/// Make a task
#[utoipa::path(post, path = "/api/tasks", tag = "tasks", request_body = NewTask,
    params(Retry), responses((status = 201, body = TaskJson), Failures))]
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
    Ok((StatusCode::CREATED, tagged(task.revision, TaskJson::from(task))).into_response())
}

fn ids<I: std::str::FromStr<Err: std::fmt::Display>>(
    field: &str,
    texts: Option<Vec<String>>,
) -> Result<Option<Vec<I>>, ApiError> {
    let parse = |text: String| text.parse().map_err(|error| ApiError::field(field, error));
    texts.map(|texts| texts.into_iter().map(parse).collect()).transpose()
}

/// One task
#[utoipa::path(get, path = "/api/tasks/{id}", tag = "tasks", params(("id" = Id, Path)),
    responses((status = 200, body = TaskJson), Failures))]
async fn get(State(app): State<App>, OneId(id): OneId<TaskId>) -> Result<Response, ApiError> {
    let task = app.store.read(TaskById(id)).await?;
    Ok(tagged(task.revision, TaskJson::from(task)))
}

/// What of a task is to change.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct TaskChange {
    #[schema(value_type = Option<Text>)]
    title: Option<String>,
    description: Option<String>,
    #[schema(value_type = Option<TaskState>)]
    status: Option<String>,
    /// How a session stands to it; needs `sessionId`.
    #[schema(value_type = Option<PairState>)]
    session_status: Option<String>,
    #[schema(value_type = Option<Urgency>)]
    priority: Option<String>,
    initial_prompt: Option<String>,
    /// The sessions bound to it.
    #[schema(value_type = Option<Vec<Id>>)]
    session_ids: Option<Vec<String>>,
    skill_ids: Option<Vec<String>>,
    agent_ids: Option<Vec<String>>,
    #[schema(value_type = Option<Vec<Id>>)]
    dependencies: Option<Vec<String>>,
    model: Option<String>,
    /// `session` when a session says how it stands to the task; everything but `sessionStatus` is then left alone.
    update_source: Option<String>,
    /// The session that says so.
    #[schema(value_type = Option<Id>)]
    session_id: Option<String>,
}

/// Change a task
#[utoipa::path(patch, path = "/api/tasks/{id}", tag = "tasks", request_body = TaskChange,
    params(("id" = Id, Path), ("If-Match" = Option<Revision>, Header, description = "Only if it has this revision"), Retry),
    responses((status = 200, body = TaskJson), Failures))]
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
    Ok(tagged(task.revision, TaskJson::from(task)))
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

/// What becomes of the subtasks.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct Deletion {
    /// `true` removes the subtasks too; otherwise they move up.
    cascade: Option<bool>,
}

/// Remove a task
#[utoipa::path(delete, path = "/api/tasks/{id}", tag = "tasks", params(("id" = Id, Path), Deletion),
    responses((status = 200, body = Deleted), Failures))]
async fn delete(
    State(app): State<App>,
    Caller(actor): Caller,
    OneId(id): OneId<TaskId>,
    Asked(deletion): Asked<Deletion>,
) -> Result<Json<Deleted>, ApiError> {
    let subtasks = if deletion.cascade.unwrap_or_default() { Subtasks::Delete } else { Subtasks::Keep };
    app.store.write(DeleteTask { id: id.clone(), subtasks, actor }).await?;
    Ok(Json(Deleted::of(&id)))
}

/// How deep to look.
#[derive(Debug, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
struct Depth {
    /// `true` for all subtasks, `false` for those one level down.
    recursive: Option<bool>,
}

/// The subtasks of a task
#[utoipa::path(get, path = "/api/tasks/{id}/children", tag = "tasks", params(("id" = Id, Path), Depth),
    responses((status = 200, body = [TaskJson]), Failures))]
async fn children(
    State(app): State<App>,
    OneId(id): OneId<TaskId>,
    Asked(depth): Asked<Depth>,
) -> Result<Response, ApiError> {
    app.store.read(TaskById(id.clone())).await?;
    let filter = if depth.recursive.unwrap_or_default() {
        TaskFilter { below: Some(id), ..TaskFilter::default() }
    } else {
        TaskFilter { parent: Some(Some(id)), ..TaskFilter::default() }
    };
    let found = app.store.read(Tasks { filter, ..Tasks::default() }).await?;
    Ok(listed::<Task, TaskJson>(found))
}

/// A line about a task.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct NewTaskLine {
    /// `progress` unless said otherwise.
    #[serde(rename = "type")]
    #[schema(value_type = Option<Kind>)]
    kind: Option<String>,
    #[schema(value_type = Text)]
    message: Option<String>,
    /// Whose timeline it goes into; a session that calls need not say.
    #[schema(value_type = Id)]
    session_id: Option<String>,
}

/// That a line was added.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct LineAdded {
    /// Always true.
    success: bool,
    #[schema(value_type = Id)]
    task_id: String,
    #[schema(value_type = Id)]
    session_id: String,
    message: String,
    #[serde(rename = "type")]
    kind: String,
}

/// Add a line about a task to a session's timeline
#[utoipa::path(post, path = "/api/tasks/{id}/timeline", tag = "tasks", request_body = NewTaskLine,
    params(("id" = Id, Path), Retry), responses((status = 200, body = LineAdded), Failures))]
async fn add_line(
    State(app): State<App>,
    Caller(actor): Caller,
    OneId(task): OneId<TaskId>,
    Sent { value, once }: Sent<NewTaskLine>,
) -> Result<Json<LineAdded>, ApiError> {
    let message = required(value.message, "message is required")?;
    let named = word::<SessionId>("sessionId", value.session_id.as_deref())?;
    let session = named.or_else(|| actor_session(&actor)).ok_or_else(|| ApiError::invalid("sessionId is required"))?;
    let kind = word("type", value.kind.as_deref())?.unwrap_or_else(EntryKind::progress);
    let added = LineAdded {
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
