//! Responses of the server, as far as they are shown to people; programs get them whole.

use maestro_core::task::TaskStatus;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value as Json;

use crate::output::error::CommandError;

/// A project.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Project {
    pub(crate) id: String,
    pub(crate) name: String,
    #[serde(default)]
    pub(crate) working_dir: String,
    #[serde(default)]
    pub(crate) description: String,
}

/// A task; a short one has no description.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Task {
    pub(crate) id: String,
    pub(crate) project_id: String,
    pub(crate) parent_id: Option<String>,
    pub(crate) title: String,
    #[serde(default)]
    pub(crate) description: String,
    pub(crate) status: String,
    pub(crate) priority: String,
    #[serde(default)]
    pub(crate) session_ids: Vec<String>,
}

impl Task {
    /// Whether there is nothing left to do about it.
    pub(crate) fn is_closed(&self) -> bool {
        matches!(self.status.as_str(), "completed" | "cancelled" | "archived")
    }

    /// Whether it may become that; a status of a newer server is left for the server to judge.
    pub(crate) fn may_become(&self, status: TaskStatus) -> bool {
        self.status.parse::<TaskStatus>().is_ok_and(|own| own.may_become(status))
    }

    /// A mark for lists, as plans have them.
    pub(crate) fn mark(&self) -> &'static str {
        match self.status.as_str() {
            "todo" => "[ ]",
            "in_progress" => "[~]",
            "in_review" => "[?]",
            "blocked" => "[!]",
            "completed" => "[x]",
            _ => "[-]",
        }
    }
}

/// A session; a short one has no timeline.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Session {
    pub(crate) id: String,
    pub(crate) project_id: String,
    #[serde(default)]
    pub(crate) task_ids: Vec<String>,
    pub(crate) name: String,
    pub(crate) role: String,
    #[serde(default)]
    pub(crate) strategy: String,
    pub(crate) status: String,
    pub(crate) end_reason: Option<String>,
    pub(crate) needs_input: Option<Question>,
    #[serde(default)]
    pub(crate) timeline: Vec<Line>,
}

/// What a session asks of a person.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Question {
    pub(crate) message: String,
}

/// A line of a timeline.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Line {
    #[serde(rename = "type")]
    pub(crate) kind: String,
    pub(crate) message: String,
}

/// Words for an agent.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Message {
    pub(crate) from: String,
    pub(crate) text: String,
    pub(crate) state: String,
    pub(crate) how: Option<String>,
}

/// Takes an answer apart.
pub(crate) fn read<T: DeserializeOwned>(answer: &Json) -> Result<T, CommandError> {
    T::deserialize(answer).map_err(|error| CommandError::server(format!("cannot read the response: {error}")))
}

/// Takes a list apart.
pub(crate) fn read_all<T: DeserializeOwned>(answers: &[Json]) -> Result<Vec<T>, CommandError> {
    answers.iter().map(read).collect()
}
