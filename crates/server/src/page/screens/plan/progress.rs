//! History of a plan's tasks, as the events of its runs tell it: attempts, rounds, findings, checks and commits.

use std::collections::BTreeMap;

use maestro_core::RunId;
use maestro_core::excerpt::one_line;
use maestro_core::workflow::definition::EndStatus;
use maestro_core::workflow::run::RunEvent;
use maestro_store::EventRow;
use serde_json::{Map, Value as Json};

/// The tasks that runs worked on, by their label.
#[derive(Debug, Clone, Default)]
pub(super) struct PlanHistory {
    tasks: BTreeMap<String, Vec<TaskAttempt>>,
    /// The last event of each run.
    seen: BTreeMap<RunId, i64>,
    /// The task that each run is at.
    current: BTreeMap<RunId, String>,
}

/// One attempt at a task.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct TaskAttempt {
    pub(super) run: RunId,
    pub(super) line: usize,
    pub(super) began: i64,
    pub(super) ended: Option<i64>,
    /// Whether it was done, and what is said about that.
    pub(super) result: Option<(bool, Option<String>)>,
    pub(super) rounds: Vec<TaskRound>,
    pub(super) phase: Option<String>,
    pub(super) commit: Option<String>,
}

/// One round of an attempt: the work, its checks and its review.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct TaskRound {
    /// What the agent said it did.
    pub(super) summary: Option<String>,
    /// Whether the checks passed, and what they said.
    pub(super) checks: Option<(bool, String)>,
    pub(super) findings: Vec<String>,
}

impl PlanHistory {
    /// The last event of a run that was taken in.
    pub(super) fn seen(&self, run: RunId) -> i64 {
        self.seen.get(&run).copied().unwrap_or(0)
    }

    /// The attempts at a task, the first one first.
    pub(super) fn attempts(&self, label: &str) -> &[TaskAttempt] {
        self.tasks.get(&one_line(label)).map(Vec::as_slice).unwrap_or_default()
    }

    /// Every attempt, with its task.
    pub(super) fn all(&self) -> impl Iterator<Item = (&str, &TaskAttempt)> {
        self.tasks.iter().flat_map(|(label, attempts)| attempts.iter().map(move |attempt| (label.as_str(), attempt)))
    }

    /// Takes in something that happened to a run.
    pub(super) fn apply(&mut self, run: RunId, row: &EventRow) {
        self.seen.insert(run, row.seq);
        let Ok(Some(event)) = RunEvent::from_log(&row.kind, row.payload.get()) else { return };
        match &event {
            RunEvent::Called { params, .. } => self.begin(run, row.at, params),
            RunEvent::Returned { status, message, .. } => {
                if let Some(attempt) = self.current_attempt(run) {
                    attempt.ended = Some(row.at);
                    attempt.result = Some((*status == EndStatus::Success, message.clone()));
                }
                self.current.remove(&run);
            }
            _ => {
                if let Some(attempt) = self.current_attempt(run) {
                    attempt.apply(&event);
                }
            }
        }
    }

    fn begin(&mut self, run: RunId, at: i64, params: &Map<String, Json>) {
        let Some(label) = params.get("task").and_then(Json::as_str).filter(|label| !label.is_empty()) else { return };
        let label = one_line(label);
        let line = params.get("line").and_then(number).unwrap_or(0);
        let attempt = TaskAttempt {
            run,
            line,
            began: at,
            ended: None,
            result: None,
            rounds: Vec::new(),
            phase: None,
            commit: None,
        };
        self.tasks.entry(label.clone()).or_default().push(attempt);
        self.current.insert(run, label);
    }

    fn current_attempt(&mut self, run: RunId) -> Option<&mut TaskAttempt> {
        let label = self.current.get(&run)?;
        self.tasks.get_mut(label)?.iter_mut().rfind(|attempt| attempt.run == run)
    }
}

/// A number, also where a template wrote it as text.
fn number(value: &Json) -> Option<usize> {
    value.as_u64().and_then(|number| usize::try_from(number).ok()).or_else(|| value.as_str()?.parse().ok())
}

fn lines(text: &str) -> impl Iterator<Item = String> + '_ {
    text.lines().map(|line| line.trim().trim_start_matches("- ").to_owned()).filter(|line| !line.is_empty())
}

impl TaskAttempt {
    fn apply(&mut self, event: &RunEvent) {
        match event {
            RunEvent::Entered { step, phase, .. } => {
                if let Some(phase) = phase {
                    self.phase = Some(String::from(phase.clone()));
                }
                if matches!(step.as_str(), "implement" | "choose") {
                    self.rounds.push(TaskRound::default());
                }
            }
            RunEvent::Resulted { step, result } => self.resulted(step.as_str(), result),
            RunEvent::Executed { step, outcome, reason, .. } if step.as_str().starts_with("verify") => {
                let passed = outcome.as_str() == "ok";
                let round = self.round();
                let said = round.checks.take().map(|(_, said)| said).filter(|said| !said.is_empty());
                round.checks = Some((passed, said.or_else(|| reason.clone()).unwrap_or_default()));
            }
            RunEvent::Judged { outcome, reasons, .. } if outcome.as_str() == "fail" => {
                let round = self.round();
                round.findings.extend(reasons.iter().cloned());
            }
            RunEvent::Set { value, .. } => {
                let commit = value.get("commit").and_then(Json::as_str).filter(|commit| !commit.is_empty());
                if let Some(commit) = commit {
                    self.commit = Some(commit.to_owned());
                }
            }
            _ => {}
        }
    }

    fn resulted(&mut self, step: &str, result: &Map<String, Json>) {
        let text = |name: &str| result.get(name).and_then(Json::as_str).filter(|text| !text.trim().is_empty());
        match step {
            "implement" | "choose" => self.round().summary = text("summary").map(str::to_owned),
            "look" => {
                if let Some(findings) = text("findings") {
                    let found = lines(findings).collect::<Vec<_>>();
                    self.round().findings.extend(found);
                }
            }
            _ if step.starts_with("verify") => {
                let said = text("told").or_else(|| text("error"));
                if let Some(said) = said {
                    let passed =
                        self.round().checks.as_ref().is_none_or(|(passed, _)| *passed) && text("error").is_none();
                    self.round().checks = Some((passed, said.to_owned()));
                }
            }
            _ => {}
        }
    }

    fn round(&mut self) -> &mut TaskRound {
        if self.rounds.is_empty() {
            self.rounds.push(TaskRound::default());
        }
        // There is one, as of just now.
        let last = self.rounds.len() - 1;
        &mut self.rounds[last]
    }

    /// Whether it is under way.
    pub(super) fn is_open(&self) -> bool {
        self.result.is_none()
    }

    /// Where it is: its phase, and the round where that is not the first.
    pub(super) fn place(&self) -> String {
        let phase = self.phase.as_deref().unwrap_or("start");
        match self.rounds.len() {
            0 | 1 => phase.to_owned(),
            round => format!("{phase}, round {round}"),
        }
    }
}
