//! The events of the log: small facts, not whole objects.

mod skill_events;

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::agent::PermissionChoiceKind;
use crate::id::{HandoffId, MessageId, ProjectId, SessionId, TaskId};
use crate::session::SessionStatus;
use crate::task::TaskStatus;
use crate::workflow::RunEvent;

pub use skill_events::{
    RankedSkill, ScoreTerm, SelectedSkill, SelectionDetail, SelectionStrategy, SkillMetrics, SkillSelection,
    SkillVerdict, SkillsDiscovered, SkillsLoadFailed, SkillsTruncated, StepKind,
};

/// The version of the payloads below; readers of the log know all older ones.
pub const VERSION: i64 = 1;

/// The name of a kind of event today. Older logs have some under another name.
pub fn current_name(stored: &str) -> &str {
    match stored {
        "run:heard" => "run:reported",
        name => name,
    }
}

/// The id of a run, or of a selection made outside one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RunId(Uuid);

impl RunId {
    /// The id with this value; a caller with a clock makes new ones.
    pub fn new(value: Uuid) -> Self {
        Self(value)
    }
}

impl From<RunId> for Uuid {
    fn from(id: RunId) -> Self {
        id.0
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for RunId {
    type Err = uuid::Error;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Uuid::parse_str(text).map(Self)
    }
}

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", content = "payload")]
pub enum Event {
    /// The catalogue was looked through.
    #[serde(rename = "SKILLS_DISCOVERED")]
    SkillsDiscovered(SkillsDiscovered),
    /// Skills were chosen for a task, or none.
    #[serde(rename = "SKILLS_SELECTED")]
    SkillsSelected(SkillSelection),
    /// A skill could not be loaded.
    #[serde(rename = "SKILLS_LOAD_FAILED")]
    SkillsLoadFailed(SkillsLoadFailed),
    /// A skill's text was cut.
    #[serde(rename = "SKILLS_TRUNCATED")]
    SkillsTruncated(SkillsTruncated),
    /// A project was made.
    #[serde(rename = "project:created")]
    ProjectCreated(NameFact<ProjectId>),
    /// A project was changed.
    #[serde(rename = "project:updated")]
    ProjectUpdated(NameFact<ProjectId>),
    /// A project is gone.
    #[serde(rename = "project:deleted")]
    ProjectDeleted(NameFact<ProjectId>),
    /// A task was made.
    #[serde(rename = "task:created")]
    TaskCreated(TaskFact),
    /// A task was changed.
    #[serde(rename = "task:updated")]
    TaskUpdated(TaskFact),
    /// A task is gone.
    #[serde(rename = "task:deleted")]
    TaskDeleted(TaskFact),
    /// A session was bound to a task.
    #[serde(rename = "task:session_added")]
    TaskSessionAdded(BindingFact),
    /// A session was taken off a task.
    #[serde(rename = "task:session_removed")]
    TaskSessionRemoved(BindingFact),
    /// A session began.
    #[serde(rename = "session:created")]
    SessionCreated(SessionFact),
    /// A session was changed.
    #[serde(rename = "session:updated")]
    SessionUpdated(SessionFact),
    /// A session is gone.
    #[serde(rename = "session:deleted")]
    SessionDeleted(SessionFact),
    /// An agent is to be started for a session.
    #[serde(rename = "session:spawn")]
    SessionSpawn(SessionFact),
    /// A task was added to a session.
    #[serde(rename = "session:task_added")]
    SessionTaskAdded(BindingFact),
    /// A task was taken from a session.
    #[serde(rename = "session:task_removed")]
    SessionTaskRemoved(BindingFact),
    /// A session said something.
    #[serde(rename = "timeline:added")]
    TimelineAdded(TimelineFact),
    /// A session's tools did something.
    #[serde(rename = "session:event")]
    SessionEvent(ToolFact),
    /// A session goes through its tasks one after the other.
    #[serde(rename = "queue:created")]
    QueueCreated(QueueFact),
    /// It began the next one.
    #[serde(rename = "queue:item_started")]
    QueueItemStarted(QueueFact),
    /// It finished one.
    #[serde(rename = "queue:item_completed")]
    QueueItemCompleted(QueueFact),
    /// It gave one up.
    #[serde(rename = "queue:item_failed")]
    QueueItemFailed(QueueFact),
    /// It left one out.
    #[serde(rename = "queue:item_skipped")]
    QueueItemSkipped(QueueFact),
    /// It got one more.
    #[serde(rename = "queue:item_pushed")]
    QueueItemPushed(QueueFact),
    /// A message for an agent is queued.
    #[serde(rename = "message:queued")]
    MessageQueued(MessageFact),
    /// The agent has it.
    #[serde(rename = "message:delivered")]
    MessageDelivered(MessageFact),
    /// The agent will never get it.
    #[serde(rename = "message:refused")]
    MessageRefused(MessageFact),
    /// Work was offered to another role.
    #[serde(rename = "handoff:created")]
    HandoffCreated(HandoffFact),
    /// The other role took it.
    #[serde(rename = "handoff:accepted")]
    HandoffAccepted(HandoffFact),
    /// The other role finished it.
    #[serde(rename = "handoff:completed")]
    HandoffCompleted(HandoffFact),
    /// An agent did something; what stands in its transcript.
    #[serde(rename = "transcript:added")]
    TranscriptAdded(TranscriptFact),
    /// A part of a prompt did not fit.
    #[serde(rename = "prompt:cut")]
    PromptCut(PromptCutFact),
    /// An agent was started in a sandbox.
    #[serde(rename = "sandbox:applied")]
    SandboxApplied(SandboxFact),
    /// An agent asks before it does something.
    #[serde(rename = "permission:asked")]
    PermissionAsked(PermissionFact),
    /// A person or Maestro answered.
    #[serde(rename = "permission:answered")]
    PermissionAnswered(PermissionFact),
    /// Something happened to a run: `run:…`.
    #[serde(untagged)]
    Run(RunEvent),
}

impl Event {
    /// The event's name and its payload as JSON, as the log keeps them.
    pub fn to_log(&self) -> serde_json::Result<(String, String)> {
        // `{"type":"…","payload":…}`: in this order, and no name holds a quote.
        let whole = serde_json::to_string(self)?;
        let split = || {
            let rest = whole.strip_prefix("{\"type\":\"")?.strip_suffix('}')?;
            let (name, rest) = rest.split_once('"')?;
            Some((name.to_owned(), rest.strip_prefix(",\"payload\":")?.to_owned()))
        };
        split().ok_or_else(|| serde::ser::Error::custom("an event is its type and its payload"))
    }

    /// The event of this name and this payload, as the log keeps them.
    pub fn from_log(name: &str, payload: &str) -> serde_json::Result<Self> {
        let payload: serde_json::Value = serde_json::from_str(payload)?;
        serde_json::from_value(serde_json::json!({ "type": name, "payload": payload }))
    }
}

impl RunEvent {
    /// The event of this name and this payload, as the log keeps them; nothing where it is about something else.
    pub fn from_log(name: &str, payload: &str) -> serde_json::Result<Option<Self>> {
        Ok(match Event::from_log(name, payload)? {
            Event::Run(event) => Some(event),
            _ => None,
        })
    }
}

/// Something with a name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NameFact<I> {
    /// Its id.
    pub id: I,
    /// What people call it.
    pub name: String,
}

/// What happened to a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TaskFact {
    /// The task.
    pub id: TaskId,
    /// What it is a part of.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub parent_id: Option<TaskId>,
    /// Its title.
    pub title: String,
    /// How far it is.
    pub status: TaskStatus,
    /// What changed.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub fields: Vec<String>,
    /// The session that did it; none when a person or the roll-up did.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub by: Option<SessionId>,
}

/// A task and a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BindingFact {
    /// The task.
    pub task_id: TaskId,
    /// The session.
    pub session_id: SessionId,
}

/// What happened to a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SessionFact {
    /// The session.
    pub id: SessionId,
    /// What people call it.
    pub name: String,
    /// Whether it works.
    pub status: SessionStatus,
    /// Why, where the session did not decide itself.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub reason: Option<String>,
}

/// What a session said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TimelineFact {
    /// The kind of line.
    pub kind: String,
    /// Its words.
    pub message: String,
}

impl Event {
    /// What is wrong with skills, if the event says so.
    pub fn skill_warnings(&self) -> Vec<String> {
        match self {
            Self::SkillsSelected(selection) => selection.errors.clone(),
            Self::SkillsLoadFailed(failed) => vec![format!("skill {} cannot be read: {}", failed.name, failed.error)],
            Self::SkillsTruncated(cut) => vec![format!("skill {} is cut after {} characters", cut.name, cut.max_chars)],
            _ => Vec::new(),
        }
    }
}

/// What a session's tools did.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolFact {
    /// The kind of thing.
    pub kind: String,
}

/// What happened to a session's queue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct QueueFact {
    /// The session.
    pub session_id: SessionId,
    /// The task.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub task_id: Option<TaskId>,
    /// Why.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub reason: Option<String>,
}

/// What happened to words for an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MessageFact {
    /// The message.
    pub id: MessageId,
    /// Who gets it.
    pub session_id: SessionId,
    /// How it got there, or why not.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub how: Option<String>,
}

/// What came into a session's transcript.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TranscriptFact {
    /// The place of the last thing that came.
    pub last: i64,
    /// How many there were.
    pub count: usize,
}

/// The part of a prompt that was cut.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PromptCutFact {
    /// What: a skill, a task, or another part.
    pub what: String,
    /// How many characters are missing.
    pub chars: usize,
}

/// What confines an agent, and what it can do nevertheless.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SandboxFact {
    /// What confines it: `namespaces`, `landlock` or `none`.
    pub layer: String,
    /// What it can do nevertheless.
    pub gaps: Vec<String>,
}

/// What an agent asks, or what was answered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PermissionFact {
    /// What the agent calls the question.
    pub request: String,
    /// What it wants to do.
    pub title: String,
    /// What was answered.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub answer: Option<PermissionChoiceKind>,
}

/// What happened to work passed on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HandoffFact {
    /// The hand-off.
    pub id: HandoffId,
    /// Who passes it on.
    pub from: String,
    /// Who gets it.
    pub to: String,
    /// What it is about.
    pub title: String,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::EntityId;

    #[test]
    fn an_event_is_logged_as_its_name_and_its_payload() {
        let fact = TimelineFact { kind: "progress".into(), message: "a \"quoted\" {word}".into() };
        let (name, payload) = Event::TimelineAdded(fact.clone()).to_log().unwrap();
        assert_eq!(name, "timeline:added");
        assert_eq!(serde_json::from_str::<TimelineFact>(&payload).unwrap(), fact);
        let deleted = Event::ProjectDeleted(NameFact { id: ProjectId::make(1, 1), name: "shop".into() });
        assert_eq!(deleted.to_log().unwrap().0, "project:deleted");
        let (name, payload) = Event::Run(RunEvent::Paused {}).to_log().unwrap();
        assert_eq!((name.as_str(), payload.as_str()), ("run:paused", "{}"));
        let read: Event = serde_json::from_str(r#"{"type": "run:paused", "payload": {}}"#).unwrap();
        assert_eq!(read, Event::Run(RunEvent::Paused {}));
    }

    #[test]
    fn an_event_is_read_by_its_old_name_and_written_by_its_new_one() {
        let old = r#"{"type": "run:heard", "payload": {"ticket": "a#1.x", "fingerprint": 7}}"#;
        let read: Event = serde_json::from_str(old).unwrap();
        assert_eq!(read.to_log().unwrap().0, "run:reported");
        assert_eq!(current_name("run:heard"), "run:reported");
        assert_eq!(current_name("run:left"), "run:left");
        let old = r#"{"type": "agent:tool_began", "payload": {"id": "1", "name": "sh", "title": "sh: ls", "kind": "execute", "input": {}}}"#;
        let read: crate::agent::AgentEvent = serde_json::from_str(old).unwrap();
        assert!(serde_json::to_string(&read).unwrap().starts_with(r#"{"type":"agent:tool_started""#));
    }
}
