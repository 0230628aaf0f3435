//! Which tasks are there, and how do they change?

use std::collections::HashMap;

use maestro_core::event::{Event, TaskFact};
use maestro_core::id::{Id, ProjectId, SessionId, TaskId};
use maestro_core::notice::Notice;
use maestro_core::session::PairStatus;
use maestro_core::task::{Pair, Priority, Task, TaskStatus};

use crate::actor::{self, Actor, Reach};
use crate::change::{Change, Read};
use crate::db::Db;
use crate::error::{StoreError, What};
use crate::query::Query;
use crate::tx::{Scope, Tx};
use crate::value::{Row, to_json};
use crate::{Listed, Page, notices, pairs, projects};

const SELECT: &str = "SELECT ord, id, project_id, parent_id, title, description, status, priority, initial_prompt, \
                      skills, agents, dependencies, model, created_at, updated_at, started_at, completed_at, revision \
                      FROM tasks";

/// The longest way from a task up to its root.
const MAX_DEPTH: i64 = 100;

fn task(row: &mut Row) -> Result<Task, StoreError> {
    Ok(Task {
        id: row.parsed()?,
        project: row.parsed()?,
        parent: row.maybe_parsed()?,
        title: row.text()?,
        description: row.text()?,
        status: row.parsed()?,
        priority: row.parsed()?,
        initial_prompt: row.text()?,
        skills: row.json()?,
        agents: row.json()?,
        dependencies: row.json()?,
        model: row.maybe_text()?,
        created_at: row.int()?,
        updated_at: row.int()?,
        started_at: row.maybe_int()?,
        completed_at: row.maybe_int()?,
        revision: row.int()?,
        sessions: Vec::new(),
    })
}

pub(crate) fn by_id(db: &mut Db<'_>, id: &TaskId) -> Result<Task, StoreError> {
    by_id_as(db, id, What::Task)
}

fn by_id_as(db: &mut Db<'_>, id: &TaskId, what: What) -> Result<Task, StoreError> {
    let found = db.row(&format!("{SELECT} WHERE id = $1"), &[id.into()])?;
    let mut row = found.ok_or_else(|| StoreError::not_found(what, id))?;
    row.int()?;
    let mut task = task(&mut row)?;
    task.sessions = pairs::of_task(db, id)?;
    Ok(task)
}

fn fact(task: &Task, fields: &[&str], actor: &Actor) -> TaskFact {
    TaskFact {
        id: task.id.clone(),
        parent_id: task.parent.clone(),
        title: task.title.clone(),
        status: task.status,
        fields: fields.iter().map(|field| (*field).to_owned()).collect(),
        by: actor.session().cloned(),
    }
}

fn scope(task: &Task) -> Scope {
    Scope::project(&task.project).task(&task.id)
}

/// Notes that a task changed, for the log and for the sessions at work on it.
pub(crate) fn note_change(tx: &mut Tx<'_>, task: &Task, fields: &[&str], actor: &Actor) -> Result<(), StoreError> {
    tx.emit(scope(task), Event::TaskUpdated(fact(task, fields, actor)));
    let notice = Notice::TaskChanged {
        task: task.id.clone(),
        title: task.title.clone(),
        fields: fields.iter().map(|field| (*field).to_owned()).collect(),
    };
    notices::tell_about(tx, &task.id, &notice, actor.session())
}

/// Notes that what sessions say of a task changed; they know it already.
pub(crate) fn note_progress(tx: &mut Tx<'_>, task: &Task, fields: &[&str], actor: &Actor) {
    tx.emit(scope(task), Event::TaskUpdated(fact(task, fields, actor)));
}

/// Stores what a task has become.
pub(crate) fn save(tx: &mut Tx<'_>, task: &mut Task) -> Result<(), StoreError> {
    task.updated_at = tx.now;
    task.revision += 1;
    if task.status == TaskStatus::InProgress {
        task.started_at.get_or_insert(tx.now);
    }
    if task.status == TaskStatus::Completed {
        task.completed_at.get_or_insert(tx.now);
    }
    let (skills, agents) = (to_json(&task.skills)?, to_json(&task.agents)?);
    let dependencies = to_json(&task.dependencies)?;
    tx.execute(
        "UPDATE tasks SET parent_id = $1, title = $2, description = $3, status = $4, priority = $5, \
         initial_prompt = $6, skills = $7, agents = $8, dependencies = $9, model = $10, updated_at = $11, \
         started_at = $12, completed_at = $13, revision = $14 WHERE id = $15",
        &[
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
            task.updated_at.into(),
            task.started_at.into(),
            task.completed_at.into(),
            task.revision.into(),
            (&task.id).into(),
        ],
    )?;
    Ok(())
}

/// Makes a task.
#[derive(Debug, Clone, Default)]
pub struct CreateTask {
    /// Where it belongs; a subtask's is its parent's.
    pub project: Option<ProjectId>,
    /// What it is a part of.
    pub parent: Option<TaskId>,
    /// What is to be done, in a line.
    pub title: String,
    /// What is to be done, in full.
    pub description: String,
    /// How urgent it is.
    pub priority: Priority,
    /// The first words an agent gets.
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

    fn apply(&self, tx: &mut Tx<'_>) -> Result<Task, StoreError> {
        let task = self.task(tx)?;
        let (skills, agents) = (to_json(&task.skills)?, to_json(&task.agents)?);
        let dependencies = to_json(&task.dependencies)?;
        tx.execute(
            "INSERT INTO tasks (id, project_id, parent_id, title, description, status, priority, initial_prompt, \
             skills, agents, dependencies, model, created_at, updated_at, revision) \
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)",
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
        tx.emit(scope(&task), Event::TaskCreated(fact(&task, &[], &self.actor)));
        if let Some(parent) = &task.parent {
            let notice = Notice::SubtaskAdded { task: task.id.clone(), title: task.title.clone() };
            notices::tell_about(tx, parent, &notice, self.actor.session())?;
            pairs::settle(tx, parent)?;
        }
        Ok(task)
    }
}

impl CreateTask {
    fn task(&self, tx: &mut Tx<'_>) -> Result<Task, StoreError> {
        let project = match (&self.parent, &self.project) {
            (Some(parent), project) => self.project_of_parent(tx, parent, project.as_ref())?,
            (None, Some(project)) => {
                actor::not_a_worker(&self.actor, "make tasks that are not below its own")?;
                projects::by_id(tx, project)?.id
            }
            (None, None) => return Err(StoreError::Invalid("Project ID is required".to_owned())),
        };
        for dependency in &self.dependencies {
            by_id(tx, dependency)?;
        }
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
        tx: &mut Tx<'_>,
        parent: &TaskId,
        project: Option<&ProjectId>,
    ) -> Result<ProjectId, StoreError> {
        if let Some(project) = project {
            projects::by_id(tx, project)?;
        }
        let found = by_id_as(tx, parent, What::ParentTask)?;
        if project.is_some_and(|project| *project != found.project) {
            return Err(StoreError::Rule(format!("Parent task '{parent}' belongs to another project")));
        }
        if depth(tx, parent)? >= MAX_DEPTH {
            return Err(StoreError::Rule(format!("subtasks go {MAX_DEPTH} levels deep and no further")));
        }
        actor::require(tx, &self.actor, parent)?;
        Ok(found.project)
    }
}

/// How many tasks lie between this one and nothing, itself included.
fn depth(db: &mut Db<'_>, id: &TaskId) -> Result<i64, StoreError> {
    db.number(
        "WITH RECURSIVE up (id, parent_id) AS ( \
           SELECT id, parent_id FROM tasks WHERE id = $1 \
           UNION ALL SELECT tasks.id, tasks.parent_id FROM tasks JOIN up ON tasks.id = up.parent_id ) \
         SELECT count(*) FROM up",
        &[id.into()],
    )
}

/// What of a task is to change.
#[derive(Debug, Clone, Default)]
pub struct TaskPatch {
    /// What is to be done, in a line.
    pub title: Option<String>,
    /// What is to be done, in full.
    pub description: Option<String>,
    /// How far it is.
    pub status: Option<TaskStatus>,
    /// How urgent it is.
    pub priority: Option<Priority>,
    /// The first words an agent gets.
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
    /// How a session stands to it.
    pub pair: Option<(SessionId, PairStatus)>,
    /// The revision the caller knows.
    pub expected: Option<i64>,
    /// Who does it.
    pub actor: Actor,
}

impl Change for UpdateTask {
    type Output = Task;

    fn apply(&self, tx: &mut Tx<'_>) -> Result<Task, StoreError> {
        let mut task = by_id(tx, &self.id)?;
        if let Some(expected) = self.expected.filter(|expected| *expected != task.revision) {
            let id = self.id.to_string();
            return Err(StoreError::Changed { what: What::Task, id, expected, current: task.revision });
        }
        let reach = actor::require(tx, &self.actor, &self.id)?;
        let mut patch = self.patch.clone();
        if let (Some(Reach::Bound), Some(session)) = (reach, self.actor.session()) {
            // A worker speaks for itself; what becomes of the task follows from all who work on it.
            if let Some(status) = patch.status.take() {
                pairs::set(tx, &self.id, session, said(status))?;
            }
        }
        if let Some((session, status)) = &self.pair {
            actor::own_session(&self.actor, session)?;
            pairs::set(tx, &self.id, session, *status)?;
        }
        task = by_id(tx, &self.id)?;
        self.patch_fields(tx, &mut task, &patch)?;
        if let Some(sessions) = &patch.sessions {
            pairs::replace(tx, &self.id, sessions, &self.actor)?;
        }
        by_id(tx, &self.id)
    }
}

impl UpdateTask {
    fn patch_fields(&self, tx: &mut Tx<'_>, task: &mut Task, patch: &TaskPatch) -> Result<(), StoreError> {
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
        if before != task.status && matches!(task.status, TaskStatus::Todo | TaskStatus::InProgress) {
            pairs::forget_verdicts(tx, &task.id)?;
        }
        save(tx, task)?;
        note_change(tx, task, &fields, &self.actor)?;
        match &task.parent {
            Some(parent) if before != task.status => pairs::settle(tx, parent),
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
fn said(status: TaskStatus) -> PairStatus {
    match status {
        TaskStatus::Todo => PairStatus::Queued,
        TaskStatus::InProgress => PairStatus::Working,
        TaskStatus::InReview | TaskStatus::Completed => PairStatus::Completed,
        TaskStatus::Blocked => PairStatus::Blocked,
        TaskStatus::Cancelled | TaskStatus::Archived => PairStatus::Skipped,
    }
}

/// What becomes of the subtasks of a task that is removed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Subtasks {
    /// They move up to its parent.
    Keep,
    /// They go with it.
    Delete,
}

/// Removes a task.
#[derive(Debug, Clone)]
pub struct DeleteTask {
    /// Which one.
    pub id: TaskId,
    /// What becomes of its subtasks.
    pub subtasks: Subtasks,
    /// Who does it.
    pub actor: Actor,
}

impl Change for DeleteTask {
    type Output = ();

    fn apply(&self, tx: &mut Tx<'_>) -> Result<(), StoreError> {
        let task = by_id(tx, &self.id)?;
        if actor::require(tx, &self.actor, &self.id)? == Some(Reach::Bound) {
            return Err(StoreError::Forbidden("a worker may not delete the task it works on".to_owned()));
        }
        self.delete(tx, &task)?;
        match &task.parent {
            Some(parent) => pairs::settle(tx, parent),
            None => Ok(()),
        }
    }
}

impl DeleteTask {
    fn delete(&self, tx: &mut Tx<'_>, task: &Task) -> Result<(), StoreError> {
        match self.subtasks {
            Subtasks::Keep => {
                let parent = task.parent.as_ref();
                tx.execute(
                    "UPDATE tasks SET parent_id = $1 WHERE parent_id = $2",
                    &[parent.into(), (&task.id).into()],
                )?;
            }
            Subtasks::Delete => {
                for child in children(tx, &task.id)? {
                    self.delete(tx, &child)?;
                }
            }
        }
        let notice = Notice::TaskDeleted { task: task.id.clone(), title: task.title.clone() };
        notices::tell_about(tx, &task.id, &notice, self.actor.session())?;
        for pair in &task.sessions {
            pairs::remove(tx, task, &pair.session)?;
        }
        tx.execute("DELETE FROM queue_items WHERE task_id = $1", &[(&task.id).into()])?;
        tx.execute("DELETE FROM tasks WHERE id = $1", &[(&task.id).into()])?;
        tx.emit(scope(task), Event::TaskDeleted(fact(task, &[], &self.actor)));
        Ok(())
    }
}

fn children(db: &mut Db<'_>, parent: &TaskId) -> Result<Vec<Task>, StoreError> {
    let filter = TaskFilter { parent: Some(Some(parent.clone())), ..TaskFilter::default() };
    Ok(Tasks { filter, page: Page::default() }.load(db)?.items)
}

/// One task.
#[derive(Debug, Clone)]
pub struct TaskById(
    /// Which one.
    pub TaskId,
);

impl Read for TaskById {
    type Output = Task;

    fn load(&self, db: &mut Db<'_>) -> Result<Task, StoreError> {
        by_id(db, &self.0)
    }
}

/// Which tasks somebody wants.
#[derive(Debug, Clone, Default)]
pub struct TaskFilter {
    /// Only this project's.
    pub project: Option<ProjectId>,
    /// Only those that far.
    pub status: Option<TaskStatus>,
    /// Only the subtasks of this one; with nothing inside, only those that are no subtask.
    pub parent: Option<Option<TaskId>>,
    /// Only those below this one, however deep.
    pub below: Option<TaskId>,
    /// Only those a session is bound to.
    pub session: Option<SessionId>,
}

/// Every task below one. `UNION`, so that even a circle would end.
const BELOW: &str = "id IN (WITH RECURSIVE down (id) AS ( \
      SELECT id FROM tasks WHERE parent_id = ? \
      UNION SELECT tasks.id FROM tasks JOIN down ON tasks.parent_id = down.id ) SELECT id FROM down)";

/// Tasks, oldest first.
#[derive(Debug, Clone, Default)]
pub struct Tasks {
    /// Which ones.
    pub filter: TaskFilter,
    /// Which part of them.
    pub page: Page,
}

impl Read for Tasks {
    type Output = Listed<Task>;

    fn load(&self, db: &mut Db<'_>) -> Result<Listed<Task>, StoreError> {
        let filter = &self.filter;
        let query = Query::new(format!("{SELECT} WHERE ord > $1"), self.page.after)
            .only("project_id = ?", filter.project.as_ref())
            .only("status = ?", filter.status.map(TaskStatus::as_str))
            .only("parent_id = ?", filter.parent.as_ref().and_then(Option::as_ref))
            .only(BELOW, filter.below.as_ref())
            .only("id IN (SELECT task_id FROM task_sessions WHERE session_id = ?)", filter.session.as_ref());
        let query = if filter.parent == Some(None) { query.and("parent_id IS NULL") } else { query };
        let rows = query.page(db, self.page)?;
        let mut listed = self.page.list(rows, task)?;
        with_pairs(db, &mut listed.items)?;
        Ok(listed)
    }
}

/// Looks up the sessions of many tasks with few queries.
fn with_pairs(db: &mut Db<'_>, tasks: &mut [Task]) -> Result<(), StoreError> {
    for part in tasks.chunks_mut(pairs::MANY) {
        let ids: Vec<&str> = part.iter().map(|task| task.id.as_str()).collect();
        let mut found: HashMap<TaskId, Vec<Pair>> = HashMap::new();
        for (task, pair) in pairs::of_tasks(db, &ids)? {
            found.entry(task).or_default().push(pair);
        }
        for task in part {
            task.sessions = found.remove(&task.id).unwrap_or_default();
        }
    }
    Ok(())
}
