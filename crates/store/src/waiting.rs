//! Questions of sessions, and blocked tasks, that wait for a person.

use maestro_core::id::{ProjectId, SessionId};
use maestro_core::session::Session;
use maestro_core::task::{Task, TaskStatus};

use crate::change::Query;
use crate::db::DbTx;
use crate::error::StoreError;
use crate::sql_query::SqlQuery;
use crate::tasks::{TaskFilter, TaskList};
use crate::value::SqlRow;
use crate::{ListPage, session_rows, task_session_rows};

/// When a session last asked something; its last activity where only its worker knows. No question is in the tail of the
/// timelines (see [`crate::tx`]).
pub(crate) const ASKED_AT: &str = "coalesce((SELECT max(timeline.at) FROM timeline WHERE timeline.session_id = sessions.id \
                                   AND timeline.kind IN ('needs_input', 'task_blocked')), sessions.last_activity)";

/// Whether words for a session came after it asked.
pub(crate) fn answered() -> String {
    format!(
        "EXISTS (SELECT 1 FROM messages WHERE messages.session_id = sessions.id AND messages.created_at >= {ASKED_AT})"
    )
}

/// A session that asks a person, and since when.
#[derive(Debug, Clone, PartialEq)]
pub struct AskingSession {
    /// The session.
    pub session: Session,
    /// When it asked.
    pub since: i64,
}

/// The sessions with a question that no one has answered, oldest first.
#[derive(Debug, Clone, Default)]
pub struct OpenQuestions {
    /// Only this project's.
    pub project: Option<ProjectId>,
    /// How many at most.
    pub limit: i64,
}

impl Query for OpenQuestions {
    type Output = Vec<AskingSession>;

    fn load(&self, db: &mut DbTx<'_>) -> Result<Vec<AskingSession>, StoreError> {
        let select = format!(
            "SELECT sessions.id, {ASKED_AT} FROM sessions WHERE sessions.needs_input IS NOT NULL \
             AND sessions.status IN ('spawning', 'idle', 'working', 'paused')"
        );
        let rows = SqlQuery::all(select)
            .only("sessions.project_id = ?", self.project.as_ref())
            .and(&format!("NOT {}", answered()))
            .rows(db, "+sessions.ord", self.limit)?;
        let read = |mut row: SqlRow| {
            let (id, since): (SessionId, i64) = (row.parsed()?, row.int()?);
            let mut session = session_rows::by_id(db, &id)?;
            session.tasks = task_session_rows::of_session(db, &id)?.into_iter().map(|(task, _)| task).collect();
            Ok(AskingSession { session, since })
        };
        rows.into_iter().map(read).collect()
    }
}

/// The blocked tasks that no living session asks about, and that are not blocked by a subtask only; oldest first.
#[derive(Debug, Clone, Default)]
pub struct AbandonedTasks {
    /// Only this project's.
    pub project: Option<ProjectId>,
    /// How many at most.
    pub limit: i64,
}

impl Query for AbandonedTasks {
    type Output = Vec<Task>;

    fn load(&self, db: &mut DbTx<'_>) -> Result<Vec<Task>, StoreError> {
        let status = Some(TaskStatus::Blocked);
        let filter = TaskFilter { project: self.project.clone(), status, ..TaskFilter::default() };
        let mut tasks = TaskList { filter, page: ListPage { limit: self.limit, after: 0 } }.load(db)?.items;
        let parents: Vec<_> = tasks.iter().filter_map(|task| task.parent.clone()).collect();
        tasks.retain(|task| !parents.contains(&task.id));
        let sql = "SELECT count(*) FROM task_sessions JOIN sessions ON sessions.id = task_sessions.session_id \
                   WHERE task_sessions.task_id = $1 AND sessions.needs_input IS NOT NULL \
                   AND sessions.status IN ('spawning', 'idle', 'working', 'paused')";
        let mut abandoned = Vec::new();
        for task in tasks {
            if db.number(sql, &[(&task.id).into()])? == 0 {
                abandoned.push(task);
            }
        }
        Ok(abandoned)
    }
}

/// The runs whose next word is a person's, by their own state or by what their sessions ask: run and question.
#[derive(Debug, Clone, Copy)]
pub struct QuestionsOfRuns {
    /// As of when.
    pub at: i64,
}

impl Query for QuestionsOfRuns {
    type Output = Vec<(String, String)>;

    fn load(&self, db: &mut DbTx<'_>) -> Result<Self::Output, StoreError> {
        let of_run = "FROM step_sessions JOIN sessions ON sessions.id = step_sessions.session_id";
        let living = "sessions.status IN ('spawning', 'idle', 'working', 'paused')";
        let questions = format!(
            "SELECT step_sessions.run_id, sessions.needs_input {of_run} \
             WHERE {living} AND sessions.needs_input IS NOT NULL AND NOT {}",
            answered()
        );
        let permissions = format!(
            "SELECT step_sessions.run_id, permissions.title {of_run} \
             JOIN permissions ON permissions.session_id = sessions.id \
             WHERE {living} AND permissions.answer IS NULL AND permissions.expires_at > $1 ORDER BY permissions.ord"
        );
        let pair = |mut row: SqlRow| Ok((row.text()?, row.text()?));
        let asked = db.rows(&permissions, &[self.at.into()])?.into_iter().chain(db.rows(&questions, &[])?);
        asked.map(pair).collect()
    }
}
