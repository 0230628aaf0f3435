//! Forms of the work screen: create, move, edit, delete a task, and start an agent for it.

use axum::extract::rejection::FormRejection;
use axum::extract::{Form, State};
use axum::http::StatusCode;
use axum::response::Response;
use axum::routing::post;
use axum::{Router, extract};
use maestro_api::spawns::NewSpawn;
use maestro_core::id::{ProjectId, TaskId};
use maestro_core::task::TaskPriority;
use maestro_core::task_text::TaskText;
use maestro_store::{CreateTask, DeleteTask, SetTaskParent, SubtaskPolicy, TaskById, TaskPatch, UpdateTask};

use super::card;
use crate::api::spawn_session;
use crate::app::AppState;
use crate::caller::Caller;
use crate::error::ApiError;
use crate::extract::{PathId, parse_word, required};
use crate::page::badge::status_words;
use crate::page::failure;
use crate::page::forms::{redirect_back, return_path};

/// The routes of these forms.
pub(in crate::page) fn routes() -> Router<AppState> {
    Router::new()
        .route("/page/tasks", post(create))
        .route("/page/tasks/{id}/move", post(move_task))
        .route("/page/tasks/{id}/edit", post(edit))
        .route("/page/tasks/{id}/delete", post(delete))
        .route("/page/tasks/{id}/start", post(start))
}

/// The fields of a form in their order; a name may come several times.
pub(in crate::page) struct FormPairs(Vec<(String, String)>);

impl FormPairs {
    /// The fields that were sent.
    pub(in crate::page) fn of(filled: Result<Form<Vec<(String, String)>>, FormRejection>) -> Result<Self, ApiError> {
        let Form(pairs) = filled.map_err(|rejection| ApiError::invalid(rejection.body_text()))?;
        Ok(Self(pairs))
    }

    /// A field. Forms send CRLF line ends.
    pub(in crate::page) fn get(&self, name: &str) -> Option<String> {
        let found = self.0.iter().find(|(key, _)| key == name);
        found.map(|(_, value)| value.replace("\r\n", "\n"))
    }

    /// A field that is not empty.
    pub(in crate::page) fn filled(&self, name: &str) -> Option<String> {
        self.get(name).filter(|value| !value.trim().is_empty())
    }

    /// All values of a name.
    pub(in crate::page) fn all(&self, name: &str) -> Vec<String> {
        self.0.iter().filter(|(key, value)| key == name && !value.is_empty()).map(|(_, value)| value.clone()).collect()
    }

    /// The screen that the form was sent from.
    pub(in crate::page) fn back(&self) -> Result<String, ApiError> {
        return_path(self.get("back").as_deref())
    }
}

pub(in crate::page) type FilledPairs = Result<Form<Vec<(String, String)>>, FormRejection>;

/// Applies a form and goes back, or shows the error.
macro_rules! answer {
    ($filled:ident, $caller:ident, |$fields:ident| $change:expr) => {{
        let $fields = match FormPairs::of($filled) {
            Ok(fields) => fields,
            Err(error) => return failure(&error),
        };
        let done = async {
            $caller.require_person("use the page")?;
            $change.await
        };
        let done = done.await;
        redirect_back($fields.back(), done)
    }};
}

async fn create(State(app): State<AppState>, caller: Caller, filled: FilledPairs) -> Response {
    answer!(filled, caller, |fields| create_task(&app, &caller, &fields))
}

async fn create_task(app: &AppState, caller: &Caller, fields: &FormPairs) -> Result<(), ApiError> {
    let parent = fields.filled("parent");
    let project = fields.filled("project");
    if parent.is_none() && project.is_none() {
        return Err(ApiError::invalid("Choose a project first: `maestro init` in its directory creates one."));
    }
    let change = CreateTask {
        project: parse_word::<ProjectId>("project", project.as_deref())?,
        parent: parse_word::<TaskId>("parent", parent.as_deref())?,
        title: required(fields.get("title").map(|title| title.trim().to_owned()), "The title is empty.")?,
        description: fields.get("description").unwrap_or_default(),
        priority: parse_word::<TaskPriority>("priority", fields.filled("priority").as_deref())?.unwrap_or_default(),
        actor: caller.actor(),
        ..CreateTask::default()
    };
    app.store.write(change).await?;
    Ok(())
}

async fn move_task(
    State(app): State<AppState>,
    caller: Caller,
    PathId(id): PathId<TaskId>,
    filled: FilledPairs,
) -> Response {
    answer!(filled, caller, |fields| move_to(&app, &caller, id, &fields))
}

async fn move_to(app: &AppState, caller: &Caller, id: TaskId, fields: &FormPairs) -> Result<(), ApiError> {
    let to = card::status_of(card::group_of(&fields.get("to").unwrap_or_default())?);
    let task = app.store.read(TaskById(id.clone())).await?;
    if !task.status.may_become(to) {
        let (from, to) = (status_words(task.status), status_words(to));
        let why = format!("Not moved: a task that is {from} cannot become {to}. Move it to queued first.");
        return Err(ApiError::new(StatusCode::CONFLICT, "REFUSED", why));
    }
    let patch = TaskPatch { status: Some(to), ..TaskPatch::default() };
    app.store.write(UpdateTask { id, patch, task_session: None, expected: None, actor: caller.actor() }).await?;
    Ok(())
}

async fn edit(
    State(app): State<AppState>,
    caller: Caller,
    PathId(id): PathId<TaskId>,
    filled: FilledPairs,
) -> Response {
    answer!(filled, caller, |fields| edit_task(&app, &caller, id, &fields))
}

async fn edit_task(app: &AppState, caller: &Caller, id: TaskId, fields: &FormPairs) -> Result<(), ApiError> {
    let dependencies = fields.all("dependency").iter().map(|id| id.parse::<TaskId>()).collect::<Result<_, _>>();
    let patch = TaskPatch {
        title: Some(required(fields.get("title").map(|title| title.trim().to_owned()), "The title is empty.")?),
        description: fields.get("description").map(|body| {
            let (acceptance, plan) = (fields.get("acceptance"), fields.get("plan"));
            let (acceptance, plan) = (acceptance.unwrap_or_default(), plan.unwrap_or_default());
            TaskText { body, acceptance, plan }.compose()
        }),
        priority: parse_word("priority", fields.filled("priority").as_deref())?,
        dependencies: Some(dependencies.map_err(|error| ApiError::field("dependency", error))?),
        model: fields.filled("model"),
        ..TaskPatch::default()
    };
    let expected = parse_word::<i64>("revision", fields.filled("revision").as_deref())?;
    let change = UpdateTask { id: id.clone(), patch, task_session: None, expected, actor: caller.actor() };
    let saved = app.store.write(change).await.map(|_| ()).map_err(|error| match error {
        maestro_store::StoreError::StaleRevision { .. } => {
            let why = "Not saved: the task changed meanwhile. Reload to see the change; what you wrote stays here until then.";
            ApiError::new(StatusCode::CONFLICT, "REFUSED", why)
        }
        other => other.into(),
    });
    saved?;
    if let Some(parent) = fields.get("parent") {
        let parent = parse_word("parent", Some(parent.as_str()).filter(|parent| !parent.is_empty()))?;
        app.store.write(SetTaskParent { id, parent, actor: caller.actor() }).await?;
    }
    Ok(())
}

async fn delete(
    State(app): State<AppState>,
    caller: Caller,
    PathId(id): PathId<TaskId>,
    filled: FilledPairs,
) -> Response {
    answer!(filled, caller, |_fields| async {
        let change = DeleteTask { id, subtasks: SubtaskPolicy::Delete, actor: caller.actor() };
        app.store.write(change).await.map_err(ApiError::from)
    })
}

async fn start(
    State(app): State<AppState>,
    caller: Caller,
    extract::Path(id): extract::Path<String>,
    filled: FilledPairs,
) -> Response {
    answer!(filled, caller, |fields| start_agent(&app, &caller, &id, &fields))
}

async fn start_agent(app: &AppState, caller: &Caller, id: &str, fields: &FormPairs) -> Result<(), ApiError> {
    let task: TaskId = id.parse().map_err(|error| ApiError::field("id", error))?;
    let task = app.store.read(TaskById(task)).await?;
    let order = NewSpawn {
        project_id: Some(task.project.to_string()),
        task_ids: Some(vec![task.id.to_string()]),
        role: fields.filled("role"),
        agent: fields.filled("agent"),
        model: fields.filled("model"),
        permission: fields.filled("permission"),
        prompt: fields.filled("prompt"),
        skills: Some(fields.all("skill")),
        worktree: Some(fields.get("worktree").is_some()),
        ..NewSpawn::default()
    };
    spawn_session(app, caller, order, None).await?;
    Ok(())
}
