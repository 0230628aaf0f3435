//! Queries for one session and for lists of sessions.

use maestro_core::id::{ProjectId, SessionId, TaskId};
use maestro_core::session::{Session, SessionStatus};

use crate::change::Query;
use crate::db::DbTx;
use crate::error::StoreError;
use crate::session_rows::{SELECT, by_id, session};
use crate::sql_query::SqlQuery;
use crate::{ListPage, PageItems, task_session_rows};

/// One session.
#[derive(Debug, Clone)]
pub struct SessionById(
    /// Which one.
    pub SessionId,
);

impl Query for SessionById {
    type Output = Session;

    fn load(&self, db: &mut DbTx<'_>) -> Result<Session, StoreError> {
        by_id(db, &self.0)
    }
}

/// Which sessions to list.
#[derive(Debug, Clone, Default)]
pub struct SessionFilter {
    /// Only this project's.
    pub project: Option<ProjectId>,
    /// Only those at work on this task.
    pub task: Option<TaskId>,
    /// Only those in this state.
    pub status: Option<SessionStatus>,
    /// Which of them by whether they have ended.
    pub liveness: LivenessFilter,
}

/// Whether ended sessions are wanted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum LivenessFilter {
    /// All of them.
    #[default]
    Any,
    /// Only those that have not ended.
    Alive,
    /// All but the completed ones, as the original meant `active`.
    NotCompleted,
}

/// Sessions, oldest first.
#[derive(Debug, Clone, Default)]
pub struct SessionList {
    /// Which ones.
    pub filter: SessionFilter,
    /// Which part of them.
    pub page: ListPage,
}

impl Query for SessionList {
    type Output = PageItems<Session>;

    fn load(&self, db: &mut DbTx<'_>) -> Result<PageItems<Session>, StoreError> {
        let filter = &self.filter;
        let query = SqlQuery::new(format!("{SELECT} WHERE ord > $1"), self.page.after)
            .only("project_id = ?", filter.project.as_ref())
            .only("status = ?", filter.status.map(SessionStatus::as_str))
            .only("id IN (SELECT session_id FROM task_sessions WHERE task_id = ?)", filter.task.as_ref());
        let rows = match filter.liveness {
            LivenessFilter::Any => query.page(db, self.page)?,
            // A sign keeps it from visiting all sessions in their order.
            LivenessFilter::Alive => query.and("status IN ('spawning', 'idle', 'working', 'paused')").rows(
                db,
                "+ord",
                self.page.row_limit(),
            )?,
            LivenessFilter::NotCompleted => query
                .and("status IN ('spawning', 'idle', 'working', 'paused', 'failed', 'stopped')")
                .rows(db, "+ord", self.page.row_limit())?,
        };
        let mut listed = self.page.list(rows, session)?;
        for session in &mut listed.items {
            session.tasks = task_session_rows::of_session(db, &session.id)?.into_iter().map(|(task, _)| task).collect();
        }
        Ok(listed)
    }
}
