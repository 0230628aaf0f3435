//! Numbers of tasks by status and priority, read from the stored ones.

use maestro_core::id::ProjectId;
use maestro_core::task::{TaskPriority, TaskStatus};

use crate::change::Query;
use crate::db::DbTx;
use crate::error::StoreError;
use crate::sql_query::SqlQuery;
use crate::task_session_rows::ASKS;
use crate::value::SqlRow;

/// How many tasks there are, subtasks included.
#[derive(Debug, Clone)]
pub struct TaskNumbersQuery {
    /// Only this project's.
    pub project: Option<ProjectId>,
}

/// Numbers of tasks.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TaskNumbers {
    /// By status and priority, without those that are nought.
    pub tasks: Vec<(TaskStatus, TaskPriority, i64)>,
    /// How many of those in progress wait for a person.
    pub asking: i64,
}

impl Query for TaskNumbersQuery {
    type Output = TaskNumbers;

    fn load(&self, db: &mut DbTx<'_>) -> Result<TaskNumbers, StoreError> {
        let counts = SqlQuery::all("SELECT status, priority, tasks FROM task_counts WHERE tasks > 0")
            .only("project_id = ?", self.project.as_ref())
            .rows(db, "status, priority, level", i64::MAX)?;
        let mut tasks: Vec<(TaskStatus, TaskPriority, i64)> = Vec::new();
        for mut row in counts {
            let (status, priority, number) = (row.parsed()?, row.parsed()?, row.int()?);
            match tasks.iter_mut().find(|(of, at, _)| (*of, *at) == (status, priority)) {
                Some((_, _, sum)) => *sum += number,
                None => tasks.push((status, priority, number)),
            }
        }
        let asking = SqlQuery::all(format!("SELECT count(*) FROM tasks WHERE status = 'in_progress' AND {ASKS}"))
            .only("project_id = ?", self.project.as_ref())
            .rows(db, "1", 1)?;
        Ok(TaskNumbers { tasks, asking: first_number(asking)? })
    }
}

/// How many tasks that are no subtasks have one of these statuses.
pub(crate) fn top_level(db: &mut DbTx<'_>, project: Option<&ProjectId>, statuses: &str) -> Result<i64, StoreError> {
    let sum = "SELECT CAST(coalesce(sum(tasks), 0) AS BIGINT) FROM task_counts WHERE level = 'task' AND status IN";
    let rows = SqlQuery::all(format!("{sum} ({statuses})")).only("project_id = ?", project).rows(db, "1", 1)?;
    first_number(rows)
}

pub(crate) fn first_number(rows: Vec<SqlRow>) -> Result<i64, StoreError> {
    rows.into_iter().next().map_or(Ok(0), |mut row| row.int())
}
