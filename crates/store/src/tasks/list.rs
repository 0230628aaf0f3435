//! Queries for one task and for lists of tasks.

use std::collections::HashMap;

use maestro_core::id::{EntityId, ProjectId, SessionId, TaskId};
use maestro_core::task::{Task, TaskSession, TaskStatus};

use crate::change::Query;
use crate::db::DbTx;
use crate::error::StoreError;
use crate::sql_query::SqlQuery;
use crate::task_rows::{SELECT, by_id, task};
use crate::{ListPage, PageItems, task_session_rows};

/// One task.
#[derive(Debug, Clone)]
pub struct TaskById(
    /// Which one.
    pub TaskId,
);

impl Query for TaskById {
    type Output = Task;

    fn load(&self, db: &mut DbTx<'_>) -> Result<Task, StoreError> {
        by_id(db, &self.0)
    }
}

/// Which tasks to list.
#[derive(Debug, Clone, Default)]
pub struct TaskFilter {
    /// Only this project's.
    pub project: Option<ProjectId>,
    /// Only those with this status.
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
pub struct TaskList {
    /// Which ones.
    pub filter: TaskFilter,
    /// Which part of them.
    pub page: ListPage,
}

impl Query for TaskList {
    type Output = PageItems<Task>;

    fn load(&self, db: &mut DbTx<'_>) -> Result<PageItems<Task>, StoreError> {
        let filter = &self.filter;
        let query = SqlQuery::new(format!("{SELECT} WHERE ord > $1"), self.page.after)
            .only("project_id = ?", filter.project.as_ref())
            .only("status = ?", filter.status.map(TaskStatus::as_str))
            .only("parent_id = ?", filter.parent.as_ref().and_then(Option::as_ref))
            .only(BELOW, filter.below.as_ref())
            .only("id IN (SELECT task_id FROM task_sessions WHERE session_id = ?)", filter.session.as_ref());
        let query = if filter.parent == Some(None) { query.and("parent_id IS NULL") } else { query };
        let rows = query.page(db, self.page)?;
        let mut listed = self.page.list(rows, task)?;
        load_sessions(db, &mut listed.items)?;
        Ok(listed)
    }
}

/// Looks up the sessions of many tasks with few queries.
pub(crate) fn load_sessions(db: &mut DbTx<'_>, tasks: &mut [Task]) -> Result<(), StoreError> {
    for part in tasks.chunks_mut(task_session_rows::BATCH_SIZE) {
        let ids: Vec<&str> = part.iter().map(|task| task.id.as_str()).collect();
        let mut found: HashMap<TaskId, Vec<TaskSession>> = HashMap::new();
        for (task, pair) in task_session_rows::of_tasks(db, &ids)? {
            found.entry(task).or_default().push(pair);
        }
        for task in part {
            task.sessions = found.remove(&task.id).unwrap_or_default();
        }
    }
    Ok(())
}
