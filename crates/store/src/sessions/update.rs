//! Changes of a session while it works, and the entries it adds.

use maestro_core::id::{SessionId, TaskId};
use maestro_core::session::{EndReason, EntryKind, Session, SessionStatus};
use serde_json::{Map, Value as Json};

use crate::actor::Actor;
use crate::change::Change;
use crate::error::{RecordKind, StoreError};
use crate::search_words::{self, SearchedTable};
use crate::session_rows::{by_id, note_change, save, searched_text};
use crate::session_status::set_status;
use crate::timeline::{self, NewTimelineEntry};
use crate::tx::ChangeTx;
use crate::{access, task_rows, task_session_rows, task_sessions};

/// Changes a session.
#[derive(Debug, Clone)]
pub struct UpdateSession {
    /// Which one.
    pub id: SessionId,
    /// Its new name.
    pub name: Option<String>,
    /// Its agent.
    pub agent: Option<String>,
    /// Its status.
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
    pub timeline: Vec<NewTimelineEntry>,
    /// The revision the caller knows.
    pub expected: Option<i64>,
    /// Who makes the change.
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

    fn actor(&self) -> Option<&Actor> {
        Some(&self.actor)
    }

    fn apply(&self, tx: &mut ChangeTx<'_>) -> Result<Session, StoreError> {
        access::require_session_access(tx, &self.actor, &self.id)?;
        let mut session = by_id(tx, &self.id)?;
        if let Some(expected) = self.expected.filter(|expected| *expected != session.revision) {
            let id = self.id.to_string();
            return Err(StoreError::StaleRevision {
                what: RecordKind::Session,
                id,
                expected,
                current: session.revision,
            });
        }
        let searched = searched_text(&session);
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
        match self.requested_status(&mut session)? {
            Some(status) if status != session.status => set_status(tx, &mut session, status, None)?,
            _ => {
                save(tx, &mut session)?;
                note_change(tx, &session);
            }
        }
        search_words::change(tx, SearchedTable::Sessions, (&session.id).into(), &searched, &searched_text(&session))?;
        self.add_lines(tx, &session)?;
        if let Some(tasks) = &self.tasks {
            access::forbid_worker(&self.actor, "choose its tasks")?;
            set_tasks(tx, &session, tasks)?;
        }
        by_id(tx, &self.id)
    }
}

impl UpdateSession {
    /// The requested status. What a session says of itself ends neither a pause nor a cancellation.
    fn requested_status(&self, session: &mut Session) -> Result<Option<SessionStatus>, StoreError> {
        let Some(status) = self.status.filter(|_| self.actor.session() == Some(&self.id)) else {
            return Ok(self.status);
        };
        if session.end == Some(EndReason::Cancelled) && status != session.status {
            return Err(StoreError::SessionTransition { from: session.status, to: status });
        }
        let continues = matches!(status, SessionStatus::Spawning | SessionStatus::Idle | SessionStatus::Working);
        if session.status == SessionStatus::Paused && continues {
            session.paused_from = Some(status);
            return Ok(None);
        }
        Ok(Some(status))
    }

    fn add_lines(&self, tx: &mut ChangeTx<'_>, session: &Session) -> Result<(), StoreError> {
        for (kind, data) in &self.events {
            timeline::add_event(tx, &session.project, &session.id, kind, data.as_ref())?;
        }
        for entry in &self.timeline {
            timeline::add(tx, &session.project, &session.id, entry)?;
        }
        Ok(())
    }
}

fn set_tasks(tx: &mut ChangeTx<'_>, session: &Session, wanted: &[TaskId]) -> Result<(), StoreError> {
    let gone: Vec<TaskId> = session.tasks.iter().filter(|id| !wanted.contains(id)).cloned().collect();
    task_rows::lock_tasks(tx, &gone)?;
    for id in &gone {
        task_sessions::detach_session(tx, id, &session.id)?;
    }
    for id in wanted {
        let task = task_rows::by_id(tx, id)?;
        task_session_rows::bind(tx, &task, &session.id)?;
    }
    Ok(())
}

/// Adds a line to a session's timeline.
#[derive(Debug, Clone)]
pub struct AddTimelineEntry {
    /// Which session.
    pub session: SessionId,
    /// The line.
    pub entry: NewTimelineEntry,
    /// Who makes the change.
    pub actor: Actor,
}

impl Change for AddTimelineEntry {
    type Output = Session;

    fn actor(&self) -> Option<&Actor> {
        Some(&self.actor)
    }

    fn apply(&self, tx: &mut ChangeTx<'_>) -> Result<Session, StoreError> {
        access::require_session_access(tx, &self.actor, &self.session)?;
        let session = by_id(tx, &self.session)?;
        if let Some(task) = &self.entry.task {
            task_rows::by_id(tx, task)?;
            access::require_task_access(tx, &self.actor, task)?;
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
    /// Who makes the change.
    pub actor: Actor,
}

impl Change for AddSessionEvent {
    type Output = Session;

    fn actor(&self) -> Option<&Actor> {
        Some(&self.actor)
    }

    fn apply(&self, tx: &mut ChangeTx<'_>) -> Result<Session, StoreError> {
        access::require_session_access(tx, &self.actor, &self.session)?;
        let session = by_id(tx, &self.session)?;
        timeline::add_event(tx, &session.project, &session.id, &self.kind, self.data.as_ref())?;
        touch(tx, &session)
    }
}

/// Records a sign of life.
fn touch(tx: &mut ChangeTx<'_>, session: &Session) -> Result<Session, StoreError> {
    tx.execute("UPDATE sessions SET last_activity = $1 WHERE id = $2", &[tx.now.into(), (&session.id).into()])?;
    Ok(Session { last_activity: tx.now, ..session.clone() })
}
