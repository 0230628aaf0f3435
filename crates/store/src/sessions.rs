//! Which sessions are there, and how do they change?

use maestro_core::Role;
use maestro_core::event::{Event, SessionFact};
use maestro_core::id::{ProjectId, SessionId, TaskId};
use maestro_core::notice::Notice;
use maestro_core::session::{Approach, EndReason, EntryKind, PairStatus, Session, SessionStatus};
use serde_json::{Map, Value as Json};

use crate::actor::{self, Actor};
use crate::change::{Change, Read};
use crate::db::Db;
use crate::error::{StoreError, What};
use crate::query::Query;
use crate::timeline::{self, NewEntry};
use crate::tx::{Scope, Tx};
use crate::value::{Row, to_json};
use crate::{Listed, Page, messages, notices, pairs, projects, queues, tasks};

pub(crate) const SELECT: &str = "SELECT ord, id, project_id, name, role, agent, env, strategy, status, paused_from, end_reason, \
                      needs_input, parent_id, started_at, last_activity, completed_at, hostname, platform, metadata, \
                      revision FROM sessions";

pub(crate) fn session(row: &mut Row) -> Result<Session, StoreError> {
    Ok(Session {
        id: row.parsed()?,
        project: row.parsed()?,
        tasks: Vec::new(),
        name: row.text()?,
        role: row.parsed()?,
        agent: row.maybe_text()?,
        env: row.json()?,
        strategy: row.parsed()?,
        status: row.parsed()?,
        paused_from: row.maybe_parsed()?,
        end: row.maybe_parsed()?,
        needs_input: row.maybe_text()?,
        parent: row.maybe_parsed()?,
        started_at: row.int()?,
        last_activity: row.int()?,
        completed_at: row.maybe_int()?,
        hostname: row.text()?,
        platform: row.text()?,
        metadata: row.json()?,
        revision: row.int()?,
    })
}

pub(crate) fn by_id(db: &mut Db<'_>, id: &SessionId) -> Result<Session, StoreError> {
    let found = db.row(&format!("{SELECT} WHERE id = $1"), &[id.into()])?;
    let mut row = found.ok_or_else(|| StoreError::not_found(What::Session, id))?;
    row.int()?;
    let mut session = session(&mut row)?;
    session.tasks = pairs::of_session(db, id)?.into_iter().map(|(task, _)| task).collect();
    Ok(session)
}

pub(crate) fn note_change(tx: &mut Tx<'_>, session: &Session) {
    let fact = SessionFact {
        id: session.id.clone(),
        name: session.name.clone(),
        status: session.status,
        reason: session.end.map(|end| end.to_string()),
    };
    tx.emit(Scope::project(&session.project).session(&session.id), Event::SessionUpdated(fact));
}

/// Stores what a session has become.
pub(crate) fn save(tx: &mut Tx<'_>, session: &mut Session) -> Result<(), StoreError> {
    session.revision += 1;
    let (env, metadata) = (to_json(&session.env)?, to_json(&session.metadata)?);
    tx.execute(
        "UPDATE sessions SET name = $1, role = $2, agent = $3, env = $4, status = $5, paused_from = $6, \
         end_reason = $7, needs_input = $8, last_activity = $9, completed_at = $10, metadata = $11, revision = $12 \
         WHERE id = $13",
        &[
            (&session.name).into(),
            session.role.as_str().into(),
            session.agent.as_ref().into(),
            (&env).into(),
            session.status.as_str().into(),
            session.paused_from.map(SessionStatus::as_str).into(),
            session.end.map(EndReason::as_str).into(),
            session.needs_input.as_ref().into(),
            session.last_activity.into(),
            session.completed_at.into(),
            (&metadata).into(),
            session.revision.into(),
            (&session.id).into(),
        ],
    )?;
    Ok(())
}

/// Gives a session another status, with all that follows for its tasks.
pub(crate) fn become_status(
    tx: &mut Tx<'_>,
    session: &mut Session,
    status: SessionStatus,
    reason: Option<EndReason>,
) -> Result<(), StoreError> {
    if !session.status.may_become(status) {
        return Err(StoreError::SessionTransition { from: session.status, to: status });
    }
    session.paused_from = (status == SessionStatus::Paused).then_some(session.status);
    session.status = status;
    session.end = reason;
    if status.is_over() {
        session.needs_input = None;
        session.completed_at = Some(tx.now);
        save(tx, session)?;
        leave_tasks(tx, session)?;
        messages::refuse_all(tx, session, "the session has ended")?;
    } else {
        session.completed_at = None;
        save(tx, session)?;
    }
    note_change(tx, session);
    Ok(())
}

/// Frees the tasks that an ended session had not finished.
fn leave_tasks(tx: &mut Tx<'_>, session: &Session) -> Result<(), StoreError> {
    let left = if session.status == SessionStatus::Failed { PairStatus::Failed } else { PairStatus::Skipped };
    for (task, status) in pairs::of_session(tx, &session.id)? {
        let open = matches!(status, None | Some(PairStatus::Queued | PairStatus::Working | PairStatus::NeedsInput));
        if open {
            pairs::update(tx, &task, &session.id, left)?;
            pairs::changed(tx, &task, &session.id)?;
        }
    }
    Ok(())
}

/// Begins a session.
#[derive(Debug, Clone)]
pub struct CreateSession {
    /// The id it shall have.
    pub id: Option<SessionId>,
    /// Where it belongs.
    pub project: ProjectId,
    /// Its tasks, the main one first.
    pub tasks: Vec<TaskId>,
    /// What people call it.
    pub name: Option<String>,
    /// The part it plays.
    pub role: Role,
    /// The agent.
    pub agent: Option<String>,
    /// How it goes through its tasks.
    pub strategy: Approach,
    /// Whether it works.
    pub status: SessionStatus,
    /// Variables its programs get.
    pub env: Map<String, Json>,
    /// What its starter wrote down.
    pub metadata: Map<String, Json>,
    /// The session that starts it.
    pub parent: Option<SessionId>,
    /// The machine it runs on.
    pub hostname: String,
    /// The system it runs on.
    pub platform: String,
}

impl Change for CreateSession {
    type Output = Session;

    fn apply(&self, tx: &mut Tx<'_>) -> Result<Session, StoreError> {
        projects::by_id(tx, &self.project)?;
        let tasks = self.tasks.iter().map(|id| tasks::by_id(tx, id)).collect::<Result<Vec<_>, _>>()?;
        let session = self.session(tx)?;
        insert(tx, &session)?;
        let fact =
            SessionFact { id: session.id.clone(), name: session.name.clone(), status: session.status, reason: None };
        tx.emit(Scope::project(&session.project).session(&session.id), Event::SessionCreated(fact));
        let line = |kind, message: &str, task| NewEntry { kind, message: message.to_owned(), task, metadata: None };
        let started = line(EntryKind::session_started(), "Session created", None);
        timeline::add(tx, &session.project, &session.id, &started)?;
        for task in &tasks {
            pairs::bind(tx, task, &session.id)?;
            let started = line(EntryKind::task_started(), "Started working on task", Some(task.id.clone()));
            timeline::add(tx, &session.project, &session.id, &started)?;
        }
        if session.strategy == Approach::Queue {
            queues::create(tx, &session.id, &self.tasks)?;
        }
        by_id(tx, &session.id)
    }
}

impl CreateSession {
    fn session(&self, tx: &mut Tx<'_>) -> Result<Session, StoreError> {
        let id = match &self.id {
            Some(id) => {
                let taken = tx.number("SELECT count(*) FROM sessions WHERE id = $1", &[id.into()])? > 0;
                if taken {
                    return Err(StoreError::Exists { what: What::Session, id: id.to_string() });
                }
                id.clone()
            }
            None => tx.make_id()?,
        };
        let name = match (&self.name, self.tasks.first()) {
            (Some(name), _) => name.clone(),
            (None, Some(task)) if self.role == Role::Orchestrator => format!("Orchestrator for {task}"),
            (None, Some(task)) => format!("Worker for {task}"),
            (None, None) => format!("Session {id}"),
        };
        Ok(Session {
            id,
            project: self.project.clone(),
            tasks: self.tasks.clone(),
            name,
            role: self.role,
            agent: self.agent.clone(),
            env: self.env.clone(),
            strategy: self.strategy,
            status: self.status,
            paused_from: None,
            end: None,
            needs_input: None,
            parent: self.parent.clone(),
            started_at: tx.now,
            last_activity: tx.now,
            completed_at: self.status.is_over().then_some(tx.now),
            hostname: self.hostname.clone(),
            platform: self.platform.clone(),
            metadata: self.metadata.clone(),
            revision: 1,
        })
    }
}

fn insert(tx: &mut Tx<'_>, session: &Session) -> Result<(), StoreError> {
    let (env, metadata) = (to_json(&session.env)?, to_json(&session.metadata)?);
    tx.execute(
        "INSERT INTO sessions (id, project_id, name, role, agent, env, strategy, status, parent_id, started_at, \
         last_activity, completed_at, hostname, platform, metadata, notices, revision) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17)",
        &[
            (&session.id).into(),
            (&session.project).into(),
            (&session.name).into(),
            session.role.as_str().into(),
            session.agent.as_ref().into(),
            (&env).into(),
            session.strategy.as_str().into(),
            session.status.as_str().into(),
            session.parent.as_ref().into(),
            session.started_at.into(),
            session.last_activity.into(),
            session.completed_at.into(),
            (&session.hostname).into(),
            (&session.platform).into(),
            (&metadata).into(),
            0.into(),
            session.revision.into(),
        ],
    )?;
    Ok(())
}

/// Changes a session.
#[derive(Debug, Clone)]
pub struct UpdateSession {
    /// Which one.
    pub id: SessionId,
    /// Its new name.
    pub name: Option<String>,
    /// Its agent.
    pub agent: Option<String>,
    /// Whether it works.
    pub status: Option<SessionStatus>,
    /// What it asks of a person; with nothing inside, it asks no more.
    pub needs_input: Option<Option<String>>,
    /// Its tasks.
    pub tasks: Option<Vec<TaskId>>,
    /// Variables to add.
    pub env: Map<String, Json>,
    /// Things its tools did.
    pub events: Vec<(EntryKind, Option<Json>)>,
    /// Lines for its timeline.
    pub timeline: Vec<NewEntry>,
    /// The revision the caller knows.
    pub expected: Option<i64>,
    /// Who does it.
    pub actor: Actor,
}

impl UpdateSession {
    /// A change of nothing yet.
    pub fn of(id: SessionId, actor: Actor) -> Self {
        Self {
            id,
            name: None,
            agent: None,
            status: None,
            needs_input: None,
            tasks: None,
            env: Map::new(),
            events: Vec::new(),
            timeline: Vec::new(),
            expected: None,
            actor,
        }
    }
}

impl Change for UpdateSession {
    type Output = Session;

    fn apply(&self, tx: &mut Tx<'_>) -> Result<Session, StoreError> {
        actor::own_session(&self.actor, &self.id)?;
        let mut session = by_id(tx, &self.id)?;
        if let Some(expected) = self.expected.filter(|expected| *expected != session.revision) {
            let id = self.id.to_string();
            return Err(StoreError::Changed { what: What::Session, id, expected, current: session.revision });
        }
        session.last_activity = tx.now;
        if let Some(name) = &self.name {
            session.name.clone_from(name);
        }
        if let Some(agent) = &self.agent {
            session.agent = Some(agent.clone());
        }
        if let Some(asks) = &self.needs_input {
            session.needs_input.clone_from(asks);
        }
        session.env.extend(self.env.clone());
        match self.status {
            Some(status) if status != session.status => become_status(tx, &mut session, status, None)?,
            _ => {
                save(tx, &mut session)?;
                note_change(tx, &session);
            }
        }
        self.add_lines(tx, &session)?;
        if let Some(tasks) = &self.tasks {
            actor::not_a_worker(&self.actor, "choose its tasks")?;
            set_tasks(tx, &session, tasks)?;
        }
        by_id(tx, &self.id)
    }
}

impl UpdateSession {
    fn add_lines(&self, tx: &mut Tx<'_>, session: &Session) -> Result<(), StoreError> {
        for (kind, data) in &self.events {
            timeline::add_event(tx, &session.project, &session.id, kind, data.as_ref())?;
        }
        for entry in &self.timeline {
            timeline::add(tx, &session.project, &session.id, entry)?;
        }
        Ok(())
    }
}

fn set_tasks(tx: &mut Tx<'_>, session: &Session, wanted: &[TaskId]) -> Result<(), StoreError> {
    for id in session.tasks.iter().filter(|id| !wanted.contains(id)) {
        let task = tasks::by_id(tx, id)?;
        pairs::remove(tx, &task, &session.id)?;
        pairs::settle(tx, id)?;
    }
    for id in wanted {
        let task = tasks::by_id(tx, id)?;
        pairs::bind(tx, &task, &session.id)?;
    }
    Ok(())
}

/// What somebody tells a session to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// Wait.
    Pause,
    /// Go on.
    Resume,
    /// End.
    Cancel,
}

/// Tells a session to wait, to go on or to end; its agent hears of it with its next call.
#[derive(Debug, Clone)]
pub struct Steer {
    /// Which session.
    pub id: SessionId,
    /// What to do.
    pub order: Order,
    /// Who says so.
    pub actor: Actor,
}

impl Change for Steer {
    type Output = Session;

    fn apply(&self, tx: &mut Tx<'_>) -> Result<Session, StoreError> {
        actor::own_session(&self.actor, &self.id)?;
        let mut session = by_id(tx, &self.id)?;
        let (status, reason, notice) = match self.order {
            Order::Pause => (SessionStatus::Paused, None, Notice::Paused),
            Order::Resume => (session.paused_from.unwrap_or(SessionStatus::Working), None, Notice::Resumed),
            Order::Cancel => (SessionStatus::Stopped, Some(EndReason::Cancelled), Notice::Cancelled),
        };
        let refused = self.order == Order::Resume && session.status != SessionStatus::Paused;
        if refused || (session.status.is_over() && self.order != Order::Cancel) {
            return Err(StoreError::SessionTransition { from: session.status, to: status });
        }
        if session.status == status {
            return Ok(session);
        }
        become_status(tx, &mut session, status, reason)?;
        notices::tell(tx, &session.id, &notice, None)?;
        by_id(tx, &self.id)
    }
}

/// Adds a line to a session's timeline.
#[derive(Debug, Clone)]
pub struct AddTimeline {
    /// Which session.
    pub session: SessionId,
    /// The line.
    pub entry: NewEntry,
    /// Who says it.
    pub actor: Actor,
}

impl Change for AddTimeline {
    type Output = Session;

    fn apply(&self, tx: &mut Tx<'_>) -> Result<Session, StoreError> {
        actor::own_session(&self.actor, &self.session)?;
        let session = by_id(tx, &self.session)?;
        if let Some(task) = &self.entry.task {
            tasks::by_id(tx, task)?;
        }
        timeline::add(tx, &session.project, &session.id, &self.entry)?;
        touch(tx, &session)
    }
}

/// Adds something a session's tools did.
#[derive(Debug, Clone)]
pub struct AddSessionEvent {
    /// Which session.
    pub session: SessionId,
    /// What kind of thing.
    pub kind: EntryKind,
    /// What exactly.
    pub data: Option<Json>,
    /// Who says it.
    pub actor: Actor,
}

impl Change for AddSessionEvent {
    type Output = Session;

    fn apply(&self, tx: &mut Tx<'_>) -> Result<Session, StoreError> {
        actor::own_session(&self.actor, &self.session)?;
        let session = by_id(tx, &self.session)?;
        timeline::add_event(tx, &session.project, &session.id, &self.kind, self.data.as_ref())?;
        touch(tx, &session)
    }
}

/// Notes a sign of life.
fn touch(tx: &mut Tx<'_>, session: &Session) -> Result<Session, StoreError> {
    tx.execute("UPDATE sessions SET last_activity = $1 WHERE id = $2", &[tx.now.into(), (&session.id).into()])?;
    Ok(Session { last_activity: tx.now, ..session.clone() })
}

/// Removes a session; its tasks stay, and so does what it said in the log.
#[derive(Debug, Clone)]
pub struct DeleteSession {
    /// Which one.
    pub id: SessionId,
    /// Who does it.
    pub actor: Actor,
}

impl Change for DeleteSession {
    type Output = ();

    fn apply(&self, tx: &mut Tx<'_>) -> Result<(), StoreError> {
        actor::not_a_worker(&self.actor, "delete sessions")?;
        let session = by_id(tx, &self.id)?;
        for id in &session.tasks {
            let task = tasks::by_id(tx, id)?;
            pairs::remove(tx, &task, &session.id)?;
            pairs::settle(tx, id)?;
        }
        for statement in [
            "DELETE FROM queue_items WHERE session_id = $1",
            "DELETE FROM queues WHERE session_id = $1",
            "DELETE FROM notices WHERE session_id = $1",
            "DELETE FROM messages WHERE session_id = $1",
            "DELETE FROM tokens WHERE session_id = $1",
            "DELETE FROM timeline WHERE session_id = $1",
            "DELETE FROM session_events WHERE session_id = $1",
            "DELETE FROM sessions WHERE id = $1",
        ] {
            tx.execute(statement, &[(&self.id).into()])?;
        }
        let fact = SessionFact { id: session.id, name: session.name, status: session.status, reason: None };
        tx.emit(Scope::project(&session.project).session(&self.id), Event::SessionDeleted(fact));
        Ok(())
    }
}

/// One session.
#[derive(Debug, Clone)]
pub struct SessionById(
    /// Which one.
    pub SessionId,
);

impl Read for SessionById {
    type Output = Session;

    fn load(&self, db: &mut Db<'_>) -> Result<Session, StoreError> {
        by_id(db, &self.0)
    }
}

/// Which sessions somebody wants.
#[derive(Debug, Clone, Default)]
pub struct SessionFilter {
    /// Only this project's.
    pub project: Option<ProjectId>,
    /// Only those at work on this task.
    pub task: Option<TaskId>,
    /// Only those in this state.
    pub status: Option<SessionStatus>,
    /// Which of them by whether they have ended.
    pub living: Living,
}

/// Whether ended sessions are wanted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Living {
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
pub struct Sessions {
    /// Which ones.
    pub filter: SessionFilter,
    /// Which part of them.
    pub page: Page,
}

impl Read for Sessions {
    type Output = Listed<Session>;

    fn load(&self, db: &mut Db<'_>) -> Result<Listed<Session>, StoreError> {
        let filter = &self.filter;
        let query = Query::new(format!("{SELECT} WHERE ord > $1"), self.page.after)
            .only("project_id = ?", filter.project.as_ref())
            .only("status = ?", filter.status.map(SessionStatus::as_str))
            .only("id IN (SELECT session_id FROM task_sessions WHERE task_id = ?)", filter.task.as_ref());
        let query = match filter.living {
            Living::Any => query,
            Living::Alive => query.and("status NOT IN ('completed', 'failed', 'stopped')"),
            Living::NotCompleted => query.and("status <> 'completed'"),
        };
        let rows = query.page(db, self.page)?;
        let mut listed = self.page.list(rows, session)?;
        for session in &mut listed.items {
            session.tasks = pairs::of_session(db, &session.id)?.into_iter().map(|(task, _)| task).collect();
        }
        Ok(listed)
    }
}
