//! Kinds of tasks that are counted together, and the stored number of each.

use maestro_core::task::{Task, TaskPriority, TaskStatus};

use crate::db::DbTx;
use crate::error::StoreError;

/// What is counted together.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct CountedAs {
    project: String,
    status: &'static str,
    priority: &'static str,
    level: &'static str,
}

impl CountedAs {
    pub(crate) fn of(task: &Task) -> Self {
        Self {
            project: task.project.to_string(),
            status: task.status.as_str(),
            priority: task.priority.as_str(),
            level: if task.parent.is_none() { "task" } else { "subtask" },
        }
    }

    /// As what a stored task is counted.
    pub(crate) fn stored(db: &mut DbTx<'_>, task: &Task) -> Result<Self, StoreError> {
        let sql = "SELECT status, priority, CASE WHEN parent_id IS NULL THEN 0 ELSE 1 END FROM tasks WHERE id = $1";
        let Some(mut row) = db.row(sql, &[(&task.id).into()])? else { return Ok(Self::of(task)) };
        let (status, priority): (TaskStatus, TaskPriority) = (row.parsed()?, row.parsed()?);
        let level = if row.int()? == 0 { "task" } else { "subtask" };
        Ok(Self { project: task.project.to_string(), status: status.as_str(), priority: priority.as_str(), level })
    }

    /// Adds to the stored number.
    pub(crate) fn add(&self, db: &mut DbTx<'_>, tasks: i64) -> Result<(), StoreError> {
        db.execute(
            "INSERT INTO task_counts (project_id, status, priority, level, tasks) VALUES ($1, $2, $3, $4, $5) \
             ON CONFLICT (project_id, status, priority, level) DO UPDATE SET tasks = task_counts.tasks + excluded.tasks",
            &[(&self.project).into(), self.status.into(), self.priority.into(), self.level.into(), tasks.into()],
        )?;
        Ok(())
    }
}
