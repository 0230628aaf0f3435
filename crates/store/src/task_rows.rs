//! Tasks as stored.

use maestro_core::event::{Event, TaskFact};
use maestro_core::id::TaskId;
use maestro_core::task::{Task, TaskStatus};

use crate::actor::Actor;
use crate::counted_tasks::CountedAs;
use crate::db::DbTx;
use crate::error::{RecordKind, StoreError};
use crate::task_session_rows;
use crate::tx::{ChangeTx, EventScope};
use crate::value::{SqlRow, to_json};

pub(crate) const SELECT: &str = "SELECT ord, id, project_id, parent_id, title, description, status, priority, initial_prompt, \
                      skills, agents, dependencies, model, created_at, updated_at, started_at, completed_at, revision \
                      FROM tasks";

pub(crate) fn task(row: &mut SqlRow) -> Result<Task, StoreError> {
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

/// What of a task is searched by its words.
pub(crate) fn searched_text(task: &Task) -> String {
    format!("{} {}", task.title, task.description)
}

pub(crate) fn by_id(db: &mut DbTx<'_>, id: &TaskId) -> Result<Task, StoreError> {
    by_id_as(db, id, RecordKind::Task)
}

pub(crate) fn by_id_as(db: &mut DbTx<'_>, id: &TaskId, what: RecordKind) -> Result<Task, StoreError> {
    let found = db.row(&format!("{SELECT} WHERE id = $1{}", db.lock_clause()), &[id.into()])?;
    let mut row = found.ok_or_else(|| StoreError::not_found(what, id))?;
    row.int()?;
    let mut task = task(&mut row)?;
    task.sessions = task_session_rows::of_task(db, id)?;
    Ok(task)
}

/// Records whether a task's status was set manually or follows from its sessions and subtasks.
pub(crate) fn set_manual_status(tx: &mut ChangeTx<'_>, task: &TaskId, by_hand: bool) -> Result<(), StoreError> {
    tx.execute("UPDATE tasks SET manual_status = $1 WHERE id = $2", &[i64::from(by_hand).into(), task.into()])?;
    Ok(())
}

/// Checks that these tasks exist, without locking them.
pub(crate) fn require_all(db: &mut DbTx<'_>, ids: &[TaskId]) -> Result<(), StoreError> {
    for id in ids {
        if db.number("SELECT count(*) FROM tasks WHERE id = $1", &[id.into()])? == 0 {
            return Err(StoreError::not_found(RecordKind::Task, id));
        }
    }
    Ok(())
}

/// Locks these tasks until this change is made. A change of several tasks does this first: in one order, and before
/// the tasks above them, so that no two changes wait for each other.
pub(crate) fn lock_tasks(tx: &mut ChangeTx<'_>, ids: &[TaskId]) -> Result<(), StoreError> {
    if !tx.is_postgres() || ids.len() < 2 {
        return Ok(());
    }
    let mut ids: Vec<&TaskId> = ids.iter().collect();
    ids.sort();
    for id in ids {
        tx.rows(&format!("SELECT id FROM tasks WHERE id = $1{}", tx.lock_clause()), &[id.into()])?;
    }
    Ok(())
}

pub(crate) fn fact(task: &Task, fields: &[&str], actor: &Actor) -> TaskFact {
    TaskFact {
        id: task.id.clone(),
        parent_id: task.parent.clone(),
        title: task.title.clone(),
        status: task.status,
        fields: fields.iter().map(|field| (*field).to_owned()).collect(),
        by: actor.session().cloned(),
    }
}

pub(crate) fn scope(task: &Task) -> EventScope {
    EventScope::project(&task.project).task(&task.id)
}

/// Notes that what sessions say of a task changed; they know it already.
pub(crate) fn note_progress(tx: &mut ChangeTx<'_>, task: &Task, fields: &[&str], actor: &Actor) {
    tx.emit(scope(task), Event::TaskUpdated(fact(task, fields, actor)));
}

/// Stores what a task has become.
pub(crate) fn save(tx: &mut ChangeTx<'_>, task: &mut Task) -> Result<(), StoreError> {
    task.updated_at = tx.now;
    task.revision += 1;
    if task.status == TaskStatus::InProgress {
        task.started_at.get_or_insert(tx.now);
    }
    if task.status == TaskStatus::Completed {
        task.completed_at.get_or_insert(tx.now);
    }
    let (before, after) = (CountedAs::stored(tx, task)?, CountedAs::of(task));
    if before != after {
        tx.count_tasks(before, -1);
        tx.count_tasks(after, 1);
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
