//! Creation of a session.

use maestro_core::SessionRole;
use maestro_core::event::{Event, SessionFact};
use maestro_core::id::{ProjectId, SessionId, TaskId};
use maestro_core::session::{Approach, EntryKind, Session, SessionStatus};
use serde_json::{Map, Value as Json};

use crate::change::Change;
use crate::error::{RecordKind, StoreError};
use crate::search_words::{self, SearchedTable};
use crate::session_rows::{by_id, searched_text};
use crate::timeline::{self, NewTimelineEntry};
use crate::tx::{ChangeTx, EventScope};
use crate::value::to_json;
use crate::{projects, queue_rows, task_rows, task_session_rows};

/// Creates a session.
#[derive(Debug, Clone)]
pub struct CreateSession {
    /// The requested id.
    pub id: Option<SessionId>,
    /// Where it belongs.
    pub project: ProjectId,
    /// Its tasks, the main one first.
    pub tasks: Vec<TaskId>,
    /// Its name, for people.
    pub name: Option<String>,
    /// Its role.
    pub role: SessionRole,
    /// The agent.
    pub agent: Option<String>,
    /// How it goes through its tasks.
    pub strategy: Approach,
    /// Its status.
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

    fn apply(&self, tx: &mut ChangeTx<'_>) -> Result<Session, StoreError> {
        projects::by_id(tx, &self.project)?;
        task_rows::lock_tasks(tx, &self.tasks)?;
        let session = self.session(tx)?;
        let tasks = session.tasks.iter().map(|id| task_rows::by_id(tx, id)).collect::<Result<Vec<_>, _>>()?;
        insert(tx, &session)?;
        let fact =
            SessionFact { id: session.id.clone(), name: session.name.clone(), status: session.status, reason: None };
        tx.emit(EventScope::project(&session.project).session(&session.id), Event::SessionCreated(fact));
        let line =
            |kind, message: &str, task| NewTimelineEntry { kind, message: message.to_owned(), task, metadata: None };
        let started = line(EntryKind::session_started(), "Session created", None);
        timeline::add(tx, &session.project, &session.id, &started)?;
        for task in &tasks {
            task_session_rows::bind(tx, task, &session.id)?;
            let started = line(EntryKind::task_started(), "Started working on task", Some(task.id.clone()));
            timeline::add(tx, &session.project, &session.id, &started)?;
        }
        if session.strategy == Approach::Queue {
            queue_rows::create(tx, &session.id, &session.tasks)?;
        }
        by_id(tx, &session.id)
    }
}

impl CreateSession {
    fn session(&self, tx: &mut ChangeTx<'_>) -> Result<Session, StoreError> {
        let id = match &self.id {
            Some(id) => {
                let taken = tx.number("SELECT count(*) FROM sessions WHERE id = $1", &[id.into()])? > 0;
                if taken {
                    return Err(StoreError::Exists { what: RecordKind::Session, id: id.to_string() });
                }
                id.clone()
            }
            None => tx.make_id()?,
        };
        let mut tasks: Vec<TaskId> = Vec::new();
        for task in &self.tasks {
            // Named twice, it is still one task.
            if !tasks.contains(task) {
                tasks.push(task.clone());
            }
        }
        let name = match (&self.name, self.tasks.first()) {
            (Some(name), _) => name.clone(),
            (None, Some(task)) if self.role == SessionRole::Orchestrator => format!("Orchestrator for {task}"),
            (None, Some(task)) => format!("Worker for {task}"),
            (None, None) => format!("Session {id}"),
        };
        Ok(Session {
            id,
            project: self.project.clone(),
            tasks,
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

fn insert(tx: &mut ChangeTx<'_>, session: &Session) -> Result<(), StoreError> {
    let (env, metadata) = (to_json(&session.env)?, to_json(&session.metadata)?);
    let ord = tx.insert(
        "INSERT INTO sessions (id, project_id, name, role, agent, env, strategy, status, parent_id, started_at, \
         last_activity, completed_at, hostname, platform, metadata, revision) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)",
        "ord",
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
            session.revision.into(),
        ],
    )?;
    search_words::add(tx, SearchedTable::Sessions, ord, &searched_text(session))
}
