//! Changes of a task, and who may make them.

use maestro_core::id::{SessionId, TaskId};
use maestro_core::session::TaskSessionStatus;
use maestro_core::task::{Task, TaskPriority, TaskStatus};

use super::note_change;
use crate::access::{self, TaskAccess};
use crate::actor::Actor;
use crate::change::Change;
use crate::error::{RecordKind, StoreError};
use crate::search_words::{self, SearchedTable};
use crate::task_rows::{by_id, require_all, save, searched_text, set_manual_status};
use crate::tx::ChangeTx;
use crate::{task_rollup, task_session_rows, task_sessions};

/// What of a task is to change.
#[derive(Debug, Clone, Default)]
pub struct TaskPatch {
    /// Its title.
    pub title: Option<String>,
    /// Its description.
    pub description: Option<String>,
    /// Its status.
    pub status: Option<TaskStatus>,
    /// Its priority.
    pub priority: Option<TaskPriority>,
    /// The first prompt for an agent.
    pub initial_prompt: Option<String>,
    /// Skills it asks for.
    pub skills: Option<Vec<String>>,
    /// Agents it is meant for.
    pub agents: Option<Vec<String>>,
    /// Tasks that must be done before it.
    pub dependencies: Option<Vec<TaskId>>,
    /// The sessions bound to it.
    pub sessions: Option<Vec<SessionId>>,
    /// The model it asks for.
    pub model: Option<String>,
}

/// Changes a task.
#[derive(Debug, Clone)]
pub struct UpdateTask {
    /// Which one.
    pub id: TaskId,
    /// What is to change.
    pub patch: TaskPatch,
    /// The status of one of its sessions.
    pub task_session: Option<(SessionId, TaskSessionStatus)>,
    /// The revision the caller knows.
    pub expected: Option<i64>,
    /// Who makes the change.
    pub actor: Actor,
}

impl Change for UpdateTask {
    type Output = Task;

    fn actor(&self) -> Option<&Actor> {
        Some(&self.actor)
    }

    fn apply(&self, tx: &mut ChangeTx<'_>) -> Result<Task, StoreError> {
        let mut task = by_id(tx, &self.id)?;
        if let Some(expected) = self.expected.filter(|expected| *expected != task.revision) {
            let id = self.id.to_string();
            return Err(StoreError::StaleRevision { what: RecordKind::Task, id, expected, current: task.revision });
        }
        let reach = access::require_task_access(tx, &self.actor, &self.id)?;
        let mut patch = self.patch.clone();
        if let (Some(TaskAccess::Bound), Some(session)) = (reach, self.actor.session()) {
            // A worker speaks for itself; what becomes of the task follows from all who work on it.
            if let Some(status) = patch.status.take() {
                task_sessions::set(tx, &self.id, session, session_status(status))?;
            }
        }
        if let Some((session, status)) = &self.task_session {
            access::require_session_access(tx, &self.actor, session)?;
            task_sessions::set(tx, &self.id, session, *status)?;
        }
        task = by_id(tx, &self.id)?;
        self.patch_fields(tx, &mut task, &patch)?;
        if let Some(sessions) = &patch.sessions {
            task_sessions::replace(tx, &self.id, sessions, &self.actor)?;
        }
        by_id(tx, &self.id)
    }
}

impl UpdateTask {
    fn patch_fields(&self, tx: &mut ChangeTx<'_>, task: &mut Task, patch: &TaskPatch) -> Result<(), StoreError> {
        let searched = searched_text(task);
        let mut fields = Vec::new();
        let mut set = |name: &'static str, changed: bool| {
            if changed {
                fields.push(name);
            }
        };
        set("title", replace(&mut task.title, patch.title.as_ref()));
        set("description", replace(&mut task.description, patch.description.as_ref()));
        set("priority", replace(&mut task.priority, patch.priority.as_ref()));
        set("initialPrompt", replace(&mut task.initial_prompt, patch.initial_prompt.as_ref()));
        set("skillIds", replace(&mut task.skills, patch.skills.as_ref()));
        set("agentIds", replace(&mut task.agents, patch.agents.as_ref()));
        set("dependencies", replace(&mut task.dependencies, patch.dependencies.as_ref()));
        if let Some(model) = &patch.model {
            set("model", replace(&mut task.model, Some(&Some(model.clone()))));
        }
        let before = task.status;
        set("status", replace(&mut task.status, patch.status.as_ref()));
        if !before.may_become(task.status) {
            return Err(StoreError::TaskTransition { from: before, to: task.status });
        }
        if fields.is_empty() {
            return Ok(());
        }
        if fields.contains(&"dependencies") {
            require_all(tx, &task.dependencies)?;
            if task.dependencies.contains(&task.id) {
                return Err(StoreError::Rule("a task cannot wait for itself".to_owned()));
            }
        }
        if before != task.status && matches!(task.status, TaskStatus::Todo | TaskStatus::InProgress) {
            task_session_rows::reset_statuses(tx, &task.id)?;
        }
        save(tx, task)?;
        search_words::change(tx, SearchedTable::Tasks, (&task.id).into(), &searched, &searched_text(task))?;
        if before != task.status {
            set_manual_status(tx, &task.id, self.actor.worker().is_none())?;
        }
        note_change(tx, task, &fields, &self.actor)?;
        match &task.parent {
            Some(parent) if before != task.status => task_rollup::roll_up_task(tx, parent),
            _ => Ok(()),
        }
    }
}

fn replace<T: Clone + PartialEq>(field: &mut T, value: Option<&T>) -> bool {
    match value {
        Some(value) if value != field => {
            field.clone_from(value);
            true
        }
        _ => false,
    }
}

/// What a worker says by giving its own task a status.
fn session_status(status: TaskStatus) -> TaskSessionStatus {
    match status {
        TaskStatus::Todo => TaskSessionStatus::Queued,
        TaskStatus::InProgress => TaskSessionStatus::Working,
        TaskStatus::InReview | TaskStatus::Completed => TaskSessionStatus::Completed,
        TaskStatus::Blocked => TaskSessionStatus::Blocked,
        TaskStatus::Cancelled | TaskStatus::Archived => TaskSessionStatus::Skipped,
    }
}
