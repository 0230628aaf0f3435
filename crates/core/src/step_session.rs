//! Session that works at a step of a run: what is stored about it and what it reports.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};

use crate::event::RunId;
use crate::id::SessionId;
use crate::role::SessionRole;
use crate::workflow::StepOutcome;

/// A session at a step of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct StepSession {
    /// The run.
    pub run: RunId,
    /// The ticket of the step's directive.
    pub ticket: String,
    /// The session.
    pub session: SessionId,
    /// What it reported for the step, if it did.
    pub report: Option<StepReport>,
}

impl StepSession {
    /// The id of the step, which is the first part of its ticket.
    pub fn step(&self) -> &str {
        self.ticket.split('#').next().unwrap_or_default()
    }
}

/// What a session reports for its step.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct StepReport {
    /// The outcome it names.
    #[serde(default)]
    pub outcome: Option<StepOutcome>,
    /// What it sets in the run.
    #[serde(default)]
    pub set: Option<Map<String, Json>>,
    /// The fields of the step's result.
    #[serde(default)]
    pub result: Option<Map<String, Json>>,
}

/// The metadata of a session that was started for a step. The keys are part of what a session shows.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct StepSessionMetadata {
    /// The run.
    pub run: Option<RunId>,
    /// The step.
    pub step: Option<String>,
    /// The task, in words.
    pub task: Option<String>,
    /// The skills in its prompt.
    pub loaded_skills: Vec<String>,
    /// What started it.
    pub spawn_source: String,
    /// Its role.
    pub role: Option<SessionRole>,
    /// Which pass through the workflow it works for.
    #[serde(rename = "walk", alias = "invocationId")]
    pub invocation_id: Option<String>,
    /// The hash of what it has to fix.
    #[serde(rename = "mends", alias = "feedback")]
    pub feedback: Option<String>,
    /// What was wrong with the skills for it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub skill_warnings: Vec<String>,
    /// The role that its step gives it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub step_role: Option<String>,
    /// The outcomes between which it must choose before it is complete; none where being done is enough.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub verdicts: Vec<String>,
    /// Whether it owes a result from which the outcome follows.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub owes_result: bool,
}

impl StepSessionMetadata {
    /// The metadata in a stored row.
    pub fn from_stored(stored: Json) -> Result<Self, serde_json::Error> {
        serde_json::from_value(stored)
    }
}

/// The end of a session at a step: what the budget and the detection of stalls look at.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct StepSessionEnd {
    /// The session.
    pub session: Option<SessionId>,
    /// What was noted when the session was requested.
    pub metadata: StepSessionMetadata,
    /// All files together before it started, as git names them.
    pub tree: Option<String>,
    /// Its outcome, if it was started and ended.
    pub outcome: Option<crate::agent::SessionOutcome>,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn metadata_of_earlier_versions_is_read_and_written_as_it_was() {
        let row = json!({
            "run": "0193a5c8-7d40-7000-8000-000000000001", "step": "implement", "task": "Add a file", "loadedSkills": ["pdf"],
            "spawnSource": "run", "role": "worker", "walk": "r/work#2", "mends": null,
        });
        let metadata = StepSessionMetadata::from_stored(row.clone()).unwrap();
        assert_eq!(metadata.invocation_id.as_deref(), Some("r/work#2"));
        assert_eq!(serde_json::to_value(&metadata).unwrap(), row);
        assert!(StepSessionMetadata::from_stored(json!({ "step": 7 })).is_err());
    }

    #[test]
    fn reports_of_earlier_versions_are_read_and_written_as_they_were() {
        let row = json!({ "outcome": "fail", "set": null, "result": { "findings": "line 3" } });
        let report: StepReport = serde_json::from_value(row.clone()).unwrap();
        assert_eq!(report.outcome, Some(StepOutcome::FAIL));
        assert_eq!(serde_json::to_value(&report).unwrap(), row);
    }
}
