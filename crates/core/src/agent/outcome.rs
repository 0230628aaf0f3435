//! The outcome of a session. Decided by evidence, never by an exit code or a stop reason alone: agents end well with every
//! tool denied, with a refused key, and after an error of the model's server.

use serde::{Deserialize, Serialize};

use super::agent_event::{AgentEvent, FailureKind, StopReason};
use super::agent_table::ReportAbility;
use super::failure::{RetryDecision, decide_retry};
use crate::report::ReportKind;

/// How many reasons are kept of each kind.
const MOST_REASONS: usize = 20;

/// The outcome of a session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum SessionVerdict {
    /// The work is done, and something other than the agent's end says so.
    Done,
    /// It ended, and nothing shows that it did anything.
    NothingDone {
        /// What it said and left undone.
        reason: String,
    },
    /// It changed files and ended without a report, and no check says whether the work is done.
    Unreported {
        /// What it changed.
        reason: String,
    },
    /// It did not succeed.
    Failed {
        /// Why.
        reasons: Vec<String>,
    },
    /// A person or Maestro ended it.
    Cancelled,
    /// It cannot continue before a person does something.
    Parked {
        /// What stands in its way.
        reason: String,
    },
    /// It fell silent and was ended.
    Stalled,
}

/// What was reported by the session itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FinalReport {
    /// What kind of report.
    pub kind: ReportKind,
    /// Its words.
    pub message: String,
}

/// A check that was executed after the session's end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExecutedCheck {
    /// What it is called.
    pub name: String,
    /// How it went.
    pub result: CheckResult,
}

/// How a check went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CheckResult {
    /// It passed.
    Passed,
    /// It failed.
    Failed {
        /// What it said.
        reason: String,
    },
}

/// Who ended a session.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum EndCause {
    /// It ended by itself.
    #[default]
    Own,
    /// It was canceled.
    Cancelled,
    /// It was silent for too long.
    Silent,
    /// It reached a limit.
    Limit {
        /// Which.
        what: String,
    },
}

/// Whether work like this changes files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ExpectedChange {
    /// Without a change nothing was done.
    Changes,
    /// An answer may be all there is: a review, a question.
    #[default]
    Anything,
}

/// All that is known of a session when it has ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Evidence {
    /// What it reported last of its tasks' end; progress is no end.
    pub reported: Option<FinalReport>,
    /// Files that really changed in the worktree.
    pub changed: Vec<String>,
    /// The checks that were executed.
    pub checks: Vec<ExecutedCheck>,
    /// What went wrong and was not got over.
    pub troubles: Vec<(RetryDecision, String)>,
    /// What was not allowed.
    pub denials: Vec<String>,
    /// How the agent says that it stopped, or how its process ended.
    pub stop: Option<StopReason>,
    /// Who ended it.
    pub ending: EndCause,
    /// Whether it could report at all.
    pub reporting: ReportAbility,
    /// What was to be expected.
    pub expected: ExpectedChange,
    /// Its last message. It is no evidence of any work, but often says why there was none.
    pub last_words: Option<String>,
}

impl Evidence {
    /// What is known before anything happened.
    pub fn new(reporting: ReportAbility, expected: ExpectedChange) -> Self {
        Self {
            reported: None,
            changed: Vec::new(),
            checks: Vec::new(),
            troubles: Vec::new(),
            denials: Vec::new(),
            stop: None,
            ending: EndCause::Own,
            reporting,
            expected,
            last_words: None,
        }
    }

    /// Records an event of the agent.
    pub fn note(&mut self, event: &AgentEvent) {
        match event {
            AgentEvent::Trouble { kind: FailureKind::Denied, message, .. } => {
                push_unique(&mut self.denials, message.clone());
            }
            AgentEvent::Trouble { message, .. } => {
                if let Some(verdict) = decide_retry(event) {
                    push_unique(&mut self.troubles, (verdict, message.clone()));
                }
            }
            // The model answered again, so what went wrong before was got over.
            AgentEvent::Said { .. } | AgentEvent::Thought { .. } | AgentEvent::ToolBegan { .. } => {
                self.troubles.clear();
            }
            AgentEvent::Ended { stop, .. } => self.stop = Some(worse_stop(self.stop, *stop)),
            _ => {}
        }
    }

    /// Takes note of what the session reported.
    pub fn note_report(&mut self, kind: ReportKind, message: &str) {
        if kind != ReportKind::Progress {
            self.reported = Some(FinalReport { kind, message: message.to_owned() });
        }
    }

    /// Whether it ended by itself, without trouble, and forgot to report.
    pub fn lacks_report(&self) -> bool {
        let is_orderly = self.ending == EndCause::Own && self.troubles.is_empty();
        let is_forgotten = self.reported.is_none() && self.reporting == ReportAbility::Able;
        is_orderly && is_forgotten && self.stop.and_then(stop_reason).is_none()
    }

    /// What to do about the trouble that was not got over, if the session did not end by its own report.
    pub fn retry_decision(&self) -> Option<RetryDecision> {
        let over = self.reported.as_ref().is_some_and(|reported| reported.kind == ReportKind::Complete);
        self.troubles.last().filter(|_| !over).map(|(verdict, _)| *verdict)
    }
}

/// Keeps the newest of them, each once in a row.
fn push_unique<T: PartialEq>(kept: &mut Vec<T>, fresh: T) {
    if kept.last() == Some(&fresh) {
        return;
    }
    if kept.len() == MOST_REASONS {
        kept.remove(0);
    }
    kept.push(fresh);
}

/// Of the agent's own word and its process' end, what says more.
fn worse_stop(before: Option<StopReason>, now: StopReason) -> StopReason {
    match (before, now) {
        (Some(before), StopReason::Exited { .. }) if before != StopReason::EndTurn => before,
        (_, now) => now,
    }
}

/// The outcome of a session.
pub fn judge_session(evidence: &Evidence) -> SessionVerdict {
    match evidence.ending {
        EndCause::Cancelled => return SessionVerdict::Cancelled,
        EndCause::Silent => return SessionVerdict::Stalled,
        EndCause::Own | EndCause::Limit { .. } => {}
    }
    let reasons = failed_checks(evidence);
    if !reasons.is_empty() {
        return SessionVerdict::Failed { reasons };
    }
    match &evidence.reported {
        Some(FinalReport { kind: ReportKind::Complete, .. }) => return completed(evidence),
        Some(FinalReport { kind: ReportKind::Blocked | ReportKind::NeedsInput, message }) => {
            return SessionVerdict::Parked { reason: message.clone() };
        }
        Some(FinalReport { kind: ReportKind::Error, message }) => {
            return SessionVerdict::Failed { reasons: with_bad_signs(message.clone(), evidence) };
        }
        Some(FinalReport { kind: ReportKind::Progress, .. }) | None => {}
    }
    if let Some((_, reason)) = evidence.troubles.iter().find(|(verdict, _)| *verdict == RetryDecision::Park) {
        return SessionVerdict::Parked { reason: reason.clone() };
    }
    let reasons = bad_signs(evidence);
    if !reasons.is_empty() {
        return SessionVerdict::Failed { reasons };
    }
    unreported(evidence)
}

/// It says that it is done; so there must be something to see where something is to be expected.
fn completed(evidence: &Evidence) -> SessionVerdict {
    if evidence.expected == ExpectedChange::Anything || !evidence.changed.is_empty() {
        return SessionVerdict::Done;
    }
    match bad_signs(evidence) {
        reasons if reasons.is_empty() => nothing_done("it reported completion, but no file changed", evidence),
        reasons => SessionVerdict::Failed { reasons },
    }
}

/// It says nothing of its work, and nothing went wrong that can be seen.
fn unreported(evidence: &Evidence) -> SessionVerdict {
    // That none failed was seen before.
    let passed = !evidence.checks.is_empty();
    match (evidence.changed.len(), evidence.reporting) {
        (0, ReportAbility::Able) => nothing_done("it reported nothing, and no file changed", evidence),
        (0, ReportAbility::Unable) => nothing_done("no file changed", evidence),
        (_, ReportAbility::Unable) => SessionVerdict::Done,
        (_, ReportAbility::Able) if passed => SessionVerdict::Done,
        (1, ReportAbility::Able) => SessionVerdict::Unreported { reason: unfinished("1 file") },
        (many, ReportAbility::Able) => SessionVerdict::Unreported { reason: unfinished(&format!("{many} files")) },
    }
}

fn nothing_done(seen: &str, evidence: &Evidence) -> SessionVerdict {
    let words = evidence.last_words.as_ref().map(|words| format!("; it said: {words}")).unwrap_or_default();
    SessionVerdict::NothingDone { reason: format!("{seen}{words}") }
}

fn unfinished(what: &str) -> String {
    format!("it changed {what}, but did not report completion, and no check confirms it")
}

fn failed_checks(evidence: &Evidence) -> Vec<String> {
    let failed = evidence.checks.iter().filter_map(|check| match &check.result {
        CheckResult::Passed => None,
        CheckResult::Failed { reason } => Some(format!("the check `{}` failed: {reason}", check.name)),
    });
    failed.collect()
}

/// A reason, and what else went wrong.
fn with_bad_signs(first: String, evidence: &Evidence) -> Vec<String> {
    std::iter::once(first).chain(bad_signs(evidence)).collect()
}

/// What speaks against success. A stop that is fine is no sign of it.
fn bad_signs(evidence: &Evidence) -> Vec<String> {
    let limit = match &evidence.ending {
        EndCause::Limit { what } => Some(format!("a limit was reached: {what}")),
        EndCause::Own | EndCause::Cancelled | EndCause::Silent => None,
    };
    let troubles = evidence.troubles.iter().map(|(_, message)| message.clone());
    let denials = evidence.denials.iter().cloned();
    let stop = evidence.stop.and_then(stop_reason);
    limit.into_iter().chain(troubles).chain(denials).chain(stop).collect()
}

fn stop_reason(stop: StopReason) -> Option<String> {
    Some(match stop {
        StopReason::EndTurn | StopReason::Exited { code: 0 } => return None,
        StopReason::Cancelled => "the agent was canceled".to_owned(),
        StopReason::MaxTurns => "the agent reached its turn limit".to_owned(),
        StopReason::Refused => "the model refused".to_owned(),
        StopReason::Error => "the agent reported an error".to_owned(),
        StopReason::Exited { code } => format!("the agent's process exited with code {code}"),
        StopReason::Killed { signal } => format!("the agent's process was killed by signal {signal}"),
    })
}

#[cfg(test)]
mod tests;
