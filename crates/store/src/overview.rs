//! Overview of everything: a bounded part of each list, and the total count.
//!
//! Each read takes a few statements however much is stored, because a page asks for all of them several times a second.

use std::collections::HashMap;

use maestro_core::id::{Id, ProjectId, SessionId, TaskId};
use maestro_core::message::Message;
use maestro_core::session::{Session, SessionStatus, TimelineEntry};
use maestro_core::task::TaskStatus;

use crate::change::Read;
use crate::db::Db;
use crate::error::StoreError;
use crate::query::Query;
use crate::value::{Param, Row};
use crate::{messages, sessions, timeline};

/// How many ids a statement is asked about at once; always as many, so that it is prepared once.
const MANY: usize = 50;
/// How long before its end a session's last activity may be; a bound for the index, not a rule.
const SILENT_BEFORE_END: i64 = 7 * 24 * 60 * 60 * 1000;

/// The first of many, and how many there are.
#[derive(Debug, Clone, PartialEq)]
pub struct Excerpt<T> {
    /// The first ones.
    pub items: Vec<T>,
    /// How many there are in all.
    pub total: i64,
}

/// Which sessions to show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gaze {
    /// Those that ask a person, the oldest first.
    Asking,
    /// Those that have not ended, the oldest first.
    Alive,
    /// Those that ended badly, or were ended, since this moment; the last one first.
    EndedBadly(i64),
    /// Those that said they were done since this moment; the last one first.
    EndedWell(i64),
}

/// Some sessions, and how many there are.
#[derive(Debug, Clone)]
pub struct SessionsSeen {
    /// Only this project's.
    pub project: Option<ProjectId>,
    /// Which ones.
    pub gaze: Gaze,
    /// How many at most.
    pub limit: i64,
}

impl Read for SessionsSeen {
    type Output = Excerpt<Session>;

    fn load(&self, db: &mut Db<'_>) -> Result<Excerpt<Session>, StoreError> {
        let total = self.query("SELECT count(*) FROM sessions").rows(db, "1", 1)?;
        let total = total.into_iter().next().map_or(Ok(0), |mut row| row.int())?;
        let order = match self.gaze {
            Gaze::Asking | Gaze::Alive => "ord",
            Gaze::EndedBadly(_) | Gaze::EndedWell(_) => "completed_at DESC, ord DESC",
        };
        let rows = self.query(sessions::SELECT).rows(db, order, self.limit)?;
        let read = |mut row: Row| row.int().and_then(|_| sessions::session(&mut row));
        let mut items: Vec<Session> = rows.into_iter().map(read).collect::<Result<_, _>>()?;
        with_tasks(db, &mut items)?;
        Ok(Excerpt { items, total })
    }
}

impl SessionsSeen {
    fn query(&self, select: &str) -> Query<'_> {
        let query = Query::new(format!("{select} WHERE ord > $1"), 0).only("project_id = ?", self.project.as_ref());
        match self.gaze {
            Gaze::Asking => {
                query.and("status NOT IN ('completed', 'failed', 'stopped')").and("needs_input IS NOT NULL")
            }
            Gaze::Alive => query.and("status NOT IN ('completed', 'failed', 'stopped')"),
            Gaze::EndedBadly(at) => since(query.and("status IN ('failed', 'stopped')"), at),
            Gaze::EndedWell(at) => since(query.and("status = 'completed'"), at),
        }
    }
}

fn since(query: Query<'_>, at: i64) -> Query<'_> {
    query.only("last_activity >= ?", at.saturating_sub(SILENT_BEFORE_END)).only("completed_at >= ?", at)
}

fn with_tasks(db: &mut Db<'_>, sessions: &mut [Session]) -> Result<(), StoreError> {
    let ids: Vec<SessionId> = sessions.iter().map(|session| session.id.clone()).collect();
    let sql = "SELECT session_id, task_id FROM task_sessions WHERE session_id IN (…) ORDER BY session_id, position";
    let mut found: HashMap<SessionId, Vec<TaskId>> = HashMap::new();
    for mut row in about(db, sql, &ids)? {
        found.entry(row.parsed()?).or_default().push(row.parsed()?);
    }
    for session in sessions {
        session.tasks = found.remove(&session.id).unwrap_or_default();
    }
    Ok(())
}

/// The rows of a statement about many ids, which stand for its `…`.
fn about<I: Id>(db: &mut Db<'_>, sql: &str, ids: &[I]) -> Result<Vec<Row>, StoreError> {
    let places: Vec<String> = (1..=MANY).map(|number| format!("${number}")).collect();
    let sql = sql.replace('…', &places.join(", "));
    let mut rows = Vec::new();
    for part in ids.chunks(MANY) {
        let params: Vec<Param<'_>> = part.iter().cycle().take(MANY).map(|id| id.as_str().into()).collect();
        rows.extend(db.rows(&sql, &params)?);
    }
    Ok(rows)
}

/// The last timeline entry of each of these sessions.
#[derive(Debug, Clone)]
pub struct LastWords {
    /// Which sessions.
    pub sessions: Vec<SessionId>,
    /// What kind of line; without it, any but those that Maestro writes itself.
    pub kind: Option<&'static str>,
}

impl Read for LastWords {
    type Output = HashMap<SessionId, TimelineEntry>;

    fn load(&self, db: &mut Db<'_>) -> Result<Self::Output, StoreError> {
        let kind = match self.kind {
            Some(kind) => format!("= '{kind}'"),
            None => "NOT IN ('session_started', 'session_stopped', 'task_started')".to_owned(),
        };
        let sql = format!(
            "SELECT s.id, t.ord, t.kind, t.at, t.message, t.task_id, t.metadata FROM sessions s JOIN timeline t \
             ON t.ord = (SELECT ord FROM timeline WHERE session_id = s.id AND kind {kind} ORDER BY ord DESC LIMIT 1) \
             WHERE s.id IN (…)"
        );
        let rows = about(db, &sql, &self.sessions)?;
        rows.into_iter().map(|mut row| Ok((row.parsed()?, timeline::entry(&mut row)?))).collect()
    }
}

/// The last message to each of these sessions.
#[derive(Debug, Clone)]
pub struct LastMessages {
    /// Which sessions.
    pub sessions: Vec<SessionId>,
}

impl Read for LastMessages {
    type Output = HashMap<SessionId, Message>;

    fn load(&self, db: &mut Db<'_>) -> Result<Self::Output, StoreError> {
        let sql = "SELECT m.id, m.session_id, m.sender, m.body, m.state, m.delivery, m.created_at, m.settled_at \
                   FROM sessions s JOIN messages m \
                   ON m.ord = (SELECT ord FROM messages WHERE session_id = s.id ORDER BY ord DESC LIMIT 1) \
                   WHERE s.id IN (…)";
        let rows = about(db, sql, &self.sessions)?;
        let message = |mut row: Row| messages::message(&mut row);
        rows.into_iter().map(message).map(|said| said.map(|said| (said.session_id.clone(), said))).collect()
    }
}

/// When the agent of each of these sessions last did something, where a worker monitors it.
#[derive(Debug, Clone)]
pub struct LastDeeds {
    /// Which sessions.
    pub sessions: Vec<SessionId>,
}

impl Read for LastDeeds {
    type Output = HashMap<SessionId, i64>;

    fn load(&self, db: &mut Db<'_>) -> Result<Self::Output, StoreError> {
        let sql = "SELECT s.id, t.at FROM sessions s JOIN transcript t \
                   ON t.ord = (SELECT ord FROM transcript WHERE session_id = s.id ORDER BY ord DESC LIMIT 1) \
                   WHERE s.id IN (…)";
        about(db, sql, &self.sessions)?.into_iter().map(|mut row| Ok((row.parsed()?, row.int()?))).collect()
    }
}

/// The titles of these tasks.
#[derive(Debug, Clone)]
pub struct Titles {
    /// Which tasks.
    pub tasks: Vec<TaskId>,
}

impl Read for Titles {
    type Output = HashMap<TaskId, String>;

    fn load(&self, db: &mut Db<'_>) -> Result<Self::Output, StoreError> {
        let rows = about(db, "SELECT id, title FROM tasks WHERE id IN (…)", &self.tasks)?;
        rows.into_iter().map(|mut row| Ok((row.parsed()?, row.text()?))).collect()
    }
}

/// Counts for each project.
#[derive(Debug, Clone, Copy)]
pub struct Tally;

/// How many of a project's tasks and living sessions are where.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Counts {
    /// Tasks by how far they are.
    pub tasks: Vec<(ProjectId, TaskStatus, i64)>,
    /// Sessions that have not ended, by whether they work.
    pub sessions: Vec<(ProjectId, SessionStatus, i64)>,
    /// Whether there ever was a session.
    pub any_session: bool,
}

impl Read for Tally {
    type Output = Counts;

    fn load(&self, db: &mut Db<'_>) -> Result<Counts, StoreError> {
        let tasks = "SELECT project_id, status, count(*) FROM tasks GROUP BY project_id, status";
        let sessions = "SELECT project_id, status, count(*) FROM sessions \
                        WHERE status NOT IN ('completed', 'failed', 'stopped') GROUP BY project_id, status";
        Ok(Counts {
            tasks: db.rows(tasks, &[])?.into_iter().map(counted).collect::<Result<_, _>>()?,
            sessions: db.rows(sessions, &[])?.into_iter().map(counted).collect::<Result<_, _>>()?,
            any_session: !db.rows("SELECT ord FROM sessions LIMIT 1", &[])?.is_empty(),
        })
    }
}

fn counted<S: std::str::FromStr<Err: std::fmt::Display>>(mut row: Row) -> Result<(ProjectId, S, i64), StoreError> {
    Ok((row.parsed()?, row.parsed()?, row.int()?))
}
