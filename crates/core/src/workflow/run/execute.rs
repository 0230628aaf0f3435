//! The result of a command, and what follows from it.

use serde_json::{Map, Value as Json};

use super::walk::{Move, Walk};
use super::{Finish, Progress, Refusal, RunEvent, Wait};
use crate::excerpt::{fit_bytes, last_bytes};
use crate::workflow::definition::{Parse, Retry, Step, Work};
use crate::workflow::name::Outcome;
use crate::workflow::value::Unfit;

/// The name by which a command's result says why it failed; nothing when it did not.
pub(in crate::workflow) const ERROR: &str = "error";

impl<'d> Walk<'d> {
    pub(super) fn finished(&mut self, finish: Finish) -> Result<Move, Refusal> {
        let Some((_, position, _, step)) = self.run.current(self.definition) else {
            return Err(Refusal::OtherDefinition);
        };
        match (position.wait.clone(), &step.work) {
            (Wait::Command { attempt, .. }, Work::Command { parse, retry, .. }) => {
                self.command_finished(step, *parse, *retry, attempt, finish)
            }
            (Wait::Listing(_), Work::Question(_)) => self.listed(step, finish),
            (Wait::Validating { answer, asked, .. }, Work::Question(_)) => self.validated(step, answer, asked, finish),
            _ => Err(Refusal::OtherDefinition),
        }
    }

    fn command_finished(
        &mut self,
        step: &'d Step,
        parse: Parse,
        retry: Retry,
        attempt: u32,
        finish: Finish,
    ) -> Result<Move, Refusal> {
        let (outcome, code, reason) = match finish {
            Finish::Exited { code: 0, output } => match self.keep(step, parse, &output) {
                Ok(()) => return self.executed(step, Outcome::OK, Some(0), None),
                Err(unfit) => (Outcome::FAIL, Some(0), unfit.0),
            },
            Finish::Exited { code, output } => (Outcome::FAIL, Some(code), complaint(code, &output)),
            Finish::TimedOut if step.timeout.is_some() => (Outcome::TIMEOUT, None, "it took too long".to_owned()),
            Finish::TimedOut => (Outcome::FAIL, None, "it took too long".to_owned()),
            Finish::Failed(reason) => (Outcome::FAIL, None, reason),
        };
        if attempt <= retry.max {
            self.emit(RunEvent::Executed { step: step.id.clone(), outcome, code, reason: Some(reason) });
            return Ok(self.wait(Wait::Command { attempt: attempt + 1, progress: Progress::Ready }));
        }
        self.executed(step, outcome, code, Some(reason))
    }

    /// Records how a command ended, and leaves the step with that.
    pub(super) fn executed(
        &mut self,
        step: &'d Step,
        outcome: Outcome,
        code: Option<i32>,
        reason: Option<String>,
    ) -> Result<Move, Refusal> {
        let id = step.id.clone();
        // The step that fixes the failure, and its readers, need the reason.
        let error = reason.clone().filter(|_| outcome != Outcome::OK).unwrap_or_default();
        if matches!(step.work, Work::Command { .. } | Work::Call(_)) {
            let result = Map::from_iter([(ERROR.to_owned(), Json::String(error))]);
            self.emit(RunEvent::Resulted { step: id.clone(), result });
        }
        self.emit(RunEvent::Executed { step: id.clone(), outcome: outcome.clone(), code, reason });
        let workflow = self.workflow()?;
        let is_check = workflow.steps.iter().any(|other| match &other.work {
            Work::Gate(gate) => gate.checks.iter().any(|check| check.step == id),
            _ => false,
        });
        if is_check {
            // The name it was called by, which need not be the one it gives itself.
            let workflow = self.frame()?.workflow.clone();
            self.emit(RunEvent::Checked { workflow, step: id.clone(), outcome: outcome.clone() });
        }
        Ok(Move::Leave(id, outcome))
    }

    /// Stores what a command printed, cut where it is too long, if it fits the variable.
    fn keep(&mut self, step: &Step, parse: Parse, output: &str) -> Result<(), Unfit> {
        let Some((name, _)) = &step.store else { return Ok(()) };
        let workflow = self.workflow().map_err(|refusal| Unfit(refusal.to_string()))?;
        let Some(variable) = workflow.variable(name) else { return Ok(()) };
        let value = match parse {
            Parse::Text => {
                let (text, cut) = cut(output.trim(), variable.max_length);
                if cut > 0 {
                    self.emit(RunEvent::Cut { name: name.clone(), bytes: cut });
                }
                Json::String(text)
            }
            Parse::Lines => Json::Array(lines(output).into_iter().map(Json::String).collect()),
            Parse::Json => {
                serde_json::from_str(output).map_err(|error| Unfit(format!("it did not print JSON: {error}")))?
            }
        };
        let value =
            variable.kind.admit(value, variable.max_length).map_err(|unfit| Unfit(format!("`{name}`: {unfit}")))?;
        self.emit(RunEvent::Set { name: name.clone(), value });
        Ok(())
    }
}

/// How many bytes of a failed command's last output are kept.
const LAST_WORDS: usize = 4 * 1024;

/// Why a command counts as failed, with the last it said: what it complained of comes last.
fn complaint(code: i32, output: &str) -> String {
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
fn cut(text: &str, most: usize) -> (String, usize) {
    fit_bytes(text, most, |_| MARK.to_owned())
}
