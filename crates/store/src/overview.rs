//! Overview of everything: a bounded part of each list, and the total count.
//!
//! Each read takes a few statements however much is stored, because a page asks for all of them several times a second.

use std::collections::HashMap;

use maestro_core::id::{EntityId, ProjectId, SessionId, TaskId};
use maestro_core::message::SessionMessage;
use maestro_core::session::{Session, SessionStatus, TimelineEntry};
use maestro_core::task::TaskStatus;

use crate::change::Query;
use crate::db::DbTx;
use crate::error::StoreError;
use crate::sql_query::SqlQuery;
use crate::value::{SqlParam, SqlRow};
use crate::{messages, session_rows, timeline};

/// How many ids a statement is asked about at once; always as many, so that it is prepared once.
const BATCH_SIZE: usize = 50;

/// The first of many, and how many there are.
#[derive(Debug, Clone, PartialEq)]
pub struct ListExcerpt<T> {
    /// The first ones.
    pub items: Vec<T>,
    /// How many there are in all.
    pub total: i64,
}

/// Which sessions to show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OverviewGroup {
    /// Those that ask a person, the oldest first.
    Asking,
    /// Those that have not ended, the oldest first.
    Alive,
    /// Those that ended badly, or were ended, since this moment; the last one first.
    Failed(i64),
    /// Those that said they were done since this moment; the last one first.
    Completed(i64),
}

/// Some sessions, and how many there are.
#[derive(Debug, Clone)]
pub struct OverviewSessions {
    /// Only this project's.
    pub project: Option<ProjectId>,
    /// Which ones.
    pub group: OverviewGroup,
    /// How many at most.
    pub limit: i64,
}

impl Query for OverviewSessions {
    type Output = ListExcerpt<Session>;

    fn load(&self, db: &mut DbTx<'_>) -> Result<ListExcerpt<Session>, StoreError> {
        let total = self.query("SELECT count(*) FROM sessions").rows(db, "1", 1)?;
        let total = total.into_iter().next().map_or(Ok(0), |mut row| row.int())?;
        let order = match self.group {
            // A sign keeps it from visiting all sessions in their order; those at work are few.
            OverviewGroup::Asking | OverviewGroup::Alive => "+ord",
            OverviewGroup::Failed(_) | OverviewGroup::Completed(_) => "completed_at DESC, ord DESC",
        };
        let rows = self.query(session_rows::SELECT).rows(db, order, self.limit)?;
        let read = |mut row: SqlRow| row.int().and_then(|_| session_rows::session(&mut row));
        let mut items: Vec<Session> = rows.into_iter().map(read).collect::<Result<_, _>>()?;
        with_tasks(db, &mut items)?;
        Ok(ListExcerpt { items, total })
    }
}

impl OverviewSessions {
    fn query(&self, select: &str) -> SqlQuery<'_> {
        let status = match self.group {
            OverviewGroup::Asking => "status IN ('spawning', 'idle', 'working', 'paused') AND needs_input IS NOT NULL",
            OverviewGroup::Alive => "status IN ('spawning', 'idle', 'working', 'paused')",
            OverviewGroup::Failed(_) => "status IN ('failed', 'stopped')",
            OverviewGroup::Completed(_) => "status = 'completed'",
        };
        let ended = match self.group {
            OverviewGroup::Asking | OverviewGroup::Alive => None,
            OverviewGroup::Failed(at) | OverviewGroup::Completed(at) => Some(at),
        };
        SqlQuery::all(format!("{select} WHERE {status}"))
            .only("project_id = ?", self.project.as_ref())
            .only("completed_at >= ?", ended)
    }
}

fn with_tasks(db: &mut DbTx<'_>, sessions: &mut [Session]) -> Result<(), StoreError> {
    let ids: Vec<SessionId> = sessions.iter().map(|session| session.id.clone()).collect();
    let sql = "SELECT session_id, task_id FROM task_sessions WHERE session_id IN (…) ORDER BY session_id, position";
    let mut found: HashMap<SessionId, Vec<TaskId>> = HashMap::new();
    for mut row in rows_by_ids(db, sql, &ids)? {
        found.entry(row.parsed()?).or_default().push(row.parsed()?);
    }
    for session in sessions {
        session.tasks = found.remove(&session.id).unwrap_or_default();
    }
    Ok(())
}

/// The rows of a statement about many ids, which stand for its `…`.
pub(crate) fn rows_by_ids<I: EntityId>(db: &mut DbTx<'_>, sql: &str, ids: &[I]) -> Result<Vec<SqlRow>, StoreError> {
    let places: Vec<String> = (1..=BATCH_SIZE).map(|number| format!("${number}")).collect();
    let sql = sql.replace('…', &places.join(", "));
    let mut rows = Vec::new();
    for part in ids.chunks(BATCH_SIZE) {
        let params: Vec<SqlParam<'_>> = part.iter().cycle().take(BATCH_SIZE).map(|id| id.as_str().into()).collect();
        rows.extend(db.rows(&sql, &params)?);
    }
    Ok(rows)
}

/// The last timeline entry of each of these sessions.
#[derive(Debug, Clone)]
pub struct LastTimelineEntries {
    /// Which sessions.
    pub sessions: Vec<SessionId>,
    /// What kind of line; without it, any but those that Maestro writes itself.
    pub kind: Option<&'static str>,
}

impl Query for LastTimelineEntries {
    type Output = HashMap<SessionId, TimelineEntry>;

    fn load(&self, db: &mut DbTx<'_>) -> Result<Self::Output, StoreError> {
        let kind = match self.kind {
            Some(kind) => format!("= '{kind}'"),
            None => "NOT IN ('session_started', 'session_stopped', 'task_started')".to_owned(),
        };
        let tail = format!(
            "SELECT session_id, ord, kind, at, message, task_id, metadata FROM timeline_tail WHERE ord IN \
             (SELECT max(ord) FROM timeline_tail WHERE session_id IN (…) AND kind {kind} GROUP BY session_id)"
        );
        let sorted = format!(
            "SELECT s.id, t.ord, t.kind, t.at, t.message, t.task_id, t.metadata FROM sessions s JOIN timeline t \
             ON t.session_id = s.id AND t.ord = (SELECT ord FROM timeline WHERE session_id = s.id AND kind {kind} ORDER BY ord DESC LIMIT 1) \
             WHERE s.id IN (…)"
        );
        let read = |mut row: SqlRow| Ok((row.parsed()?, timeline::entry(&mut row)?));
        let newest = if db.is_postgres() { Vec::new() } else { rows_by_ids(db, &tail, &self.sessions)? };
        let mut last: Self::Output = newest.into_iter().map(read).collect::<Result<_, StoreError>>()?;
        let others: Vec<SessionId> = self.sessions.iter().filter(|id| !last.contains_key(id)).cloned().collect();
        for row in rows_by_ids(db, &sorted, &others)? {
            last.extend([read(row)?]);
        }
        Ok(last)
    }
}

/// The last message to each of these sessions.
#[derive(Debug, Clone)]
pub struct LastMessages {
    /// Which sessions.
    pub sessions: Vec<SessionId>,
}

impl Query for LastMessages {
    type Output = HashMap<SessionId, SessionMessage>;

    fn load(&self, db: &mut DbTx<'_>) -> Result<Self::Output, StoreError> {
        let sql = "SELECT m.id, m.session_id, m.sender, m.body, m.state, m.delivery, m.created_at, m.settled_at \
                   FROM sessions s JOIN messages m \
                   ON m.ord = (SELECT ord FROM messages WHERE session_id = s.id ORDER BY ord DESC LIMIT 1) \
                   WHERE s.id IN (…)";
        let rows = rows_by_ids(db, sql, &self.sessions)?;
        let message = |mut row: SqlRow| messages::message(&mut row);
        rows.into_iter().map(message).map(|said| said.map(|said| (said.session_id.clone(), said))).collect()
    }
}

/// When the agent of each of these sessions last did something, where a worker monitors it.
#[derive(Debug, Clone)]
pub struct LastActivity {
    /// Which sessions.
    pub sessions: Vec<SessionId>,
}

impl Query for LastActivity {
    type Output = HashMap<SessionId, i64>;

    fn load(&self, db: &mut DbTx<'_>) -> Result<Self::Output, StoreError> {
        let sql = "SELECT s.id, t.at FROM sessions s JOIN transcript t \
                   ON t.ord = (SELECT ord FROM transcript WHERE session_id = s.id ORDER BY ord DESC LIMIT 1) \
                   WHERE s.id IN (…)";
        rows_by_ids(db, sql, &self.sessions)?.into_iter().map(|mut row| Ok((row.parsed()?, row.int()?))).collect()
    }
}

/// The titles of these tasks.
#[derive(Debug, Clone)]
pub struct TaskTitles {
    /// Which tasks.
    pub tasks: Vec<TaskId>,
}

impl Query for TaskTitles {
    type Output = HashMap<TaskId, String>;

    fn load(&self, db: &mut DbTx<'_>) -> Result<Self::Output, StoreError> {
        let rows = rows_by_ids(db, "SELECT id, title FROM tasks WHERE id IN (…)", &self.tasks)?;
        rows.into_iter().map(|mut row| Ok((row.parsed()?, row.text()?))).collect()
    }
}

/// Counts for each project.
#[derive(Debug, Clone, Copy)]
pub struct CountProjects;

/// How many of a project's tasks and living sessions are where.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ProjectCounts {
    /// Tasks by how far they are.
    pub tasks: Vec<(ProjectId, TaskStatus, i64)>,
    /// Sessions that have not ended, by whether they work.
    pub sessions: Vec<(ProjectId, SessionStatus, i64)>,
    /// Whether there ever was a session.
    pub any_session: bool,
}

impl Query for CountProjects {
    type Output = ProjectCounts;

    fn load(&self, db: &mut DbTx<'_>) -> Result<ProjectCounts, StoreError> {
        let tasks = "SELECT project_id, status, CAST(sum(tasks) AS BIGINT) FROM task_counts \
                     WHERE tasks > 0 GROUP BY project_id, status";
        let sessions = "SELECT project_id, status, count(*) FROM sessions \
                        WHERE status IN ('spawning', 'idle', 'working', 'paused') GROUP BY project_id, status";
        Ok(ProjectCounts {
            tasks: db.rows(tasks, &[])?.into_iter().map(counted).collect::<Result<_, _>>()?,
            sessions: db.rows(sessions, &[])?.into_iter().map(counted).collect::<Result<_, _>>()?,
            any_session: !db.rows("SELECT ord FROM sessions LIMIT 1", &[])?.is_empty(),
        })
    }
}

fn counted<S: std::str::FromStr<Err: std::fmt::Display>>(mut row: SqlRow) -> Result<(ProjectId, S, i64), StoreError> {
    Ok((row.parsed()?, row.parsed()?, row.int()?))
}
