//! Reports for steps that no session works at, or none continues.

use maestro_core::event::RunId;
use maestro_core::workflow::directive::Directive;
use maestro_core::workflow::run::{FileState, InvalidSession, RunInput, Ticket};
use maestro_core::workflow::{StepId, StepOutcome};
use serde_json::{Map, Value as Json, json};

use super::StepSessions;
use super::permitted::OutsideWorkspace;
use crate::runs::{ExecutionClaim, RunError};

/// The outcome of a step that needs fixes.
const FAIL: &str = "fail";
/// What a step ends with when nothing is left of a budget.
const SPENT: &str = "spent";
/// What a step ends with when the work gets nowhere.
const STUCK: &str = "stuck";

/// What a step ends with when its session gave no usable verdict, so that another one is asked.
pub(super) const AGAIN: &str = "again";
/// What a step ends with when its session changed files and did not report.
pub(super) const UNREPORTED: &str = "unreported";

/// The result of starting a session for a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum StartResult {
    /// There is one now.
    Session,
    /// The run goes on without one.
    Skipped,
    /// None was wanted, or the run is over.
    Nothing,
}

/// Why a step gets no more sessions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SkipReason {
    outcome: &'static str,
    /// Why, for people.
    pub(super) reason: String,
}

impl SkipReason {
    /// Nothing is left of a budget.
    pub(super) fn out_of_budget(reason: String) -> Self {
        Self { outcome: SPENT, reason }
    }

    /// The run filled in a word that means nothing for a session.
    pub(super) fn invalid(invalid: &InvalidSession) -> Self {
        Self { outcome: FAIL, reason: invalid.to_string() }
    }

    /// There is no project that the session could belong to.
    pub(super) fn no_project(step: &StepId) -> Self {
        Self { outcome: FAIL, reason: RunError::NoProject(step.clone()).to_string() }
    }

    /// Its directory is not one of the run.
    pub(super) fn outside(outside: &OutsideWorkspace) -> Self {
        Self { outcome: FAIL, reason: outside.to_string() }
    }

    /// The work gets nowhere.
    pub(super) fn stalled(reason: String) -> Self {
        Self { outcome: STUCK, reason }
    }

    /// Another session is asked.
    pub(super) fn again(reason: String) -> Self {
        Self { outcome: AGAIN, reason }
    }

    /// The review changed files, so that they are not what was reviewed any more.
    pub(super) fn changed_files(files: &[String]) -> Self {
        let files = files.join(", ");
        let reason = format!(
            "The review itself changed files, and was to change nothing: {files}. Look whether that belongs to the task; take it back \
             if it does not"
        );
        Self { outcome: FAIL, reason }
    }

    /// What the step's result says. Why another session is asked is not for that session: it would take it for a finding.
    pub(super) fn words(&self) -> &str {
        if self.outcome == AGAIN { "" } else { &self.reason }
    }

    /// What the step ends with: the word for it where the workflow knows it, else that it failed.
    pub(super) fn outcome(&self, directive: &Directive) -> StepOutcome {
        directive.outcomes.iter().find(|outcome| outcome.as_str() == self.outcome).cloned().unwrap_or(StepOutcome::FAIL)
    }
}

/// Whether an outcome is one that an agent may give as its verdict; others only follow from what we know.
pub(super) fn is_verdict(outcome: &StepOutcome) -> bool {
    ![SPENT, STUCK, AGAIN, UNREPORTED].contains(&outcome.as_str())
}

/// A result with every field that the step declares: texts say what there is to say, all else is empty.
pub(super) fn filled_result(directive: &Directive, words: &str) -> Map<String, Json> {
    let value = |kind: Option<&str>| {
        Some(match kind? {
            "string" => json!(words),
            "bool" => json!(false),
            "int" | "number" => json!(0),
            "list" => json!([]),
            _ => return None,
        })
    };
    let fields = directive.result.iter();
    fields.filter_map(|(name, field)| Some((name.clone(), value(field["type"].as_str())?))).collect()
}

impl StepSessions {
    /// Lets a run go on without a session for its step.
    pub(super) async fn skip_step(
        &self,
        run: RunId,
        ticket: Ticket,
        directive: &Directive,
        stop: SkipReason,
    ) -> Result<StartResult, RunError> {
        let abandon = RunInput::Abandon { ticket: ticket.clone(), reason: stop.reason.clone(), now: (self.clock)() };
        let report = RunInput::Report {
            ticket,
            outcome: Some(stop.outcome(directive)),
            set: Map::new(),
            result: filled_result(directive, &stop.reason),
            seen: FileState::default(),
            now: (self.clock)(),
        };
        if let Err(RunError::Refused { .. }) = self.runs.submit(run, report, ExecutionClaim::None).await {
            self.runs.submit(run, abandon, ExecutionClaim::None).await?;
        }
        self.write_summary(run).await;
        Ok(StartResult::Skipped)
    }
}
