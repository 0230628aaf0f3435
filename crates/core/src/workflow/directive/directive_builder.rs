//! Construction of a directive from a definition and a run.

use serde_json::{Map, Value as Json, json};

use super::step_text::{StepText, fields_schema};
use super::{Directive, DirectiveText, DispatchInfo, FinishedRun, FinishedStatus, QuestionInfo, RoundMode, StepRound};
use crate::workflow::definition::{
    AgentStep, DispatchMode, DispatchStep, EndStatus, Gate, PlacedValue, ROLES, ReviewStage, RouteTarget, StepWork,
    SubagentTask, Workflow, WorkflowStep,
};
use crate::workflow::name::{Name, StepId, StepOutcome};
use crate::workflow::run::{
    AskedQuestion, CallFrame, DispatchChild, ERROR, PendingEffect, PersonItemKind, PersonItemState, RecoveryChoice,
    ReviewItem, ReviewItemStatus, Run, RunDefinition, RunStatus, StepVisit, StepWait, Ticket, ValueScope, does_work,
    pending_effects, reviews,
};
use crate::workflow::template::{FilledText, Template, TextSpan};

/// What a directive needs to know beside the run.
#[derive(Debug, Clone, Copy)]
pub struct DirectiveContext<'c> {
    /// The run's id.
    pub run: &'c str,
    /// The program that reports, as it is called here.
    pub program: &'c str,
}

/// What to do now; `None` while the engine or a command is at work, or when the run is over.
pub fn build_directive(definition: &RunDefinition, run: &Run, context: DirectiveContext<'_>) -> Option<Directive> {
    let effects = pending_effects(definition, run);
    let (frame, position, workflow, step) = run.current(definition)?;
    let builder = DirectiveBuilder {
        definition,
        run,
        frame,
        position,
        workflow,
        step,
        context,
        scope: ValueScope::new(run, frame, workflow),
    };
    match effects.first()? {
        PendingEffect::Instruct { ticket, .. } => match &step.work {
            StepWork::Agent(agent) => Some(builder.agent(agent, ticket)),
            _ => None,
        },
        PendingEffect::Delegate { .. } => match (&step.work, &position.wait) {
            (StepWork::Dispatch(dispatch), StepWait::Children(children)) => builder.dispatch(dispatch, children),
            _ => None,
        },
        PendingEffect::Ask { ticket, prompt, asked, .. } => Some(builder.question(ticket, prompt.clone(), asked)),
        PendingEffect::Consent { ticket, .. } => Some(builder.consent(ticket)),
        PendingEffect::Execute { .. } | PendingEffect::Await { .. } => None,
    }
}

/// What is said of a run that is over.
pub fn finished_run(run: &Run, context: DirectiveContext<'_>) -> Option<FinishedRun> {
    let (status, outcome, outputs) = match &run.status {
        RunStatus::Ended(ending) => {
            let status =
                if ending.status == EndStatus::Success { FinishedStatus::Completed } else { FinishedStatus::Failed };
            (status, Some(ending.status), ending.outputs.clone())
        }
        RunStatus::Cancelled => (FinishedStatus::Cancelled, None, Map::new()),
        RunStatus::New | RunStatus::Active | RunStatus::Paused => return None,
    };
    let accepted_risks = run.accepted_risks.clone();
    Some(FinishedRun { run: context.run.to_owned(), status, outcome, outputs, accepted_risks })
}

/// How much is shown of a gate that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum RefusalDetail {
    /// Its reasons.
    Reasons,
    /// Its reasons, and what the failed checks printed.
    ReasonsAndLogs,
}

struct DirectiveBuilder<'b> {
    definition: &'b RunDefinition,
    run: &'b Run,
    frame: &'b CallFrame,
    position: &'b StepVisit,
    workflow: &'b Workflow,
    step: &'b WorkflowStep,
    context: DirectiveContext<'b>,
    scope: ValueScope<'b>,
}

impl DirectiveBuilder<'_> {
    /// What every directive has, and the instructions of an agent.
    fn plain(&self, ticket: &Ticket, agent: Option<&AgentStep>) -> Directive {
        let value = |template: &PlacedValue<Template>| template.value.value(&|reference| self.scope.get(reference));
        let authored = |template: &PlacedValue<Template>| self.fill_text(&template.value).authored;
        let (workflow, step) = (self.workflow, self.step);
        let text = StepText { workflow, step, text: &|text| self.fill(text), authored: &authored, value: &value };
        let (run, ticket) = (self.context.run.to_owned(), ticket.clone());
        let mut directive = Directive { run, ticket, ..text.directive(self.round()) };
        (directive.step.number, directive.step.total) = self.workflow.place_of_work(&self.step.id);
        directive.progress.first = self.is_first();
        directive.progress.visited = self.frame.visits.len();
        directive.progress.transitions = self.frame.transitions;
        match agent {
            Some(agent) => text.instruct(&mut directive, agent),
            None => directive.result = text.result(&[]),
        }
        directive
    }

    /// Whether all steps before this one were the engine's own.
    fn is_first(&self) -> bool {
        let silent = |frame: &CallFrame, id: &StepId| {
            let active = frame.position.as_ref().is_some_and(|position| position.step == *id);
            let step = self.definition.workflow(&frame.workflow).and_then(|workflow| workflow.step(id));
            step.is_some_and(|step| match step.work {
                StepWork::Command { .. }
                | StepWork::Output { .. }
                | StepWork::Conditional { .. }
                | StepWork::Set(_) => true,
                // A workflow that was called and has ended may have issued directives.
                StepWork::Call(_) => active,
                _ => active && frame.visits.get(id) == Some(&1),
            })
        };
        self.run.frames.iter().all(|frame| frame.visits.keys().all(|id| silent(frame, id)))
    }

    fn fill(&self, template: &PlacedValue<Template>) -> String {
        self.fill_text(&template.value).text
    }

    fn fill_text(&self, template: &Template) -> FilledText {
        template.fill_text(&|reference| self.scope.get(reference))
    }

    /// The round of a review's gate, or else the visit.
    fn round(&self) -> StepRound {
        let own = match (&self.step.work, self.step.work.review()) {
            (StepWork::Gate(gate), _) => gate.review.as_ref().map(|(name, _)| (name, None)),
            (_, Some(part)) => Some((&part.review, Some(part.part))),
            _ => None,
        };
        let (visit, limit) = (self.position.visit, self.step.max_visits);
        let by_visit = StepRound { number: visit, limit, mode: RoundMode::Initial, review: None };
        let Some((review, part)) = own else { return by_visit };
        let judges = |step: &&WorkflowStep| matches!(&step.work, StepWork::Gate(Gate { review: Some((name, _)), .. }) if name == review);
        let gate = self.workflow.steps.iter().find(judges);
        let rounds = gate.and_then(|gate| self.frame.rounds.get(&gate.id)).copied().unwrap_or_default();
        let limit = gate.and_then(|gate| match &gate.work {
            StepWork::Gate(gate) => Some(gate.max_rounds + rounds.granted),
            _ => None,
        });
        // While the user decides, the round that failed is still the one at hand.
        let number = if self.position.wait == StepWait::Decision { rounds.done } else { rounds.done + 1 };
        // In the first round there is nothing to fix yet.
        if number == 1 && part == Some(ReviewStage::Fix) {
            return by_visit;
        }
        let mode = match (number, part) {
            (1, _) => RoundMode::Initial,
            (_, Some(ReviewStage::Fix)) => RoundMode::ReVerify,
            _ => RoundMode::FreshReview,
        };
        StepRound { number, limit, mode, review: Some(review.clone()) }
    }

    fn agent(&self, agent: &AgentStep, ticket: &Ticket) -> Directive {
        let mut directive = self.plain(ticket, Some(agent));
        directive.data.extend(self.review_items());
        directive.data.extend(self.refusal(RefusalDetail::ReasonsAndLogs));
        directive.data.extend(self.comments());
        directive.data.extend(self.messages());
        directive.data.extend(self.attempt());
        directive.outcomes = if agent.outcome_from.is_empty() { agent.outcomes.clone() } else { Vec::new() };
        directive.report = self.report(ticket, &directive.outcomes);
        if !directive.result.is_empty() {
            directive.report.extend(["--result-file".to_owned(), "-".to_owned()]);
        }
        directive
    }

    /// The items a step of a review works on: what failed for a fix, what is open, without old verdicts, for a look.
    fn review_items(&self) -> Option<(String, Json)> {
        let part = self.step.work.review()?;
        let items = self.frame.reviews.get(&part.review)?;
        let shown: Vec<Json> = match part.part {
            ReviewStage::Decompose => return None,
            ReviewStage::Verify => items
                .iter()
                .filter(|item| item.status == ReviewItemStatus::Todo)
                .map(ReviewItem::json_for_review)
                .collect(),
            ReviewStage::Fix => items
                .iter()
                .filter(|item| item.status == ReviewItemStatus::Fail)
                .map(ReviewItem::json_for_fix)
                .collect(),
        };
        (!shown.is_empty()).then(|| ("items".to_owned(), Json::Array(shown)))
    }

    /// What people said about the work: to fix, or to look at.
    fn comments(&self) -> Option<(String, Json)> {
        let (name, state) = if does_work(self.step) {
            ("comments", PersonItemState::Delivered)
        } else if reviews(self.step) {
            ("comments_to_verify", PersonItemState::Fixed)
        } else {
            return None;
        };
        Some((name.to_owned(), Json::String(self.run.items_text(PersonItemKind::Comment, state)?)))
    }

    /// What people said to the agent of this step before it began.
    fn messages(&self) -> Option<(String, Json)> {
        let text = self.run.items_text(PersonItemKind::Message, PersonItemState::Delivered)?;
        Some(("messages_from_the_user".to_owned(), Json::String(text)))
    }

    /// Why the gate that sent the run here failed: its reasons, and the output of the failed checks. It is the same for
    /// every caller, as long as the gate has not passed.
    fn refusal(&self, detail: RefusalDetail) -> Option<(String, Json)> {
        let here = RouteTarget::Step(self.step.id.clone());
        let is_fixed_here = |gate: &Gate| {
            let review = gate.review.as_ref().map(|(name, _)| name);
            self.step.work.review().is_some_and(|part| part.part == ReviewStage::Fix && Some(&part.review) == review)
        };
        let mut gates = self.workflow.steps.iter().filter_map(|step| match &step.work {
            StepWork::Gate(gate) => Some((step, gate)),
            _ => None,
        });
        let (step, gate) = gates.find(|(step, gate)| {
            let sent = step.route(&StepOutcome::FAIL) == Some(&here) || is_fixed_here(gate);
            sent && self.frame.refusals.contains_key(&step.id)
        })?;
        let reasons = self.frame.refusals.get(&step.id)?;
        let said = gate.checks.iter().filter_map(|check| {
            let error = self.frame.results.get(&check.step)?.get(ERROR)?.as_str().filter(|error| !error.is_empty())?;
            Some((check.step.to_string(), json!(error)))
        });
        let checks: Map<String, Json> = said.collect();
        let mut told = Map::from_iter([("reasons".to_owned(), json!(reasons))]);
        if !checks.is_empty() && detail == RefusalDetail::ReasonsAndLogs {
            told.insert("checks".to_owned(), Json::Object(checks));
        }
        Some(("gate".to_owned(), Json::Object(told)))
    }

    /// Why the step is tried again, if it is.
    fn attempt(&self) -> Option<(String, Json)> {
        let attempt = self.frame.attempts.get(&self.step.id)?;
        let most = self.step.retry.as_ref().map_or(attempt.failed, |retry| retry.max) + 1;
        let mut told = json!({ "attempt": attempt.failed + 1, "of": most, "last": attempt.outcome });
        if let (Some(feedback), Some(told)) = (&attempt.feedback, told.as_object_mut()) {
            told.insert("feedback".to_owned(), json!(feedback));
        }
        Some(("retry".to_owned(), told))
    }

    fn report(&self, ticket: &Ticket, outcomes: &[StepOutcome]) -> Vec<String> {
        let outcome = match outcomes {
            [] => None,
            [one] => Some(one.to_string()),
            _ => Some("OUTCOME".to_owned()),
        };
        let mut argv = self.command("report", ticket);
        argv.extend(outcome.into_iter().flat_map(|outcome| ["--outcome".to_owned(), outcome]));
        argv
    }

    fn command(&self, verb: &str, ticket: &Ticket) -> Vec<String> {
        let words = [self.context.program, "workflow", verb, self.context.run, "--ticket", ticket.as_str()];
        words.map(str::to_owned).to_vec()
    }

    fn dispatch(&self, dispatch: &DispatchStep, children: &[DispatchChild]) -> Option<Directive> {
        let own = self.run.ticket()?;
        let mut directive = self.plain(&own, None);
        let has_own = |(index, _): (usize, &DispatchChild)| dispatch.has_own_result(index);
        if !children.iter().enumerate().all(has_own) {
            directive.result.extend(fields_schema(&dispatch.result));
        }
        directive.outcomes = vec![StepOutcome::OK, StepOutcome::FAIL];
        // The agent that gives the work out needs the reasons; the output of the checks is for those who do it.
        directive.data.extend(self.refusal(RefusalDetail::Reasons));
        directive.data.extend(self.attempt());
        let open = children.iter().enumerate().filter(|(_, child)| child.outcome.is_none());
        for (index, child) in open.take(dispatch.max_parallel.unwrap_or(usize::MAX)) {
            let Some((dispatch, authored)) = self.child(dispatch, index, child) else { continue };
            directive.add_authored(DirectiveText::Prompt(directive.dispatches.len()), authored);
            directive.dispatches.push(dispatch);
        }
        directive.report = [self.context.program, "workflow", "next", self.context.run].map(str::to_owned).to_vec();
        Some(directive)
    }

    /// The instructions of a sub-agent, and what of its prompt the author wrote.
    fn child(
        &self,
        dispatch: &DispatchStep,
        index: usize,
        child: &DispatchChild,
    ) -> Option<(DispatchInfo, Vec<TextSpan>)> {
        let ticket = self.run.child_ticket(index, child)?;
        // Where each gets one item, that is the item itself; where it may be several, they are a list.
        let alone = matches!(dispatch.mode, DispatchMode::Roster(_) | DispatchMode::Template { group: 1, .. });
        let item = match child.items.as_slice() {
            [] => Json::Null,
            [one] if alone => one.clone(),
            items => Json::Array(items.to_vec()),
        };
        let locals = Map::from_iter([("item".to_owned(), item)]);
        let scope = self.scope.with(&locals);
        let (prompt, workflow) = match &dispatch.task {
            SubagentTask::Prompt(prompt) => (Some(prompt.value.fill_text(&|reference| scope.get(reference))), None),
            SubagentTask::Call(name, _) => (None, Some(name.clone())),
        };
        let (prompt, authored) = prompt.map(|filled| (filled.text, filled.authored)).unzip();
        let with =
            dispatch.with.iter().map(|(name, value)| (name.to_string(), value.value.value(&|name| scope.get(name))));
        let report = match &dispatch.task {
            SubagentTask::Prompt(_) => {
                let mut report = self.report(&ticket, &[StepOutcome::OK, StepOutcome::FAIL]);
                report.extend(["--result-file".to_owned(), "-".to_owned()]);
                report
            }
            // The walk it begins reports by itself when it ends.
            SubagentTask::Call(name, _) => {
                let words = [self.context.program, "workflow", "start", name, "--parent", self.context.run, "--ticket"];
                words.into_iter().chain([ticket.as_str()]).map(str::to_owned).collect()
            }
        };
        let entry = dispatch.entry(index);
        let is_role = |name: &Name| self.workflow.roles.contains_key(name) || ROLES.contains(&name.as_str());
        let own = entry.and_then(|entry| entry.role.as_ref()).filter(|(name, _)| is_role(name));
        let role = own.or(dispatch.role.as_ref()).map(|(name, _)| name.clone());
        let agent = entry.and_then(|entry| entry.agent.as_ref()).map(|agent| self.fill(agent));
        let declared = role.as_ref().and_then(|role| self.workflow.roles.get(role));
        let info = DispatchInfo {
            ticket,
            child: child.name.clone(),
            model: declared.and_then(|role| role.model.clone()),
            role,
            prompt,
            workflow,
            with: with.collect(),
            items: child.items.clone(),
            agent: agent.filter(|agent| !agent.trim().is_empty()),
            result: entry.map(|entry| fields_schema(&entry.result)).unwrap_or_default(),
            free_form: dispatch.free_form,
            report,
        };
        Some((info, authored.unwrap_or_default()))
    }

    fn question(&self, ticket: &Ticket, prompt: String, asked: &AskedQuestion) -> Directive {
        let mut directive = self.plain(ticket, None);
        let own = match &self.step.work {
            StepWork::Question(question) => Some(question),
            _ => None,
        };
        directive.question = Some(QuestionInfo {
            prompt,
            options: asked.options.clone(),
            titles: asked.titles.clone(),
            default: own.and_then(|question| question.default.as_ref()).map(|default| self.fill(default)),
            multiple: own.is_some_and(|question| question.multiple),
            refused: asked.refused.clone(),
        });
        if let (Some(question), true) = (own, matches!(self.position.wait, StepWait::Answer(_))) {
            directive.add_authored(DirectiveText::Question, self.fill_text(&question.prompt.value).authored);
        }
        directive.report = self.command("answer", ticket);
        directive.report.push("ANSWER".to_owned());
        directive
    }

    fn consent(&self, ticket: &Ticket) -> Directive {
        let options = RecoveryChoice::ALL.map(|choice| choice.as_str().to_owned()).to_vec();
        let what = match &self.step.work {
            StepWork::Command { action, .. } => action.command_line(),
            _ => self.step.title.clone(),
        };
        let prompt = format!(
            "The executor of `{what}` at `{}` is gone; it is unknown whether it was done. Check, then answer:\n\
             again: it was not done, run it (again)\n\
             done: it was done, continue\n\
             abort: end the run",
            self.step.title
        );
        self.question(ticket, prompt, &AskedQuestion { options: Some(options), ..AskedQuestion::default() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workflow::load::{LoadEnvironment, load_workflow};
    use crate::workflow::run::{RunInput, decide, evolve};

    #[test]
    fn an_agent_is_told_the_limits_of_its_result_before_it_is_refused() {
        let text = "name: w\nreviews: {r: {max_items: 7}}\nsteps:\n- {id: a, type: agent, review: {name: r, part: decompose}, result: {short: {type: string, max_length: 200}, long: string}, next: {ok: b, fail: end}}\n- {id: b, type: agent, review: {name: r, part: verify}, next: {ok: end, fail: end}}\n";
        let definition = RunDefinition::alone(load_workflow(text, &LoadEnvironment::none()).0.unwrap());
        let start = RunInput::Start { params: Map::new(), context: Map::new(), seed: 1, now: 0 };
        let events = decide(&definition, &Run::default(), start).unwrap();
        let run = events.iter().fold(Run::default(), evolve);
        let told = build_directive(&definition, &run, DirectiveContext { run: "r1", program: "maestro" }).unwrap();
        assert_eq!(
            Json::Object(told.result),
            json!({
                "short": {"type": "string", "max_length": 200},
                "long": {"type": "string"},
                "items": {
                    "type": "list",
                    "max_items": 7,
                    "description": "each {id, scope, check, severity: MUST|SHOULD|COULD}",
                },
            })
        );
    }
}
