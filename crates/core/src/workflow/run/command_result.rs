//! The result of a command, and what follows from it.

use serde_json::{Map, Value as Json};

use super::transition::{NextMove, Transition};
use super::{CommandExit, ExecutionProgress, InputRefusal, RunEvent, StepWait};
use crate::excerpt::{fit_bytes, last_bytes};
use crate::workflow::definition::{CommandRetry, OutputParsing, StepWork, WorkflowStep};
use crate::workflow::name::StepOutcome;
use crate::workflow::value_type::InvalidValue;

/// The name by which a command's result says why it failed; nothing when it did not.
pub(in crate::workflow) const ERROR: &str = "error";

impl<'d> Transition<'d> {
    pub(super) fn finish_command(&mut self, finish: CommandExit) -> Result<NextMove, InputRefusal> {
        let Some((_, position, _, step)) = self.run.current(self.definition) else {
            return Err(InputRefusal::OtherDefinition);
        };
        match (position.wait.clone(), &step.work) {
            (StepWait::Command { attempt, .. }, StepWork::Command { parse, retry, .. }) => {
                self.command_finished(step, *parse, *retry, attempt, finish)
            }
            (StepWait::Listing(_), StepWork::Question(_)) => self.accept_options(step, finish),
            (StepWait::Validating { answer, asked, .. }, StepWork::Question(_)) => {
                self.accept_validation(step, answer, asked, finish)
            }
            _ => Err(InputRefusal::OtherDefinition),
        }
    }

    fn command_finished(
        &mut self,
        step: &'d WorkflowStep,
        parse: OutputParsing,
        retry: CommandRetry,
        attempt: u32,
        finish: CommandExit,
    ) -> Result<NextMove, InputRefusal> {
        let (outcome, code, reason) = match finish {
            CommandExit::Exited { code: 0, output } => match self.keep(step, parse, &output) {
                Ok(()) => return self.accept_output(step, StepOutcome::OK, Some(0), None),
                Err(unfit) => (StepOutcome::FAIL, Some(0), unfit.0),
            },
            CommandExit::Exited { code, output } => (StepOutcome::FAIL, Some(code), failure_message(code, &output)),
            CommandExit::TimedOut if step.timeout.is_some() => {
                (StepOutcome::TIMEOUT, None, "it took too long".to_owned())
            }
            CommandExit::TimedOut => (StepOutcome::FAIL, None, "it took too long".to_owned()),
            CommandExit::Failed(reason) => (StepOutcome::FAIL, None, reason),
        };
        if attempt <= retry.max {
            self.emit(RunEvent::Executed { step: step.id.clone(), outcome, code, reason: Some(reason) });
            return Ok(self.wait(StepWait::Command { attempt: attempt + 1, progress: ExecutionProgress::Ready }));
        }
        self.accept_output(step, outcome, code, Some(reason))
    }

    /// Records how a command ended, and leaves the step with that.
    pub(super) fn accept_output(
        &mut self,
        step: &'d WorkflowStep,
        outcome: StepOutcome,
        code: Option<i32>,
        reason: Option<String>,
    ) -> Result<NextMove, InputRefusal> {
        let id = step.id.clone();
        // The step that fixes the failure, and its readers, need the reason.
        let error = reason.clone().filter(|_| outcome != StepOutcome::OK).unwrap_or_default();
        if matches!(step.work, StepWork::Command { .. } | StepWork::Call(_)) {
            let result = Map::from_iter([(ERROR.to_owned(), Json::String(error))]);
            self.emit(RunEvent::Resulted { step: id.clone(), result });
        }
        self.emit(RunEvent::Executed { step: id.clone(), outcome: outcome.clone(), code, reason });
        self.record_check(step, &outcome)?;
        Ok(NextMove::Leave(id, outcome))
    }

    /// Records how a command ended that a gate judges by.
    pub(super) fn record_check(&mut self, step: &WorkflowStep, outcome: &StepOutcome) -> Result<(), InputRefusal> {
        let is_check = self.workflow()?.steps.iter().any(|other| match &other.work {
            StepWork::Gate(gate) => gate.checks.iter().any(|check| check.step == step.id),
            _ => false,
        });
        if is_check {
            // The name it was called by, which need not be the one it gives itself.
            let workflow = self.frame()?.check_owner();
            self.emit(RunEvent::Checked { workflow, step: step.id.clone(), outcome: outcome.clone() });
        }
        Ok(())
    }

    /// Stores what a command printed, cut where it is too long, if it fits the variable.
    fn keep(&mut self, step: &WorkflowStep, parse: OutputParsing, output: &str) -> Result<(), InvalidValue> {
        let Some((name, _)) = &step.store else { return Ok(()) };
        let workflow = self.workflow().map_err(|refusal| InvalidValue(refusal.to_string()))?;
        let Some(variable) = workflow.variable(name) else { return Ok(()) };
        let value = match parse {
            OutputParsing::Text => {
                let (text, cut) = truncate_output(output.trim(), variable.max_length);
                if cut > 0 {
                    self.emit(RunEvent::Cut { name: name.clone(), bytes: cut });
                }
                Json::String(text)
            }
            OutputParsing::Lines => Json::Array(lines(output).into_iter().map(Json::String).collect()),
            OutputParsing::Json => {
                serde_json::from_str(output).map_err(|error| InvalidValue(format!("it did not print JSON: {error}")))?
            }
        };
        let value = variable.admit(value).map_err(|unfit| InvalidValue(format!("`{name}`: {unfit}")))?;
        self.emit(RunEvent::Set { name: name.clone(), value });
        Ok(())
    }
}

/// What the command of a branch printed, or why it failed.
pub(super) fn printed(parse: OutputParsing, finish: CommandExit) -> Result<Json, String> {
    match finish {
        CommandExit::Exited { code: 0, output } => match parse {
            OutputParsing::Text => Ok(Json::String(truncate_output(output.trim(), MAX_BRANCH).0)),
            OutputParsing::Lines => Ok(lines(truncate_output(&output, MAX_BRANCH).0.as_str()).into()),
            OutputParsing::Json => {
                let read = serde_json::from_str(&output).ok().filter(|_| output.len() <= MAX_BRANCH);
                read.ok_or_else(|| format!("it did not print JSON of at most {MAX_BRANCH} bytes"))
            }
        },
        CommandExit::Exited { code, output } => Err(failure_message(code, &output)),
        CommandExit::TimedOut => Err("it took too long".to_owned()),
        CommandExit::Failed(reason) => Err(reason),
    }
}

/// How many bytes of what the command of one branch printed are kept.
const MAX_BRANCH: usize = 4 * 1024;
/// How many bytes of a failed command's last output are kept.
const LAST_WORDS: usize = 4 * 1024;

/// Why a command counts as failed, with the last it said: what it complained of comes last.
fn failure_message(code: i32, output: &str) -> String {
    let output = output.trim();
    match last_bytes(output, LAST_WORDS) {
        "" => format!("it exited with {code}"),
        said => format!("it exited with {code}: {said}"),
    }
}

/// The lines of an output that say something.
pub(super) fn lines(output: &str) -> Vec<String> {
    output.lines().map(str::trim).filter(|line| !line.is_empty()).map(str::to_owned).collect()
}

const MARK: &str = "\n[cut]";

/// A text that fits, with a mark where it was cut, and how many bytes are gone.
fn truncate_output(text: &str, most: usize) -> (String, usize) {
    fit_bytes(text, most, |_| MARK.to_owned())
}
