//! Transaction of a change, with the time, randomness and the events it emits.
//!
//! Events and notices are collected while the change is made and written as its last act, so that on PostgreSQL the
//! lock that makes their numbers follow the order of commits is held for as short as can be.

use std::ops::{Deref, DerefMut};

use maestro_core::event::{self, Event};
use maestro_core::id::{Id, ProjectId, SessionId, TaskId};
use maestro_core::notice::Notice;
use maestro_core::rollup::WhenDone;

use crate::actor::Actor;
use crate::db::Db;
use crate::error::StoreError;
use crate::notices;
use crate::value::{Param, Row};

/// What a change is made in.
pub struct Tx<'c> {
    db: Db<'c>,
    /// The time, in milliseconds.
    pub(crate) now: i64,
    pub(crate) rules: Rules,
    happened: Vec<(Scope, Event)>,
    told: Vec<(SessionId, Notice)>,
}

/// What the settings decide.
#[derive(Debug, Clone, Copy)]
pub struct Rules {
    /// What a task becomes when its work is done.
    pub when_done: WhenDone,
    /// After how many milliseconds of silence a session counts as gone.
    pub silence: i64,
}

impl Default for Rules {
    fn default() -> Self {
        Self { when_done: WhenDone::Complete, silence: 15 * 60 * 1000 }
    }
}

/// What an event is about; readers filter by it.
#[derive(Debug, Clone, Default)]
pub struct Scope {
    /// The project.
    pub project: Option<ProjectId>,
    /// The task.
    pub task: Option<TaskId>,
    /// The session.
    pub session: Option<SessionId>,
    /// The run.
    pub run: Option<String>,
}

impl Scope {
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

impl<'c> Tx<'c> {
    pub(crate) fn new(db: Db<'c>, now: i64, rules: Rules) -> Self {
        Self { db, now, rules, happened: Vec::new(), told: Vec::new() }
    }

    /// A fresh id.
    pub(crate) fn make_id<I: Id>(&self) -> Result<I, StoreError> {
        Ok(I::make(self.now, random()?))
    }

    /// Notes that something happened.
    pub(crate) fn emit(&mut self, scope: Scope, event: Event) {
        self.happened.push((scope, event));
    }

    /// Queues a notice for a session.
    pub(crate) fn tell(&mut self, session: &SessionId, notice: &Notice) {
        self.told.push((session.clone(), notice.clone()));
    }

    /// Appends the events to the log, and saves the notices.
    pub(crate) fn append(&mut self, actor: Option<&Actor>) -> Result<(), StoreError> {
        if self.happened.is_empty() && self.told.is_empty() {
            return Ok(());
        }
        if self.db.is_postgres() {
            self.db.rows("SELECT CAST(pg_advisory_xact_lock(7246291, hashtext(current_schema())) AS TEXT)", &[])?;
        }
        for (scope, event) in std::mem::take(&mut self.happened) {
            self.append_one(&scope, &event, actor.and_then(Actor::automatic))?;
        }
        for (session, notice) in std::mem::take(&mut self.told) {
            notices::keep(self, &session, &notice)?;
        }
        Ok(())
    }

    fn append_one(&mut self, scope: &Scope, event: &Event, actor: Option<&str>) -> Result<i64, StoreError> {
        let (kind, mut payload) = event.to_log().map_err(|error| StoreError::corrupt(error.to_string()))?;
        if let (Some(actor), Some(rest)) = (actor, payload.strip_prefix('{')) {
            let gap = if rest == "}" { "" } else { "," };
            payload = format!("{{\"actor\":\"{actor}\"{gap}{rest}");
        }
        self.db.number(
            "INSERT INTO events (at, type, version, project, task, session, run, payload) \
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8) RETURNING seq",
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

    /// See [`Db::execute`].
    pub(crate) fn execute(&mut self, sql: &str, params: &[Param<'_>]) -> Result<u64, StoreError> {
        self.db.execute(sql, params)
    }

    /// See [`Db::rows`].
    pub(crate) fn rows(&mut self, sql: &str, params: &[Param<'_>]) -> Result<Vec<Row>, StoreError> {
        self.db.rows(sql, params)
    }

    /// See [`Db::row`].
    pub(crate) fn row(&mut self, sql: &str, params: &[Param<'_>]) -> Result<Option<Row>, StoreError> {
        self.db.row(sql, params)
    }

    /// See [`Db::number`].
    pub(crate) fn number(&mut self, sql: &str, params: &[Param<'_>]) -> Result<i64, StoreError> {
        self.db.number(sql, params)
    }

    pub(crate) fn into_db(self) -> Db<'c> {
        self.db
    }
}

impl<'c> Deref for Tx<'c> {
    type Target = Db<'c>;

    fn deref(&self) -> &Db<'c> {
        &self.db
    }
}

impl<'c> DerefMut for Tx<'c> {
    fn deref_mut(&mut self) -> &mut Db<'c> {
        &mut self.db
    }
}

pub(crate) fn random() -> Result<u64, StoreError> {
    getrandom::u64().map_err(|error| StoreError::Database(format!("no randomness: {error}")))
}
