//! Tasks.

use std::collections::BTreeMap;

use maestro_core::id::EntityId as _;
use maestro_core::session::TaskSessionStatus;
use maestro_core::task::{Task, TaskPriority, TaskSession, TaskStatus};
use maestro_core::work_state::{WorkState, task_state};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};

use crate::fields::{DeletedReply, FieldSet};
use crate::request::{ApiRequest, in_path};
use crate::schemas::{
    IdOrNull, IdText, KindText, NonBlankText, PairStateWord, PriorityWord, TaskStateWord, WorkStateWord,
};

/// A unit of work in a project.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = TaskJson)]
pub struct TaskBody {
    #[schema(value_type = IdText)]
    pub id: String,
    #[schema(value_type = IdText)]
    pub project_id: String,
    #[schema(value_type = Option<IdText>)]
    pub parent_id: Option<String>,
    pub title: String,
    pub description: String,
    #[schema(value_type = TaskStateWord)]
    pub status: TaskStatus,
    /// How it stands, as people read it.
    #[serde(default)]
    #[schema(value_type = WorkStateWord, required)]
    pub state: WorkState,
    /// What a session said last.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<PairStateWord>)]
    pub session_status: Option<TaskSessionStatus>,
    #[schema(value_type = PriorityWord)]
    pub priority: TaskPriority,
    pub created_at: i64,
    pub updated_at: i64,
    pub started_at: Option<i64>,
    pub completed_at: Option<i64>,
    pub initial_prompt: String,
    pub session_ids: Vec<String>,
    pub skill_ids: Vec<String>,
    pub agent_ids: Vec<String>,
    pub dependencies: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// What each session said last.
    #[schema(value_type = BTreeMap<String, PairStateWord>)]
    pub task_session_statuses: BTreeMap<String, TaskSessionStatus>,
    /// Counts its changes; send it back as `If-Match`.
    pub revision: i64,
}

/// What a table shows of a task.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct TaskSummary {
    #[schema(value_type = IdText)]
    pub id: String,
    #[schema(value_type = IdText)]
    pub project_id: String,
    #[schema(value_type = Option<IdText>)]
    pub parent_id: Option<String>,
    pub title: String,
    #[schema(value_type = TaskStateWord)]
    pub status: TaskStatus,
    /// How it stands, as people read it.
    #[serde(default)]
    #[schema(value_type = WorkStateWord, required)]
    pub state: WorkState,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<PairStateWord>)]
    pub session_status: Option<TaskSessionStatus>,
    #[schema(value_type = PriorityWord)]
    pub priority: TaskPriority,
    pub updated_at: i64,
    pub session_ids: Vec<String>,
}

/// Which tasks are wanted.
#[derive(Debug, Clone, Default, Serialize, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
pub struct TaskQuery {
    /// Only this project's.
    #[param(value_type = Option<IdText>)]
    pub project_id: Option<String>,
    /// Only those in this status.
    #[param(value_type = Option<TaskStateWord>)]
    pub status: Option<String>,
    /// Only the subtasks of this one; `null` for tasks that are no subtask.
    #[param(value_type = Option<IdOrNull>)]
    pub parent_id: Option<String>,
    /// Only those this session is bound to.
    #[param(value_type = Option<IdText>)]
    pub session_id: Option<String>,
    /// `summary` for what a table shows.
    #[param(inline)]
    pub fields: Option<FieldSet>,
}

/// What a task is made of.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct NewTask {
    /// Where it belongs; not needed for a subtask.
    #[schema(value_type = Option<IdText>)]
    pub project_id: Option<String>,
    /// What is to be done, in a line.
    #[schema(value_type = NonBlankText)]
    pub title: Option<String>,
    /// The task it is a part of.
    #[schema(value_type = Option<IdText>)]
    pub parent_id: Option<String>,
    /// What is to be done, in full.
    pub description: Option<String>,
    #[schema(value_type = Option<PriorityWord>)]
    pub priority: Option<String>,
    /// The first words an agent gets.
    pub initial_prompt: Option<String>,
    /// Skills it asks for.
    pub skill_ids: Option<Vec<String>>,
    /// Tasks that must be done before it.
    #[schema(value_type = Option<Vec<IdText>>)]
    pub dependencies: Option<Vec<String>>,
    /// The model it asks for.
    pub model: Option<String>,
}

/// What of a task is to change.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct TaskChange {
    #[schema(value_type = Option<NonBlankText>)]
    pub title: Option<String>,
    pub description: Option<String>,
    #[schema(value_type = Option<TaskStateWord>)]
    pub status: Option<String>,
    /// How a session stands to it; needs `sessionId`.
    #[schema(value_type = Option<PairStateWord>)]
    pub session_status: Option<String>,
    #[schema(value_type = Option<PriorityWord>)]
    pub priority: Option<String>,
    pub initial_prompt: Option<String>,
    /// The sessions bound to it.
    #[schema(value_type = Option<Vec<IdText>>)]
    pub session_ids: Option<Vec<String>>,
    pub skill_ids: Option<Vec<String>>,
    pub agent_ids: Option<Vec<String>>,
    #[schema(value_type = Option<Vec<IdText>>)]
    pub dependencies: Option<Vec<String>>,
    pub model: Option<String>,
    /// `session` when a session says how it stands to the task; everything but `sessionStatus` is then left alone.
    pub update_source: Option<String>,
    /// The session that says so.
    #[schema(value_type = Option<IdText>)]
    pub session_id: Option<String>,
}

/// What becomes of the subtasks.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct DeletionQuery {
    /// `true` removes the subtasks too; otherwise they move up.
    pub cascade: Option<bool>,
}

/// How deep to look.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct DepthQuery {
    /// `true` for all subtasks, `false` for those one level down.
    pub recursive: Option<bool>,
}

/// A line about a task.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct NewTaskLine {
    /// `progress` unless said otherwise.
    #[serde(rename = "type")]
    #[schema(value_type = Option<KindText>)]
    pub kind: Option<String>,
    #[schema(value_type = NonBlankText)]
    pub message: Option<String>,
    /// Whose timeline it goes into; a session that calls need not say.
    #[schema(value_type = IdText)]
    pub session_id: Option<String>,
}

/// That a line was added.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = LineAdded)]
pub struct TaskLineReply {
    /// Always true.
    pub success: bool,
    #[schema(value_type = IdText)]
    pub task_id: String,
    #[schema(value_type = IdText)]
    pub session_id: String,
    pub message: String,
    #[serde(rename = "type")]
    pub kind: String,
}

/// Tasks, oldest first.
pub fn list(query: &TaskQuery) -> ApiRequest<Vec<TaskBody>> {
    ApiRequest::get("/api/tasks").with_query(query)
}

/// What a table shows of tasks, oldest first.
pub fn summaries(query: &TaskQuery) -> ApiRequest<Vec<TaskSummary>> {
    ApiRequest::get("/api/tasks").with_query(&TaskQuery { fields: Some(FieldSet::Summary), ..query.clone() })
}

/// One task.
pub fn get(id: &str) -> ApiRequest<TaskBody> {
    ApiRequest::get(format!("/api/tasks/{}", in_path(id)))
}

/// Makes a task.
pub fn create(task: &NewTask) -> ApiRequest<TaskBody> {
    ApiRequest::post("/api/tasks", task)
}

/// Changes a task.
pub fn update(id: &str, change: &TaskChange) -> ApiRequest<TaskBody> {
    ApiRequest::patch(format!("/api/tasks/{}", in_path(id)), change)
}

/// Removes a task.
pub fn delete(id: &str, query: DeletionQuery) -> ApiRequest<DeletedReply> {
    ApiRequest::delete(format!("/api/tasks/{}", in_path(id))).with_query(&query)
}

/// Adds a line about a task to a session's timeline.
pub fn add_line(id: &str, line: &NewTaskLine) -> ApiRequest<TaskLineReply> {
    ApiRequest::post(format!("/api/tasks/{}/timeline", in_path(id)), line)
}

/// The subtasks of a task.
pub fn children(id: &str, query: DepthQuery) -> ApiRequest<Vec<TaskBody>> {
    ApiRequest::get(format!("/api/tasks/{}/children", in_path(id))).with_query(&query)
}

impl TaskBody {
    /// Whether there is nothing more to do about it.
    pub fn is_closed(&self) -> bool {
        matches!(self.status, TaskStatus::Completed | TaskStatus::Cancelled | TaskStatus::Archived)
    }
}

impl From<Task> for TaskBody {
    fn from(task: Task) -> Self {
        let said = |pair: &TaskSession| Some((pair.session.to_string(), pair.status?));
        Self {
            state: task_state(&task),
            session_status: latest(&task),
            task_session_statuses: task.sessions.iter().filter_map(said).collect(),
            session_ids: task.sessions.iter().map(|pair| pair.session.to_string()).collect(),
            id: task.id.into(),
            project_id: task.project.into(),
            parent_id: task.parent.map(Into::into),
            title: task.title,
            description: task.description,
            status: task.status,
            priority: task.priority,
            created_at: task.created_at,
            updated_at: task.updated_at,
            started_at: task.started_at,
            completed_at: task.completed_at,
            initial_prompt: task.initial_prompt,
            skill_ids: task.skills,
            agent_ids: task.agents,
            dependencies: task.dependencies.into_iter().map(Into::into).collect(),
            model: task.model,
            revision: task.revision,
        }
    }
}

/// What was said last about a task by any of its sessions.
fn latest(task: &Task) -> Option<TaskSessionStatus> {
    let said = task.sessions.iter().filter(|pair| pair.status.is_some());
    said.max_by_key(|pair| (pair.updated_at, pair.session.as_str())).and_then(|pair| pair.status)
}

impl From<Task> for TaskSummary {
    fn from(task: Task) -> Self {
        Self {
            state: task_state(&task),
            session_status: latest(&task),
            session_ids: task.sessions.iter().map(|pair| pair.session.to_string()).collect(),
            id: task.id.into(),
            project_id: task.project.into(),
            parent_id: task.parent.map(Into::into),
            title: task.title,
            status: task.status,
            priority: task.priority,
            updated_at: task.updated_at,
        }
    }
}
