//! Sessions, and their relation to tasks.

use std::str::FromStr;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

use crate::SessionRole;
use crate::id::{EntryId, ProjectId, SessionId, TaskId};
use crate::word_enum::words;

/// One agent at work on tasks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Session {
    /// Its id.
    pub id: SessionId,
    /// The project it belongs to.
    pub project: ProjectId,
    /// Its tasks, the main one first.
    pub tasks: Vec<TaskId>,
    /// What people call it.
    pub name: String,
    /// The part it plays.
    pub role: SessionRole,
    /// The agent.
    pub agent: Option<String>,
    /// Variables its programs get; those that could be secret are shown to no one else.
    pub env: Map<String, Json>,
    /// How it goes through its tasks.
    pub strategy: Approach,
    /// Whether it works.
    pub status: SessionStatus,
    /// What it does again once it is no longer paused.
    pub paused_from: Option<SessionStatus>,
    /// Why it ended, where it did not end by itself.
    pub end: Option<EndReason>,
    /// What it asks of a person.
    pub needs_input: Option<String>,
    /// The session that started it.
    pub parent: Option<SessionId>,
    /// When it began.
    pub started_at: i64,
    /// When it last gave a sign of life, to the second.
    pub last_activity: i64,
    /// When it ended.
    pub completed_at: Option<i64>,
    /// The machine it runs on.
    pub hostname: String,
    /// The system it runs on.
    pub platform: String,
    /// What its starter wrote down.
    pub metadata: Map<String, Json>,
    /// Counts its changes.
    pub revision: i64,
}

/// A line of a session's timeline.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TimelineEntry {
    /// Its id.
    pub id: EntryId,
    /// What kind of line it is.
    pub kind: EntryKind,
    /// When it was written.
    pub at: i64,
    /// Its words.
    pub message: String,
    /// The task it is about.
    pub task: Option<TaskId>,
    /// What else was said.
    pub metadata: Option<Json>,
}

/// Something a session did, as its tools report it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SessionEvent {
    /// Its id.
    pub id: EntryId,
    /// What kind of thing.
    pub kind: EntryKind,
    /// When.
    pub at: i64,
    /// What exactly.
    pub data: Option<Json>,
}

/// The kind of a timeline entry: lower-case letters and `_`, so that unknown ones can be kept as they are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct EntryKind(String);

impl EntryKind {
    /// A line about how it goes, unless said otherwise.
    pub fn progress() -> Self {
        Self::of("progress")
    }

    pub(crate) fn of(known: &'static str) -> Self {
        Self(known.to_owned())
    }

    /// The session began.
    pub fn session_started() -> Self {
        Self::of("session_started")
    }

    /// The session ended.
    pub fn session_stopped() -> Self {
        Self::of("session_stopped")
    }

    /// The session's agent ended; whether the session did is another question.
    pub fn agent_ended() -> Self {
        Self::of("agent_ended")
    }

    /// Work on a task began.
    pub fn task_started() -> Self {
        Self::of("task_started")
    }

    /// A task left the session.
    pub fn task_completed() -> Self {
        Self::of("task_completed")
    }

    /// The word.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for EntryKind {
    type Err = InvalidEntryKind;

    fn from_str(text: &str) -> Result<Self, InvalidEntryKind> {
        let fits = (1..=64).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_lowercase() || b == b'_');
        fits.then(|| Self(text.to_owned())).ok_or(InvalidEntryKind)
    }
}

/// A word that cannot be the kind of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("must be 1 to 64 lower-case letters or `_`")]
pub struct InvalidEntryKind;

words! {
    /// Whether a session works.
    pub enum SessionStatus {
        /// It is being started.
        Spawning = "spawning",
        /// It is there and does nothing.
        Idle = "idle",
        /// It works.
        Working = "working",
        /// It was paused.
        Paused = "paused",
        /// It ended well.
        Completed = "completed",
        /// It ended badly.
        Failed = "failed",
        /// It was ended, or fell silent.
        Stopped = "stopped",
    } also { "running" => Working, }
}

impl SessionStatus {
    /// What it may become.
    pub fn next(self) -> &'static [Self] {
        use SessionStatus::{Completed, Failed, Idle, Paused, Spawning, Stopped, Working};
        match self {
            Spawning => &[Idle, Working, Paused, Completed, Failed, Stopped],
            Idle => &[Working, Paused, Completed, Failed, Stopped],
            Working => &[Idle, Paused, Completed, Failed, Stopped],
            // A pause ends where it began, also before its agent started.
            Paused => &[Spawning, Idle, Working, Completed, Failed, Stopped],
            Completed => &[],
            Failed | Stopped => &[Idle, Working],
        }
    }

    /// Whether it may become the other; staying what it is, it always may.
    pub fn may_become(self, other: Self) -> bool {
        self == other || self.next().contains(&other)
    }

    /// Whether it has ended.
    pub fn is_over(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Stopped)
    }
}

words! {
    /// How a session stands to one of its tasks.
    pub enum TaskSessionStatus {
        /// It will come to it.
        Queued = "queued",
        /// It works on it.
        Working = "working",
        /// It asks a person.
        NeedsInput = "needs_input",
        /// It cannot continue.
        Blocked = "blocked",
        /// It says that it is done.
        Completed = "completed",
        /// It gave up.
        Failed = "failed",
        /// It left it to others.
        Skipped = "skipped",
    } also { "running" => Working, "in_progress" => Working, "done" => Completed, }

    /// How a session goes through its tasks.
    pub enum Approach {
        /// All of them at once.
        Simple = "simple",
        /// One after the other.
        Queue = "queue",
        /// A task and all below it.
        Tree = "tree",
    }

    /// Why a session ended without saying so itself.
    pub enum EndReason {
        /// No sign of life for too long.
        Silence = "silence",
        /// It was canceled.
        Cancelled = "cancelled",
        /// Its process ended.
        Exited = "exited",
    }
}

crate::word_enum! {
    /// A control that a person or orchestrator sends to a session.
    pub enum SessionControl {
        /// Wait.
        Pause = "pause",
        /// Go on.
        Resume = "resume",
        /// End.
        Cancel = "cancel",
    }
}

impl SessionControl {
    /// The controls that a session in this state accepts.
    pub fn allowed_for(status: SessionStatus) -> &'static [Self] {
        match status {
            _ if status.is_over() => &[],
            SessionStatus::Paused => &[Self::Resume, Self::Cancel],
            _ => &[Self::Pause, Self::Cancel],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_original_cli_may_say_running() {
        assert_eq!("running".parse(), Ok(SessionStatus::Working));
        assert_eq!("needs-input".parse(), Ok(TaskSessionStatus::NeedsInput));
        assert!("banana".parse::<SessionStatus>().is_err());
    }

    #[test]
    fn a_completed_session_stays_completed() {
        for status in SessionStatus::ALL {
            assert_eq!(SessionStatus::Completed.may_become(status), status == SessionStatus::Completed);
            assert!(status.may_become(SessionStatus::Completed) || status.is_over(), "{status} can complete");
        }
    }
}
