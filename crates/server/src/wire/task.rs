//! A task on the wire.

use std::collections::BTreeMap;

use maestro_core::Task;
use maestro_core::id::Id as _;
use maestro_core::session::PairStatus;
use serde::Serialize;
use utoipa::ToSchema;

use super::words::{Id, PairState, TaskState, Urgency};

/// A unit of work in a project.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TaskJson {
    #[schema(value_type = Id)]
    id: String,
    #[schema(value_type = Id)]
    project_id: String,
    #[schema(value_type = Option<Id>)]
    parent_id: Option<String>,
    title: String,
    description: String,
    #[schema(value_type = TaskState)]
    status: String,
    /// What a session said last.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<PairState>)]
    session_status: Option<String>,
    #[schema(value_type = Urgency)]
    priority: String,
    created_at: i64,
    updated_at: i64,
    started_at: Option<i64>,
    completed_at: Option<i64>,
    initial_prompt: String,
    session_ids: Vec<String>,
    skill_ids: Vec<String>,
    agent_ids: Vec<String>,
    dependencies: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<String>,
    /// What each session said last.
    #[schema(value_type = BTreeMap<String, PairState>)]
    task_session_statuses: BTreeMap<String, String>,
    /// Counts its changes; send it back as `If-Match`.
    pub(crate) revision: i64,
}

impl From<Task> for TaskJson {
    fn from(task: Task) -> Self {
        let said = |pair: &maestro_core::task::Pair| Some((pair.session.to_string(), pair.status?.to_string()));
        Self {
            session_status: latest(&task).map(|status| status.to_string()),
            task_session_statuses: task.sessions.iter().filter_map(said).collect(),
            session_ids: task.sessions.iter().map(|pair| pair.session.to_string()).collect(),
            id: task.id.into(),
            project_id: task.project.into(),
            parent_id: task.parent.map(Into::into),
            title: task.title,
            description: task.description,
            status: task.status.to_string(),
            priority: task.priority.to_string(),
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
fn latest(task: &Task) -> Option<PairStatus> {
    let said = task.sessions.iter().filter(|pair| pair.status.is_some());
    said.max_by_key(|pair| (pair.updated_at, pair.session.as_str())).and_then(|pair| pair.status)
}

/// What a table shows of a task.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct TaskSummary {
    #[schema(value_type = Id)]
    id: String,
    #[schema(value_type = Id)]
    project_id: String,
    #[schema(value_type = Option<Id>)]
    parent_id: Option<String>,
    title: String,
    #[schema(value_type = TaskState)]
    status: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<PairState>)]
    session_status: Option<String>,
    #[schema(value_type = Urgency)]
    priority: String,
    updated_at: i64,
    session_ids: Vec<String>,
}

impl From<Task> for TaskSummary {
    fn from(task: Task) -> Self {
        Self {
            session_status: latest(&task).map(|status| status.to_string()),
            session_ids: task.sessions.iter().map(|pair| pair.session.to_string()).collect(),
            id: task.id.into(),
            project_id: task.project.into(),
            parent_id: task.parent.map(Into::into),
            title: task.title,
            status: task.status.to_string(),
            priority: task.priority.to_string(),
            updated_at: task.updated_at,
        }
    }
}
