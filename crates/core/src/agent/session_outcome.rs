//! Outcome of a session as it is stored and shown.

use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use super::{BudgetUsage, LimitGrant, SessionVerdict, TokenUsage};

/// What a worker says when a session's agent has ended.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct SessionOutcome {
    /// How it ended.
    #[serde(flatten)]
    pub result: SessionResult,
    /// What the agent did; nothing where it was not started.
    #[serde(flatten)]
    pub work: Option<SessionWork>,
}

/// How a session's agent ended.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum SessionResult {
    /// The work is done.
    Done,
    /// It ended, and nothing shows that it did anything.
    NothingDone {
        /// What shows that.
        #[serde(default)]
        reason: String,
    },
    /// It changed files and ended without a report.
    Unreported {
        /// What it changed.
        #[serde(default)]
        reason: String,
    },
    /// It did not succeed.
    Failed {
        /// Why.
        #[serde(default)]
        reasons: Vec<String>,
    },
    /// A person or the run ended it.
    Cancelled,
    /// It cannot continue before a person does something.
    Parked {
        /// What is in its way.
        #[serde(default)]
        reason: String,
    },
    /// It was silent for too long and was ended.
    Stalled {
        /// How long.
        #[serde(default)]
        reason: String,
    },
    /// Its agent could not be started.
    NotStarted {
        /// Why.
        #[serde(default)]
        reasons: Vec<String>,
    },
    /// It ended before a worker could say how, or another version of Maestro said so.
    #[default]
    #[serde(other)]
    Unknown,
}

/// What a session's agent did, over all its starts.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionWork {
    /// How often it was started.
    pub attempt: i64,
    /// How often it asked its model.
    #[serde(default)]
    pub turns: u64,
    /// Tokens and money.
    #[serde(default)]
    pub spent: TokenUsage,
    /// What a person allowed beyond its limits.
    #[serde(default, skip_serializing_if = "LimitGrant::is_nothing")]
    pub granted: LimitGrant,
    /// How long it worked, in milliseconds.
    #[serde(default)]
    pub worked_ms: u64,
    /// The files that changed.
    #[serde(default)]
    pub changed_files: Vec<String>,
    /// All files together after it ended, as git names them.
    #[serde(default)]
    pub tree: Option<String>,
    /// What it was not allowed to do.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub denied: Vec<String>,
    /// How many of its starts ended in an outage of its model.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub outages: u32,
    /// Whether it was reminded that it had not reported.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub reminded: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes it so")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}

impl SessionOutcome {
    /// The outcome in a stored row.
    pub fn from_stored(mut stored: Json) -> Result<Self, serde_json::Error> {
        // Some rows hold it one level deeper.
        let inner = stored.get_mut("outcome").map(Json::take);
        serde_json::from_value(inner.unwrap_or(stored))
    }

    /// The outcome of a session whose agent could not be started.
    pub fn not_started(reason: &str) -> Self {
        Self { result: SessionResult::NotStarted { reasons: vec![reason.to_owned()] }, work: None }
    }

    /// Whether the work is done.
    pub fn is_done(&self) -> bool {
        self.result == SessionResult::Done
    }

    /// All files together after the session, as git names them.
    pub fn tree(&self) -> Option<&str> {
        self.work.as_ref()?.tree.as_deref()
    }

    /// The files that changed; nothing where that is not known.
    pub fn changed_files(&self) -> Option<&[String]> {
        self.work.as_ref().map(|work| work.changed_files.as_slice())
    }

    /// What counts against the budgets of its task and plan.
    pub fn usage(&self) -> BudgetUsage {
        self.work.as_ref().map_or_else(BudgetUsage::default, |work| BudgetUsage::of(work.worked_ms, &work.spent))
    }
}

impl SessionOutcome {
    /// What a person allowed beyond its limits.
    pub fn granted(&self) -> LimitGrant {
        self.work.as_ref().map(|work| work.granted).unwrap_or_default()
    }
}

impl SessionResult {
    /// The result that follows from the evidence. `idle_minutes` is how long the agent could be silent.
    pub fn new(outcome: SessionVerdict, idle_minutes: f64) -> Self {
        match outcome {
            SessionVerdict::Done => Self::Done,
            SessionVerdict::NothingDone { reason } => Self::NothingDone { reason },
            SessionVerdict::Unreported { reason } => Self::Unreported { reason },
            SessionVerdict::Failed { reasons } => Self::Failed { reasons },
            SessionVerdict::Cancelled => Self::Cancelled,
            SessionVerdict::Parked { reason } => Self::Parked { reason },
            SessionVerdict::Stalled => Self::Stalled { reason: format!("no output for {idle_minutes} min") },
        }
    }

    /// The word for it, as it is stored.
    pub fn word(&self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::NothingDone { .. } => "nothing_done",
            Self::Unreported { .. } => "unreported",
            Self::Failed { .. } => "failed",
            Self::Cancelled => "cancelled",
            Self::Parked { .. } => "parked",
            Self::Stalled { .. } => "stalled",
            Self::NotStarted { .. } => "not_started",
            Self::Unknown => "unknown",
        }
    }

    /// Why it ended so, where that is known.
    pub fn reasons(&self) -> &[String] {
        match self {
            Self::Failed { reasons } | Self::NotStarted { reasons } => reasons,
            Self::NothingDone { reason }
            | Self::Unreported { reason }
            | Self::Parked { reason }
            | Self::Stalled { reason }
                if !reason.is_empty() =>
            {
                std::slice::from_ref(reason)
            }
            _ => &[],
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn rows_of_earlier_versions_are_read_and_written_as_they_were() {
        let spent = json!({ "input": 10, "output": 5, "cached": 0, "reasoning": 0, "costUsd": 0.25 });
        let rows = [
            json!({ "kind": "done", "attempt": 1, "turns": 2, "spent": spent, "workedMs": 60_000,
                    "changedFiles": ["a.txt"], "tree": "4b82" }),
            json!({ "kind": "failed", "reasons": ["HTTP 401"], "attempt": 3, "turns": 0, "spent": spent,
                    "workedMs": 5, "changedFiles": [], "tree": null, "denied": ["rm"] }),
            json!({ "kind": "not_started", "reasons": ["`claude` is not installed"] }),
            json!({ "kind": "parked", "reason": "which port?", "attempt": 1, "turns": 1, "spent": spent,
                    "workedMs": 5, "changedFiles": [], "tree": null }),
        ];
        for row in rows {
            let outcome = SessionOutcome::from_stored(row.clone()).unwrap();
            assert_eq!(outcome.result.word(), row["kind"]);
            assert_eq!(serde_json::to_value(&outcome).unwrap(), row);
        }
    }

    #[test]
    fn what_a_row_does_not_say_is_unknown() {
        for row in [json!(null), json!({ "kind": "of another version" }), json!({})] {
            let outcome = SessionOutcome::from_stored(row).unwrap_or_default();
            assert_eq!((outcome.result.word(), outcome.tree()), ("unknown", None));
        }
    }
}
