//! A session on the wire.

use maestro_core::Session;
use maestro_core::id::SessionId;
use maestro_core::session::{SessionEvent, TimelineEntry};
use maestro_store::{Db, Listed, Part, Read, SessionById, SessionEvents, Sessions, StoreError, Timeline};
use serde::Serialize;
use serde_json::{Map, Value as Json};
use utoipa::ToSchema;

use super::words::{Ending, Id, Kind, Part as RolePart, SessionState, Strategy};

/// How many lines of a timeline go with a session; the rest is had by asking for the timeline.
const LINES: i64 = 100;

/// One agent at work on tasks.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SessionJson {
    #[schema(value_type = Id)]
    id: String,
    #[schema(value_type = Id)]
    project_id: String,
    pub(crate) task_ids: Vec<String>,
    name: String,
    agent_id: Option<String>,
    /// Its variables; what could be secret is not shown.
    #[schema(value_type = Object)]
    env: Map<String, Json>,
    #[schema(value_type = Strategy)]
    strategy: String,
    #[schema(value_type = SessionState)]
    status: String,
    started_at: i64,
    last_activity: i64,
    completed_at: Option<i64>,
    hostname: String,
    platform: String,
    /// The last things its tools did.
    events: Vec<SessionEventJson>,
    /// The last lines of its timeline.
    timeline: Vec<EntryJson>,
    #[schema(value_type = Object)]
    metadata: Map<String, Json>,
    #[schema(value_type = RolePart)]
    role: String,
    /// Why it ended, where it did not end by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Ending>)]
    end_reason: Option<String>,
    /// What it asks of a person.
    #[serde(skip_serializing_if = "Option::is_none")]
    needs_input: Option<Question>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parent_session_id: Option<String>,
    /// Counts its changes; send it back as `If-Match`.
    pub(crate) revision: i64,
}

/// What a session asks of a person.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct Question {
    /// Always true.
    active: bool,
    message: String,
}

/// A line of a timeline.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct EntryJson {
    #[schema(value_type = Id)]
    id: String,
    #[serde(rename = "type")]
    #[schema(value_type = Kind)]
    kind: String,
    timestamp: i64,
    message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Id>)]
    task_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    metadata: Option<Json>,
}

impl From<TimelineEntry> for EntryJson {
    fn from(entry: TimelineEntry) -> Self {
        Self {
            id: entry.id.into(),
            kind: entry.kind.as_str().to_owned(),
            timestamp: entry.at,
            message: entry.message,
            task_id: entry.task.map(Into::into),
            metadata: entry.metadata,
        }
    }
}

/// Something a session's tools did.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct SessionEventJson {
    #[schema(value_type = Id)]
    id: String,
    timestamp: i64,
    #[serde(rename = "type")]
    #[schema(value_type = Kind)]
    kind: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Value>)]
    data: Option<Json>,
}

impl From<SessionEvent> for SessionEventJson {
    fn from(event: SessionEvent) -> Self {
        Self { id: event.id.into(), timestamp: event.at, kind: event.kind.as_str().to_owned(), data: event.data }
    }
}

impl SessionJson {
    fn new(session: Session, events: Vec<SessionEvent>, timeline: Vec<TimelineEntry>) -> Self {
        Self {
            id: session.id.into(),
            project_id: session.project.into(),
            task_ids: session.tasks.into_iter().map(Into::into).collect(),
            name: session.name,
            agent_id: session.agent,
            env: without_secrets(session.env),
            strategy: session.strategy.to_string(),
            status: session.status.to_string(),
            started_at: session.started_at,
            last_activity: session.last_activity,
            completed_at: session.completed_at,
            hostname: session.hostname,
            platform: session.platform,
            events: events.into_iter().map(Into::into).collect(),
            timeline: timeline.into_iter().map(Into::into).collect(),
            metadata: session.metadata,
            role: session.role.to_string(),
            end_reason: session.end.map(|end| end.to_string()),
            needs_input: session.needs_input.map(|message| Question { active: true, message }),
            parent_session_id: session.parent.map(Into::into),
            revision: session.revision,
        }
    }
}

/// What is shown instead of a value that could be secret.
const MASK: &str = "***";

/// A client may send back what it was shown; that must not become the value.
pub(crate) fn without_masks(mut env: Map<String, Json>) -> Map<String, Json> {
    env.retain(|_, value| value != MASK);
    env
}

/// Only our own variables are shown with their values, and of them none that is made to be kept.
fn without_secrets(env: Map<String, Json>) -> Map<String, Json> {
    let secret = |name: &str| {
        let name = name.to_ascii_uppercase();
        let ours = name.starts_with("MAESTRO_") || matches!(name.as_str(), "DATA_DIR" | "SESSION_DIR");
        !ours || ["TOKEN", "KEY", "SECRET", "PASSWORD"].iter().any(|word| name.contains(word))
    };
    env.into_iter().map(|(name, value)| if secret(&name) { (name, MASK.into()) } else { (name, value) }).collect()
}

/// A session with the end of its timeline, as of one moment.
#[derive(Debug, Clone)]
pub(crate) struct FullSession(pub(crate) SessionId);

impl Read for FullSession {
    type Output = SessionJson;

    fn load(&self, db: &mut Db<'_>) -> Result<SessionJson, StoreError> {
        let session = SessionById(self.0.clone()).load(db)?;
        full(db, session)
    }
}

fn full(db: &mut Db<'_>, session: Session) -> Result<SessionJson, StoreError> {
    let timeline = Timeline { session: session.id.clone(), part: Part::Last(LINES) }.load(db)?.items;
    let events = SessionEvents { session: session.id.clone(), last: LINES }.load(db)?;
    Ok(SessionJson::new(session, events, timeline))
}

/// Sessions with the ends of their timelines.
#[derive(Debug, Clone)]
pub(crate) struct FullSessions(pub(crate) Sessions);

impl Read for FullSessions {
    type Output = Listed<SessionJson>;

    fn load(&self, db: &mut Db<'_>) -> Result<Listed<SessionJson>, StoreError> {
        let found = self.0.load(db)?;
        let items = found.items.into_iter().map(|session| full(db, session)).collect::<Result<_, _>>()?;
        Ok(Listed { items, next: found.next })
    }
}

/// What a table shows of a session.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(crate) struct SessionSummary {
    #[schema(value_type = Id)]
    id: String,
    #[schema(value_type = Id)]
    project_id: String,
    task_ids: Vec<String>,
    name: String,
    agent_id: Option<String>,
    #[schema(value_type = RolePart)]
    role: String,
    #[schema(value_type = SessionState)]
    status: String,
    started_at: i64,
    last_activity: i64,
    completed_at: Option<i64>,
}

impl From<Session> for SessionSummary {
    fn from(session: Session) -> Self {
        Self {
            id: session.id.into(),
            project_id: session.project.into(),
            task_ids: session.tasks.into_iter().map(Into::into).collect(),
            name: session.name,
            agent_id: session.agent,
            role: session.role.to_string(),
            status: session.status.to_string(),
            started_at: session.started_at,
            last_activity: session.last_activity,
            completed_at: session.completed_at,
        }
    }
}
