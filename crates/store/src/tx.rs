//! Transaction of a change, with the time, randomness and the events it emits.
//!
//! Events, lines of timelines and notices are collected while the change is made and written as its last act, so that on PostgreSQL the
//! lock that makes their numbers follow the order of commits is held for as short as can be.

use std::collections::BTreeMap;
use std::ops::{Deref, DerefMut};

use maestro_core::event::{self, Event};
use maestro_core::id::{EntityId, ProjectId, SessionId, TaskId};
use maestro_core::notice::SessionNotice;
use maestro_core::rollup::DoneStatus;
use maestro_core::session::EntryKind;

use crate::actor::Actor;
use crate::counted_tasks::CountedAs;
use crate::db::DbTx;
use crate::error::StoreError;
use crate::value::{SqlParam, SqlRow, to_json};

/// After how many events the appended lines are sorted into their timelines.
const TAIL: i64 = 512;

/// What a change is made in.
pub struct ChangeTx<'c> {
    db: DbTx<'c>,
    /// The time, in milliseconds.
    pub(crate) now: i64,
    pub(crate) rules: StoreRules,
    events: Vec<PendingEvent>,
    notices: Vec<(SessionId, SessionNotice)>,
    counts: BTreeMap<CountedAs, i64>,
}

/// An event that is appended as a change's last act.
struct PendingEvent {
    scope: EventScope,
    event: Event,
    /// The line of a timeline that it is about; the line has the event's number.
    line: Option<TimelineLine>,
}

/// What a line of a timeline has beyond what its event says.
pub(crate) struct TimelineLine {
    pub(crate) session: SessionId,
    pub(crate) task: Option<TaskId>,
    pub(crate) kind: EntryKind,
    pub(crate) message: String,
    pub(crate) metadata: Option<String>,
}

impl TimelineLine {
    /// Whether it asks a person something: `waiting.rs` looks for such lines in the timeline of their session only.
    fn asks(&self) -> bool {
        ["needs_input", "task_blocked"].contains(&self.kind.as_str())
    }
}

/// What the settings decide.
#[derive(Debug, Clone, Copy)]
pub struct StoreRules {
    /// What a task becomes when its work is done.
    pub when_done: DoneStatus,
    /// After how many milliseconds of silence a session counts as gone.
    pub silence_limit: i64,
}

impl Default for StoreRules {
    fn default() -> Self {
        Self { when_done: DoneStatus::Complete, silence_limit: 15 * 60 * 1000 }
    }
}

/// What an event is about; readers filter by it.
#[derive(Debug, Clone, Default)]
pub struct EventScope {
    /// The project.
    pub project: Option<ProjectId>,
    /// The task.
    pub task: Option<TaskId>,
    /// The session.
    pub session: Option<SessionId>,
    /// The run.
    pub run: Option<String>,
}

impl EventScope {
    /// Something about a project.
    pub fn project(project: &ProjectId) -> Self {
        Self { project: Some(project.clone()), ..Self::default() }
    }

    /// The same, about one of its tasks.
    #[must_use]
    pub fn task(mut self, task: &TaskId) -> Self {
        self.task = Some(task.clone());
        self
    }

    /// The same, about one of its sessions.
    #[must_use]
    pub fn session(mut self, session: &SessionId) -> Self {
        self.session = Some(session.clone());
        self
    }
}

impl<'c> ChangeTx<'c> {
    pub(crate) fn new(db: DbTx<'c>, now: i64, rules: StoreRules) -> Self {
        Self { db, now, rules, events: Vec::new(), notices: Vec::new(), counts: BTreeMap::new() }
    }

    /// A fresh id.
    pub(crate) fn make_id<I: EntityId>(&self) -> Result<I, StoreError> {
        Ok(I::make(self.now, random()?))
    }

    /// Notes that something happened.
    pub(crate) fn emit(&mut self, scope: EventScope, event: Event) {
        self.events.push(PendingEvent { scope, event, line: None });
    }

    /// Adds a line to a timeline, and notes that this happened.
    pub(crate) fn emit_line(&mut self, scope: EventScope, event: Event, line: TimelineLine) {
        self.events.push(PendingEvent { scope, event, line: Some(line) });
    }

    /// Queues a notice for a session.
    pub(crate) fn notify(&mut self, session: &SessionId, notice: &SessionNotice) {
        self.notices.push((session.clone(), notice.clone()));
    }

    /// Counts so many tasks more, or less.
    pub(crate) fn count_tasks(&mut self, counted: CountedAs, tasks: i64) {
        *self.counts.entry(counted).or_default() += tasks;
    }

    /// Appends the events to the log, and saves the notices and what is counted.
    pub(crate) fn append(&mut self, actor: Option<&Actor>) -> Result<(), StoreError> {
        if self.events.is_empty() && self.notices.is_empty() && self.counts.is_empty() {
            return Ok(());
        }
        if self.db.is_postgres() {
            self.db.rows("SELECT CAST(pg_advisory_xact_lock(7246291, hashtext(current_schema())) AS TEXT)", &[])?;
        }
        for pending in std::mem::take(&mut self.events) {
            let seq = self.append_one(&pending.scope, &pending.event, actor.and_then(Actor::automatic))?;
            if let Some(line) = &pending.line {
                self.save_line(seq, line)?;
            }
            if seq % TAIL == 0 || pending.line.is_some_and(|line| line.asks()) {
                self.sort_in_tail()?;
            }
        }
        for (session, notice) in std::mem::take(&mut self.notices) {
            self.save_notice(&session, &notice)?;
        }
        for (counted, tasks) in std::mem::take(&mut self.counts) {
            if tasks != 0 {
                counted.add(&mut self.db, tasks)?;
            }
        }
        Ok(())
    }

    fn append_one(&mut self, scope: &EventScope, event: &Event, actor: Option<&str>) -> Result<i64, StoreError> {
        let (kind, mut payload) = event.to_log().map_err(|error| StoreError::corrupt(error.to_string()))?;
        if let (Some(actor), Some(rest)) = (actor, payload.strip_prefix('{')) {
            let gap = if rest == "}" { "" } else { "," };
            payload = format!("{{\"actor\":\"{actor}\"{gap}{rest}");
        }
        self.db.insert(
            "INSERT INTO events (at, type, version, project, task, session, run, payload) \
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8)",
            "seq",
            &[
                self.now.into(),
                (&kind).into(),
                event::VERSION.into(),
                scope.project.as_ref().into(),
                scope.task.as_ref().into(),
                scope.session.as_ref().into(),
                scope.run.as_ref().into(),
                (&payload).into(),
            ],
        )
    }

    /// On SQLite a line is appended to those of other sessions, since in its own timeline each would have a page rewritten.
    /// PostgreSQL does not keep rows in an order.
    fn save_line(&mut self, seq: i64, line: &TimelineLine) -> Result<(), StoreError> {
        let sql = if self.db.is_postgres() {
            "INSERT INTO timeline (session_id, ord, task_id, kind, at, message, metadata) \
             VALUES ($1, $2, $3, $4, $5, $6, $7)"
        } else {
            "INSERT INTO timeline_tail (session_id, ord, task_id, kind, at, message, metadata) \
             VALUES ($1, $2, $3, $4, $5, $6, $7)"
        };
        self.db.execute(
            sql,
            &[
                (&line.session).into(),
                seq.into(),
                line.task.as_ref().into(),
                line.kind.as_str().into(),
                self.now.into(),
                (&line.message).into(),
                line.metadata.as_ref().into(),
            ],
        )?;
        Ok(())
    }

    /// Sorts the appended lines into the timelines of their sessions: all at once, so that the lines of each follow its
    /// earlier ones, and share their pages. A line without its session, which a damaged database may have, is dropped: no
    /// change could be made any more if it were refused here.
    fn sort_in_tail(&mut self) -> Result<(), StoreError> {
        if self.db.is_postgres() {
            return Ok(());
        }
        let sorted = self.db.execute(
            "INSERT INTO timeline (session_id, ord, task_id, kind, at, message, metadata) \
             SELECT session_id, ord, task_id, kind, at, message, metadata FROM timeline_tail \
             WHERE session_id IN (SELECT id FROM sessions) ORDER BY session_id, ord",
            &[],
        )?;
        let appended = self.db.execute("DELETE FROM timeline_tail", &[])?;
        if sorted < appended {
            tracing::warn!("{} lines of timelines had no session and were dropped", appended - sorted);
        }
        Ok(())
    }

    /// Writes a notice down. This is left to a change's last act, where the order of numbers is the order of commits:
    /// else a session could confirm a notice that it was never shown, because its number came first and its commit later.
    fn save_notice(&mut self, session: &SessionId, notice: &SessionNotice) -> Result<(), StoreError> {
        let text = to_json(notice)?;
        self.db.execute(
            "INSERT INTO notices (session_id, at, notice) VALUES ($1, $2, $3)",
            &[session.into(), self.now.into(), (&text).into()],
        )?;
        Ok(())
    }

    /// See [`DbTx::execute`].
    pub(crate) fn execute(&mut self, sql: &str, params: &[SqlParam<'_>]) -> Result<u64, StoreError> {
        self.db.execute(sql, params)
    }

    /// See [`DbTx::rows`].
    pub(crate) fn rows(&mut self, sql: &str, params: &[SqlParam<'_>]) -> Result<Vec<SqlRow>, StoreError> {
        self.db.rows(sql, params)
    }

    /// See [`DbTx::row`].
    pub(crate) fn row(&mut self, sql: &str, params: &[SqlParam<'_>]) -> Result<Option<SqlRow>, StoreError> {
        self.db.row(sql, params)
    }

    /// See [`DbTx::number`].
    pub(crate) fn number(&mut self, sql: &str, params: &[SqlParam<'_>]) -> Result<i64, StoreError> {
        self.db.number(sql, params)
    }

    pub(crate) fn into_db(self) -> DbTx<'c> {
        self.db
    }
}

impl<'c> Deref for ChangeTx<'c> {
    type Target = DbTx<'c>;

    fn deref(&self) -> &DbTx<'c> {
        &self.db
    }
}

impl<'c> DerefMut for ChangeTx<'c> {
    fn deref_mut(&mut self) -> &mut DbTx<'c> {
        &mut self.db
    }
}

pub(crate) fn random() -> Result<u64, StoreError> {
    getrandom::u64().map_err(|error| StoreError::Database(format!("no randomness: {error}")))
}
