//! Tasks by how they stand: the first of each group, how many there are, and how far their subtasks are.

use std::collections::HashMap;

use maestro_core::id::{ProjectId, TaskId};
use maestro_core::task::Task;

use crate::change::Query;
use crate::db::DbTx;
use crate::error::StoreError;
use crate::overview::{ListExcerpt, rows_by_ids};
use crate::sql_query::SqlQuery;
use crate::task_counts::first_number;
use crate::task_session_rows::ASKS;
use crate::tasks::load_sessions;
use crate::value::SqlRow;
use crate::{task_counts, task_rows};

/// How tasks of a group stand. A task belongs to exactly one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TaskColumn {
    /// No work has started.
    Queued,
    /// Sessions work on it.
    Working,
    /// A person must act.
    Waiting,
    /// Its result waits for a review.
    Ready,
    /// No work is left.
    Done,
}

impl TaskColumn {
    /// All groups, in the order of work.
    pub const ALL: [Self; 5] = [Self::Queued, Self::Working, Self::Waiting, Self::Ready, Self::Done];

    fn condition(self) -> String {
        match self {
            Self::Queued => "status = 'todo'".to_owned(),
            Self::Working => format!("status = 'in_progress' AND NOT {ASKS}"),
            Self::Waiting => {
                format!("status IN ('blocked', 'in_progress') AND (status = 'blocked' OR {ASKS})")
            }
            Self::Ready => "status = 'in_review'".to_owned(),
            // As the index has it that keeps them in order.
            Self::Done => "coalesce(status, '') IN ('completed', 'cancelled', 'archived')".to_owned(),
        }
    }

    /// The statuses of its tasks, where they alone decide.
    fn statuses(self) -> Option<&'static str> {
        match self {
            Self::Queued => Some("'todo'"),
            Self::Working | Self::Waiting => None,
            Self::Ready => Some("'in_review'"),
            Self::Done => Some("'completed', 'cancelled', 'archived'"),
        }
    }

    /// The most urgent first, then the oldest; of what is done the last first.
    fn order(self) -> &'static str {
        match self {
            Self::Done => "coalesce(completed_at, updated_at) DESC, ord DESC",
            _ => "CASE priority WHEN 'critical' THEN 0 WHEN 'high' THEN 1 WHEN 'medium' THEN 2 ELSE 3 END, ord",
        }
    }
}

/// The tasks of a group that are no subtasks, and how many there are.
#[derive(Debug, Clone)]
pub struct TaskColumnList {
    /// Only this project's.
    pub project: Option<ProjectId>,
    /// Which group.
    pub group: TaskColumn,
    /// How many at most.
    pub limit: i64,
}

impl Query for TaskColumnList {
    type Output = ListExcerpt<Task>;

    fn load(&self, db: &mut DbTx<'_>) -> Result<ListExcerpt<Task>, StoreError> {
        let total = match self.group.statuses() {
            Some(statuses) => task_counts::top_level(db, self.project.as_ref(), statuses)?,
            None => first_number(self.query("SELECT count(*) FROM tasks").rows(db, "1", 1)?)?,
        };
        let rows = self.query(task_rows::SELECT).rows(db, self.group.order(), self.limit)?;
        let read = |mut row: SqlRow| row.int().and_then(|_| task_rows::task(&mut row));
        let mut items: Vec<Task> = rows.into_iter().map(read).collect::<Result<_, _>>()?;
        load_sessions(db, &mut items)?;
        Ok(ListExcerpt { items, total })
    }
}

impl TaskColumnList {
    fn query(&self, select: &str) -> SqlQuery<'_> {
        // Not `parent_id IS NULL`: that would be looked up, and almost all tasks are like that.
        SqlQuery::all(format!("{select} WHERE coalesce(parent_id, '') = ''"))
            .and(&self.group.condition())
            .only("project_id = ?", self.project.as_ref())
    }
}

/// How many subtasks each of these tasks has, and how many of them are done.
#[derive(Debug, Clone)]
pub struct SubtaskCounts {
    /// Which tasks.
    pub parents: Vec<TaskId>,
}

/// How far the subtasks of a task are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct SubtaskCount {
    /// How many are done.
    pub done: i64,
    /// How many there are.
    pub all: i64,
}

impl Query for SubtaskCounts {
    type Output = HashMap<TaskId, SubtaskCount>;

    fn load(&self, db: &mut DbTx<'_>) -> Result<Self::Output, StoreError> {
        let sql = "SELECT parent_id, CAST(sum(CASE WHEN status IN ('completed', 'cancelled', 'archived') THEN 1 ELSE 0 END) \
                   AS BIGINT), count(*) FROM tasks WHERE parent_id IN (…) GROUP BY parent_id";
        let count = |mut row: SqlRow| Ok((row.parsed()?, SubtaskCount { done: row.int()?, all: row.int()? }));
        rows_by_ids(db, sql, &self.parents)?.into_iter().map(count).collect()
    }
}
