//! Further attempts at a step that did not go well.

use serde_json::{Map, Value as Json};

use super::transition::{NextMove, Transition};
use super::{DispatchChild, ERROR, FAILURE, InputRefusal, RunEvent, StepAttempt, StepWait};
use crate::workflow::definition::WorkflowStep;
use crate::workflow::name::StepOutcome;

impl<'d> Transition<'d> {
    /// The next attempt at a step that ended so, if there is one. Sub-agents that went well are not started again.
    pub(super) fn try_again(
        &mut self,
        step: &'d WorkflowStep,
        outcome: &StepOutcome,
    ) -> Result<Option<NextMove>, InputRefusal> {
        let Some(retry) = step.retry.as_ref().filter(|retry| retry.on.iter().any(|(on, _)| on == outcome)) else {
            return Ok(None);
        };
        let failed = self.frame()?.attempts.get(&step.id).map_or(0, |attempt| attempt.failed);
        let Some(wait) = self.run.position().filter(|position| position.step == step.id).map(|at| at.wait.clone())
        else {
            return Ok(None);
        };
        if failed >= retry.max {
            return Ok(None);
        }
        let feedback = match &retry.feedback {
            Some(feedback) => Some(self.fill(&feedback.value)?),
            None => self.last_words(step, &wait)?,
        };
        let attempt = StepAttempt { failed: failed + 1, outcome: outcome.clone(), feedback };
        self.emit(RunEvent::Retried { step: step.id.clone(), attempt, now: self.now });
        match wait {
            StepWait::Children(children) => {
                let again = |child: DispatchChild| match child.outcome {
                    Some(ref outcome) if *outcome == StepOutcome::OK => child,
                    _ => DispatchChild { outcome: None, result: Map::new(), call: None, ..child },
                };
                self.emit(RunEvent::Waiting { wait: StepWait::Children(children.into_iter().map(again).collect()) });
                self.continue_branches(step).map(Some)
            }
            _ => self.begin(step).map(Some),
        }
    }

    /// What is known of why an attempt did not go well.
    fn last_words(&self, step: &WorkflowStep, wait: &StepWait) -> Result<Option<String>, InputRefusal> {
        if let StepWait::Children(children) = wait {
            let failed = children.iter().filter(|child| child.outcome.as_ref() == Some(&StepOutcome::FAIL));
            let reasons =
                failed.filter_map(|child| Some(format!("{}: {}", child.name, child.result.get(FAILURE)?.as_str()?)));
            let reasons: Vec<String> = reasons.collect();
            return Ok(Some(reasons.join("\n")).filter(|text| !text.is_empty()));
        }
        let result = self.frame()?.results.get(&step.id);
        Ok(result.and_then(|result| result.get(ERROR)).and_then(Json::as_str).map(str::to_owned))
    }
}
