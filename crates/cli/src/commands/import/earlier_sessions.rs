//! Sessions of the first Maestro: who worked on what, and what was said of it.
//!
//! Their processes are over, so each comes along as an ended session with its timeline. The times of then are kept beside
//! what was said.

use std::collections::BTreeMap;

use maestro_api::sessions::{self, NewSession, NewTimelineLine, SessionChange};
use maestro_core::SessionRole;
use maestro_core::id::{EntityId as _, SessionId};
use maestro_core::session::SessionStatus;
use serde::Deserialize;
use serde_json::{Map, Value as Json, json};

use crate::client::CliClient;
use crate::output::command_output::CommandResult;
use crate::output::time;

/// How many lines of a timeline come along: the last ones.
const MOST_LINES: usize = 200;

/// A session; what other versions add is ignored.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct EarlierSession {
    pub(super) id: String,
    #[serde(default)]
    pub(super) project_id: String,
    #[serde(default)]
    task_ids: Vec<String>,
    /// What it was called before a session could have several.
    #[serde(default)]
    task_id: Option<String>,
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    agent_id: Option<String>,
    #[serde(default)]
    status: String,
    #[serde(default)]
    started_at: i64,
    #[serde(default)]
    completed_at: Option<i64>,
    #[serde(default)]
    timeline: Vec<EarlierLine>,
    #[serde(default)]
    metadata: Map<String, Json>,
}

/// A line of its timeline.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct EarlierLine {
    #[serde(rename = "type", default)]
    kind: String,
    #[serde(default)]
    timestamp: i64,
    #[serde(default)]
    message: Option<String>,
    #[serde(default)]
    task_id: Option<String>,
}

impl EarlierSession {
    /// Whether its id can be kept, so that it is imported once.
    pub(super) fn has_usable_id(&self) -> bool {
        SessionId::parse(&self.id).is_ok()
    }

    /// The tasks it worked on.
    pub(super) fn tasks(&self) -> impl Iterator<Item = &String> {
        self.task_ids.iter().chain(self.task_id.as_ref().filter(|task| !self.task_ids.contains(task)))
    }

    /// Creates it unless it is there; whether it did. `ids` are the new ids of tasks.
    pub(super) fn store(
        &self,
        client: &CliClient,
        project: &str,
        ids: &BTreeMap<String, String>,
    ) -> CommandResult<bool> {
        match client.call(sessions::get(&self.id)) {
            Ok(_) => return Ok(false),
            Err(error) if error.is_not_found() => {}
            Err(error) => return Err(error),
        }
        client.call(sessions::create(&self.to_new(project, ids)))?;
        let skipped = self.timeline.len().saturating_sub(MOST_LINES);
        for line in self.timeline.iter().skip(skipped).filter_map(|line| line.to_new(ids)) {
            client.call(sessions::add_line(&self.id, &line))?;
        }
        let ended = match self.status.as_str() {
            "completed" => SessionStatus::Completed,
            "failed" => SessionStatus::Failed,
            _ => SessionStatus::Stopped,
        };
        let change = SessionChange { status: Some(ended.to_string()), ..SessionChange::default() };
        client.call(sessions::update(&self.id, &change))?;
        Ok(true)
    }

    fn to_new(&self, project: &str, ids: &BTreeMap<String, String>) -> NewSession {
        let role = ["role", "mode"].iter().find_map(|key| self.metadata.get(*key)?.as_str());
        let orchestrates = role.is_some_and(|role| role.contains("orchestrat") || role.contains("coordinat"));
        let is_worker = role.is_none_or(|role| role.ends_with("worker")) || !orchestrates;
        let role = if is_worker { SessionRole::Worker } else { SessionRole::Orchestrator };
        let metadata = json!({
            "spawnSource": "import", "startedAt": self.started_at, "completedAt": self.completed_at,
        });
        NewSession {
            id: Some(self.id.clone()),
            project_id: Some(project.to_owned()),
            task_ids: Some(self.tasks().filter_map(|task| ids.get(task).cloned()).collect()),
            name: self.name.clone().or_else(|| Some(format!("Session of {}", time::day(self.started_at)))),
            agent_id: self.agent_id.clone(),
            role: Some(role.to_string()),
            metadata: metadata.as_object().cloned(),
            ..NewSession::default()
        }
    }
}

impl EarlierLine {
    /// The line with its time; nothing for one that says nothing, or only that the session exists.
    fn to_new(&self, ids: &BTreeMap<String, String>) -> Option<NewTimelineLine> {
        let message = self.message.as_deref().map(str::trim).filter(|message| !message.is_empty())?;
        if self.kind == "session_started" {
            return None;
        }
        Some(NewTimelineLine {
            kind: Some(self.kind.clone()).filter(|kind| !kind.is_empty()),
            message: Some(format!("{}: {message}", time::day(self.timestamp))),
            task_id: self.task_id.as_ref().and_then(|task| ids.get(task).cloned()),
            metadata: json!({ "at": self.timestamp }).as_object().cloned(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_of_every_age_are_understood() {
        let session: EarlierSession = serde_json::from_value(json!({
            "id": "sess_1", "taskId": "task_1", "taskIds": ["task_2"], "metadata": {"mode": "coordinated-worker"},
        }))
        .unwrap();
        assert_eq!(session.tasks().collect::<Vec<_>>(), ["task_2", "task_1"]);
        let ids = BTreeMap::from([("task_1".to_owned(), "new".to_owned())]);
        let new = session.to_new("proj", &ids);
        assert_eq!((new.role.as_deref(), new.task_ids), (Some("worker"), Some(vec!["new".to_owned()])));
    }
}
