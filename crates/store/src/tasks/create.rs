//! Creation of a task.

use maestro_core::event::Event;
use maestro_core::id::{ProjectId, TaskId};
use maestro_core::notice::SessionNotice;
use maestro_core::task::{Task, TaskPriority, TaskStatus};

use crate::actor::Actor;
use crate::change::Change;
use crate::counted_tasks::CountedAs;
use crate::db::DbTx;
use crate::error::{RecordKind, StoreError};
use crate::search_words::{self, SearchedTable};
use crate::task_rows::{by_id_as, fact, require_all, scope, searched_text};
use crate::tx::ChangeTx;
use crate::value::{SqlRow, to_json};
use crate::{access, notices, projects, task_rollup};

/// The longest way from a task up to its root.
pub(super) const MAX_DEPTH: usize = 100;

/// Creates a task.
#[derive(Debug, Clone, Default)]
pub struct CreateTask {
    /// Where it belongs; a subtask's is its parent's.
    pub project: Option<ProjectId>,
    /// What it is a part of.
    pub parent: Option<TaskId>,
    /// Its title.
    pub title: String,
    /// Its description.
    pub description: String,
    /// Its priority.
    pub priority: TaskPriority,
    /// The first prompt for an agent.
    pub initial_prompt: String,
    /// Skills it asks for.
    pub skills: Vec<String>,
    /// Tasks that must be done before it.
    pub dependencies: Vec<TaskId>,
    /// The model it asks for.
    pub model: Option<String>,
    /// Who makes it.
    pub actor: Actor,
}

impl Change for CreateTask {
    type Output = Task;

    fn actor(&self) -> Option<&Actor> {
        Some(&self.actor)
    }

    fn apply(&self, tx: &mut ChangeTx<'_>) -> Result<Task, StoreError> {
        let task = self.task(tx)?;
        let (skills, agents) = (to_json(&task.skills)?, to_json(&task.agents)?);
        let dependencies = to_json(&task.dependencies)?;
        let ord = tx.insert(
            "INSERT INTO tasks (id, project_id, parent_id, title, description, status, priority, initial_prompt, \
             skills, agents, dependencies, model, created_at, updated_at, manual_status, revision) \
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, 0, $15)",
            "ord",
            &[
                (&task.id).into(),
                (&task.project).into(),
                task.parent.as_ref().into(),
                (&task.title).into(),
                (&task.description).into(),
                task.status.as_str().into(),
                task.priority.as_str().into(),
                (&task.initial_prompt).into(),
                (&skills).into(),
                (&agents).into(),
                (&dependencies).into(),
                task.model.as_ref().into(),
                task.created_at.into(),
                task.updated_at.into(),
                task.revision.into(),
            ],
        )?;
        search_words::add(tx, SearchedTable::Tasks, ord, &searched_text(&task))?;
        tx.count_tasks(CountedAs::of(&task), 1);
        tx.emit(scope(&task), Event::TaskCreated(fact(&task, &[], &self.actor)));
        if let Some(parent) = &task.parent {
            let notice = SessionNotice::SubtaskAdded {
                task: task.id.clone(),
                title: task.title.clone(),
                description: task.description.clone(),
            };
            notices::notify_task(tx, parent, &notice, self.actor.session())?;
            task_rollup::roll_up_task(tx, parent)?;
        }
        Ok(task)
    }
}

impl CreateTask {
    fn task(&self, tx: &mut ChangeTx<'_>) -> Result<Task, StoreError> {
        let project = match (&self.parent, &self.project) {
            (Some(parent), project) => self.project_of_parent(tx, parent, project.as_ref())?,
            (None, Some(project)) => {
                access::forbid_worker(&self.actor, "make tasks that are not below its own")?;
                access::require_project_access(tx, &self.actor, project)?;
                projects::by_id(tx, project)?.id
            }
            (None, None) => return Err(StoreError::Invalid("Project ID is required".to_owned())),
        };
        require_all(tx, &self.dependencies)?;
        Ok(Task {
            id: tx.make_id()?,
            project,
            parent: self.parent.clone(),
            title: self.title.clone(),
            description: self.description.clone(),
            status: TaskStatus::Todo,
            priority: self.priority,
            initial_prompt: self.initial_prompt.clone(),
            skills: self.skills.clone(),
            agents: Vec::new(),
            dependencies: self.dependencies.clone(),
            model: self.model.clone(),
            created_at: tx.now,
            updated_at: tx.now,
            started_at: None,
            completed_at: None,
            revision: 1,
            sessions: Vec::new(),
        })
    }

    fn project_of_parent(
        &self,
        tx: &mut ChangeTx<'_>,
        parent: &TaskId,
        project: Option<&ProjectId>,
    ) -> Result<ProjectId, StoreError> {
        if let Some(project) = project {
            projects::by_id(tx, project)?;
        }
        let found = by_id_as(tx, parent, RecordKind::ParentTask)?;
        if project.is_some_and(|project| *project != found.project) {
            return Err(StoreError::Rule(format!("Parent task '{parent}' belongs to another project")));
        }
        if ancestors(tx, parent)?.len() >= MAX_DEPTH {
            return Err(StoreError::Rule(format!("subtasks go {MAX_DEPTH} levels deep and no further")));
        }
        access::require_task_access(tx, &self.actor, parent)?;
        Ok(found.project)
    }
}

/// The tasks that a task is a part of, itself included.
pub(super) fn ancestors(db: &mut DbTx<'_>, id: &TaskId) -> Result<Vec<TaskId>, StoreError> {
    let sql = "WITH RECURSIVE up (id, parent_id) AS ( \
                 SELECT id, parent_id FROM tasks WHERE id = $1 \
                 UNION ALL SELECT tasks.id, tasks.parent_id FROM tasks JOIN up ON tasks.id = up.parent_id ) \
               SELECT id FROM up";
    db.rows(sql, &[id.into()])?.iter_mut().map(SqlRow::parsed).collect()
}
