//! Sessions, their timelines, and how they are steered.

use maestro_core::SessionRole;
use maestro_core::session::{Approach, EndReason, Session, SessionEvent, SessionStatus, TimelineEntry};
use maestro_core::work_state::{WorkState, session_state};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};
use utoipa::{IntoParams, ToSchema};

use crate::fields::{DeletedReply, EmptyBody, FieldSet, NamedFields, whole_number};
use crate::request::{ApiRequest, in_path};
use crate::schemas::{
    EndReasonWord, IdText, KindText, NonBlankText, RoleWord, SessionStateWord, StrategyWord, WorkStateWord,
};

/// One agent at work on tasks.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = SessionJson)]
pub struct SessionBody {
    #[schema(value_type = IdText)]
    pub id: String,
    #[schema(value_type = IdText)]
    pub project_id: String,
    pub task_ids: Vec<String>,
    pub name: String,
    pub agent_id: Option<String>,
    /// Its variables; what could be secret is not shown.
    #[schema(value_type = Object)]
    pub env: Map<String, Json>,
    #[schema(value_type = StrategyWord)]
    pub strategy: Approach,
    #[schema(value_type = SessionStateWord)]
    pub status: SessionStatus,
    /// How it stands, as people read it.
    #[serde(default)]
    #[schema(value_type = WorkStateWord, required)]
    pub state: WorkState,
    pub started_at: i64,
    pub last_activity: i64,
    pub completed_at: Option<i64>,
    pub hostname: String,
    pub platform: String,
    /// The last things its tools did.
    pub events: Vec<SessionEventBody>,
    /// The last lines of its timeline.
    pub timeline: Vec<TimelineBody>,
    #[schema(value_type = Object)]
    pub metadata: Map<String, Json>,
    #[schema(value_type = RoleWord)]
    pub role: SessionRole,
    /// Why it ended, where it did not end by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<EndReasonWord>)]
    pub end_reason: Option<EndReason>,
    /// What it asks of a person.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub needs_input: Option<InputRequest>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_session_id: Option<String>,
    /// Counts its changes; send it back as `If-Match`.
    pub revision: i64,
}

/// What a session asks of a person.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[schema(as = Question)]
pub struct InputRequest {
    /// Always true.
    pub active: bool,
    pub message: String,
}

/// A line of a timeline.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = EntryJson)]
pub struct TimelineBody {
    #[schema(value_type = IdText)]
    pub id: String,
    #[serde(rename = "type")]
    #[schema(value_type = KindText)]
    pub kind: String,
    pub timestamp: i64,
    pub message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<IdText>)]
    pub task_id: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    pub metadata: Option<Json>,
}

/// Something a session's tools did.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[schema(as = SessionEventJson)]
pub struct SessionEventBody {
    #[schema(value_type = IdText)]
    pub id: String,
    pub timestamp: i64,
    #[serde(rename = "type")]
    #[schema(value_type = KindText)]
    pub kind: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Value>)]
    pub data: Option<Json>,
}

/// What a table shows of a session.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionSummary {
    #[schema(value_type = IdText)]
    pub id: String,
    #[schema(value_type = IdText)]
    pub project_id: String,
    pub task_ids: Vec<String>,
    pub name: String,
    pub agent_id: Option<String>,
    #[schema(value_type = RoleWord)]
    pub role: SessionRole,
    #[schema(value_type = SessionStateWord)]
    pub status: SessionStatus,
    /// How it stands, as people read it.
    #[serde(default)]
    #[schema(value_type = WorkStateWord, required)]
    pub state: WorkState,
    pub started_at: i64,
    pub last_activity: i64,
    pub completed_at: Option<i64>,
}

/// Which sessions are wanted.
#[derive(Debug, Clone, Default, Serialize, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
pub struct SessionQuery {
    /// Only this project's.
    #[param(value_type = Option<IdText>)]
    pub project_id: Option<String>,
    /// Only those at work on this task.
    #[param(value_type = Option<IdText>)]
    pub task_id: Option<String>,
    /// Only those in this status.
    #[param(value_type = Option<SessionStateWord>)]
    pub status: Option<String>,
    /// `true` for all but the completed ones, `alive` for those that have not ended.
    pub active: Option<String>,
    /// `summary` for what a table shows.
    #[param(inline)]
    pub fields: Option<FieldSet>,
}

impl SessionQuery {
    /// Sessions that have not ended.
    pub fn alive() -> Self {
        Self { active: Some("alive".to_owned()), ..Self::default() }
    }

    /// Sessions that have not completed.
    pub fn active() -> Self {
        Self { active: Some("true".to_owned()), ..Self::default() }
    }
}

/// What a session is made of.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct NewSession {
    /// The id it shall have.
    #[schema(value_type = Option<IdText>)]
    pub id: Option<String>,
    #[schema(value_type = IdText)]
    pub project_id: Option<String>,
    /// Its tasks, the main one first.
    #[schema(value_type = Option<Vec<IdText>>)]
    pub task_ids: Option<Vec<String>>,
    /// Its only task, where `taskIds` is left out.
    #[schema(value_type = Option<IdText>)]
    pub task_id: Option<String>,
    pub name: Option<String>,
    pub agent_id: Option<String>,
    #[schema(value_type = Option<RoleWord>)]
    pub role: Option<String>,
    /// The same in newer words: `execute`, `coordinate` and theirs.
    #[schema(value_type = Option<RoleWord>)]
    pub mode: Option<String>,
    #[schema(value_type = Option<StrategyWord>)]
    pub strategy: Option<String>,
    /// idle unless said otherwise.
    #[schema(value_type = Option<SessionStateWord>)]
    pub status: Option<String>,
    #[schema(value_type = Option<Object>)]
    pub env: Option<Map<String, Json>>,
    #[schema(value_type = Option<Object>)]
    pub metadata: Option<Map<String, Json>>,
}

/// What of a session is to change.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionChange {
    #[schema(value_type = Option<NonBlankText>)]
    pub name: Option<String>,
    #[schema(value_type = Option<Vec<IdText>>)]
    pub task_ids: Option<Vec<String>>,
    #[schema(value_type = Option<SessionStateWord>)]
    pub status: Option<String>,
    pub agent_id: Option<String>,
    /// Variables to add.
    #[schema(value_type = Option<Object>)]
    pub env: Option<Map<String, Json>>,
    /// Things its tools did, to add.
    #[schema(value_type = Option<Vec<NewSessionEvent>>)]
    pub events: Option<Vec<NamedFields<NewSessionEvent>>>,
    /// Lines to add.
    #[schema(value_type = Option<Vec<NewTimelineLine>>)]
    pub timeline: Option<Vec<NamedFields<NewTimelineLine>>>,
    /// What it asks of a person; an empty text when it asks no more.
    pub needs_input: Option<String>,
}

/// Something a session's tools did.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[schema(as = NewEvent)]
pub struct NewSessionEvent {
    #[serde(rename = "type")]
    #[schema(value_type = KindText)]
    pub kind: Option<String>,
    /// What exactly, in whatever form.
    #[schema(value_type = Option<Value>)]
    pub data: Option<Json>,
}

/// A line for a timeline.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = NewLine)]
pub struct NewTimelineLine {
    /// `progress` unless said otherwise.
    #[serde(rename = "type")]
    #[schema(value_type = Option<KindText>)]
    pub kind: Option<String>,
    #[schema(value_type = NonBlankText)]
    pub message: Option<String>,
    #[schema(value_type = Option<IdText>)]
    pub task_id: Option<String>,
    #[schema(value_type = Option<Object>)]
    pub metadata: Option<Map<String, Json>>,
}

/// A session's token.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Token)]
pub struct TokenReply {
    #[schema(value_type = IdText)]
    pub session_id: String,
    /// Seen this once.
    pub token: String,
}

/// For how long a session's process is certainly alive.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
#[schema(as = Lease)]
pub struct LeaseRequest {
    /// Milliseconds from now, at most an hour.
    #[serde(default, deserialize_with = "whole_number")]
    #[schema(value_type = i64, required = true, minimum = 1, maximum = 3_600_000)]
    pub duration: Option<i64>,
}

maestro_core::word_enum! {
    /// What a session can be ordered to do.
    pub enum SteerAction {
        /// Wait.
        Pause = "pause",
        /// Go on.
        Resume = "resume",
        /// End.
        Cancel = "cancel",
    }
}

/// The path of a session.
pub(crate) fn path(id: &str) -> String {
    format!("/api/sessions/{}", in_path(id))
}

/// Sessions, oldest first.
pub fn list(query: &SessionQuery) -> ApiRequest<Vec<SessionBody>> {
    ApiRequest::get("/api/sessions").with_query(query)
}

/// What a table shows of sessions, oldest first.
pub fn summaries(query: &SessionQuery) -> ApiRequest<Vec<SessionSummary>> {
    ApiRequest::get("/api/sessions").with_query(&SessionQuery { fields: Some(FieldSet::Summary), ..query.clone() })
}

/// One session with the end of its timeline.
pub fn get(id: &str) -> ApiRequest<SessionBody> {
    ApiRequest::get(path(id))
}

/// Starts a session.
pub fn create(session: &NewSession) -> ApiRequest<SessionBody> {
    ApiRequest::post("/api/sessions", session)
}

/// Changes a session.
pub fn update(id: &str, change: &SessionChange) -> ApiRequest<SessionBody> {
    ApiRequest::patch(path(id), change)
}

/// Removes a session; its tasks stay.
pub fn delete(id: &str) -> ApiRequest<DeletedReply> {
    ApiRequest::delete(path(id))
}

/// Records something a session's tools did.
pub fn add_event(id: &str, event: &NewSessionEvent) -> ApiRequest<SessionBody> {
    ApiRequest::post(format!("{}/events", path(id)), event)
}

/// Adds a line to a session's timeline.
pub fn add_line(id: &str, line: &NewTimelineLine) -> ApiRequest<SessionBody> {
    ApiRequest::post(format!("{}/timeline", path(id)), line)
}

/// Orders a session to wait, go on or end; each order counts.
pub fn steer(id: &str, action: SteerAction) -> ApiRequest<SessionBody> {
    ApiRequest::step(format!("{}/{}", path(id), action.as_str()), &EmptyBody {})
}

/// Makes a token for a session.
pub fn issue_token(id: &str) -> ApiRequest<TokenReply> {
    ApiRequest::post(format!("{}/token", path(id)), &EmptyBody {})
}

impl From<TimelineEntry> for TimelineBody {
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

impl From<SessionEvent> for SessionEventBody {
    fn from(event: SessionEvent) -> Self {
        Self { id: event.id.into(), timestamp: event.at, kind: event.kind.as_str().to_owned(), data: event.data }
    }
}

impl SessionBody {
    /// A session with the last things its tools did and the last lines of its timeline.
    pub fn new(session: Session, events: Vec<SessionEvent>, timeline: Vec<TimelineEntry>) -> Self {
        Self {
            id: session.id.into(),
            project_id: session.project.into(),
            task_ids: session.tasks.into_iter().map(Into::into).collect(),
            name: session.name,
            agent_id: session.agent,
            env: mask_secrets(session.env),
            strategy: session.strategy,
            state: session_state(session.status, session.needs_input.is_some()),
            status: session.status,
            started_at: session.started_at,
            last_activity: session.last_activity,
            completed_at: session.completed_at,
            hostname: session.hostname,
            platform: session.platform,
            events: events.into_iter().map(Into::into).collect(),
            timeline: timeline.into_iter().map(Into::into).collect(),
            metadata: session.metadata,
            role: session.role,
            end_reason: session.end,
            needs_input: session.needs_input.map(|message| InputRequest { active: true, message }),
            parent_session_id: session.parent.map(Into::into),
            revision: session.revision,
        }
    }
}

impl From<Session> for SessionSummary {
    fn from(session: Session) -> Self {
        Self {
            id: session.id.into(),
            project_id: session.project.into(),
            task_ids: session.tasks.into_iter().map(Into::into).collect(),
            name: session.name,
            agent_id: session.agent,
            role: session.role,
            state: session_state(session.status, session.needs_input.is_some()),
            status: session.status,
            started_at: session.started_at,
            last_activity: session.last_activity,
            completed_at: session.completed_at,
        }
    }
}

/// What is shown instead of a value that could be secret.
const MASK: &str = "***";

/// Variables without those that show a mask: a client may send back what it was shown, and that must not become the
/// value.
pub fn drop_masks(mut env: Map<String, Json>) -> Map<String, Json> {
    env.retain(|_, value| value != MASK);
    env
}

/// Only our own variables are shown with their values, and of them none that is made to be kept.
fn mask_secrets(env: Map<String, Json>) -> Map<String, Json> {
    let secret = |name: &str| {
        let name = name.to_ascii_uppercase();
        let ours = name.starts_with("MAESTRO_") || matches!(name.as_str(), "DATA_DIR" | "SESSION_DIR");
        !ours || ["TOKEN", "KEY", "SECRET", "PASSWORD"].iter().any(|word| name.contains(word))
    };
    env.into_iter().map(|(name, value)| if secret(&name) { (name, MASK.into()) } else { (name, value) }).collect()
}
