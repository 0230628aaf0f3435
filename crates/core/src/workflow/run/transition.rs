//! Transitions of a run. The engine's own steps are taken until one must wait.

use serde_json::{Map, Value as Json};

use super::branches::branch_locals;
use super::evolve::apply_event;
use super::{
    CallFrame, DispatchChild, ExecutionProgress, InputRefusal, Run, RunDefinition, RunEnding, RunEvent, StepWait,
    ValueScope, command_spec, judge_gate,
};
use crate::workflow::definition::{
    AssignedValue, DispatchMode, DispatchStep, EndStatus, ForEach, MAX_DEPTH, ReviewStage, RouteTarget, StepWork,
    Variable, Workflow, WorkflowCall, WorkflowStep,
};
use crate::workflow::name::{Name, StepId, StepOutcome};
use crate::workflow::template::{FilledText, Template};
use crate::workflow::value_type::InvalidValue;

/// A run on its way, and what happened to it on the way.
pub(super) struct Transition<'d> {
    pub(super) definition: &'d RunDefinition,
    pub(super) run: Run,
    pub(super) events: Vec<RunEvent>,
    pub(super) now: i64,
}

/// What comes next.
pub(super) enum NextMove {
    /// It waits for something outside the engine.
    Wait,
    /// A step is entered.
    Enter(StepId),
    /// A step is left.
    Leave(StepId, StepOutcome),
    /// A step is left for a place that does not depend on its outcome.
    Go(StepId, StepOutcome, RouteTarget),
    /// The workflow ends.
    End(EndStatus, Option<String>),
}

impl<'d> Transition<'d> {
    pub(super) fn emit(&mut self, event: RunEvent) {
        apply_event(&mut self.run, &event);
        self.events.push(event);
    }

    pub(super) fn wait(&mut self, wait: StepWait) -> NextMove {
        self.emit(RunEvent::Waiting { wait });
        NextMove::Wait
    }

    pub(super) fn frame(&self) -> Result<&CallFrame, InputRefusal> {
        self.run.frame().ok_or(InputRefusal::NotStarted)
    }

    /// The workflow being walked through; it outlives every change of the run.
    pub(super) fn workflow(&self) -> Result<&'d Workflow, InputRefusal> {
        self.definition.workflow(&self.frame()?.workflow).ok_or(InputRefusal::OtherDefinition)
    }

    pub(super) fn step(&self, id: &StepId) -> Result<&'d WorkflowStep, InputRefusal> {
        self.workflow()?.step(id).ok_or(InputRefusal::OtherDefinition)
    }

    pub(super) fn scope(&self) -> Result<ValueScope<'_>, InputRefusal> {
        Ok(ValueScope::new(&self.run, self.frame()?, self.workflow()?))
    }

    pub(super) fn fill(&self, template: &Template) -> Result<String, InputRefusal> {
        let scope = self.scope()?;
        Ok(template.fill(&|reference| scope.get(reference)))
    }

    /// Continues until a step must wait, or the end.
    pub(super) fn proceed(&mut self, mut next: NextMove) -> Result<(), InputRefusal> {
        loop {
            next = match next {
                NextMove::Wait => return Ok(()),
                NextMove::Enter(step) => self.enter(&step)?,
                NextMove::Leave(step, outcome) => self.leave(&step, outcome)?,
                NextMove::Go(step, outcome, target) => {
                    self.emit_left(self.step(&step)?, outcome);
                    self.follow(&target)?
                }
                NextMove::End(status, message) => self.end(status, message)?,
            };
        }
    }

    /// Records that the run leaves a step.
    pub(super) fn emit_left(&mut self, step: &WorkflowStep, outcome: StepOutcome) {
        self.emit(RunEvent::Left { step: step.id.clone(), outcome, phase: step.phase.clone() });
    }

    fn enter(&mut self, id: &StepId) -> Result<NextMove, InputRefusal> {
        let step = self.step(id)?;
        let scope = self.scope()?;
        if step.when.as_ref().is_some_and(|when| !when.value.holds(&|reference| scope.get(reference))) {
            self.emit(RunEvent::Skipped { step: id.clone() });
            return Ok(NextMove::Leave(id.clone(), StepOutcome::SKIP));
        }
        let visits = self.frame()?.visits.get(id).copied().unwrap_or_default();
        if step.max_visits.is_some_and(|most| visits >= most) {
            return Ok(NextMove::Leave(id.clone(), StepOutcome::EXHAUSTED));
        }
        let phase = step.phase.clone();
        self.emit(RunEvent::Entered { step: id.clone(), visit: visits + 1, now: self.now, phase });
        self.begin(step)
    }

    pub(super) fn begin(&mut self, step: &'d WorkflowStep) -> Result<NextMove, InputRefusal> {
        if self.is_decomposed(step)? || self.is_verified(step)? {
            // What is to be checked is said once; saying it again would move the target. What passed is not judged twice.
            self.emit(RunEvent::Skipped { step: step.id.clone() });
            return Ok(NextMove::Leave(step.id.clone(), StepOutcome::OK));
        }
        if let Some(branches) = &step.branches {
            return self.begin_branches(step, branches);
        }
        match &step.work {
            StepWork::Agent(_) => {
                self.hand_over_items(step);
                Ok(self.wait(StepWait::Agent))
            }
            StepWork::Dispatch(dispatch) => self.dispatch(step, dispatch),
            StepWork::Command { action, setting, .. } => {
                let scope = self.scope()?;
                let ordered = command_spec::build_command(action, &scope, self.workflow()?);
                match ordered.and_then(|_| command_spec::build_context(setting, &scope)) {
                    Ok(_) => Ok(self.wait(StepWait::Command { attempt: 1, progress: ExecutionProgress::Ready })),
                    Err(reason) => self.accept_output(step, StepOutcome::FAIL, None, Some(reason)),
                }
            }
            StepWork::Output { template, data, source } => {
                let shown = self.shown(&template.0, data, source.as_ref().map(|(reference, _)| reference))?;
                self.emit_shown(step, shown);
                Ok(NextMove::Leave(step.id.clone(), StepOutcome::OK))
            }
            StepWork::Question(question) => self.ask(step, question),
            StepWork::Conditional { cases, otherwise } => {
                let scope = self.scope()?;
                let holds = |case: &&crate::workflow::definition::ConditionalCase| {
                    case.when.value.holds(&|name| scope.get(name))
                };
                let (word, route) = match cases.iter().find(holds) {
                    Some(case) => (case.when.text.as_str(), Some(&case.next)),
                    None => ("else", otherwise.as_ref()),
                };
                let target = route.map(|route| route.target.clone()).ok_or(InputRefusal::OtherDefinition)?;
                Ok(NextMove::Go(step.id.clone(), StepOutcome::new(word), target))
            }
            StepWork::Set(values) => self.set(step, values),
            StepWork::Gate(gate) => self.enter_gate(step, gate),
            StepWork::Call(call) => self.call(step, call, None),
            StepWork::End { status, message } => {
                let message = message.as_ref().map(|message| self.fill(&message.value)).transpose()?;
                self.emit_left(step, StepOutcome::new(status.as_str()));
                Ok(NextMove::End(*status, message))
            }
        }
    }

    fn is_decomposed(&self, step: &WorkflowStep) -> Result<bool, InputRefusal> {
        let Some(part) = step.work.review().filter(|part| part.part == ReviewStage::Decompose) else {
            return Ok(false);
        };
        Ok(self.frame()?.reviews.get(&part.review).is_some_and(|items| !items.is_empty()))
    }

    /// Whether a step would judge items of a review of which none is open.
    fn is_verified(&self, step: &WorkflowStep) -> Result<bool, InputRefusal> {
        let Some(part) = step.work.review().filter(|part| part.part == ReviewStage::Verify) else { return Ok(false) };
        let items = self.frame()?.reviews.get(&part.review).map_or(&[][..], Vec::as_slice);
        let none_open = !items.is_empty() && items.iter().all(|item| item.status != super::ReviewItemStatus::Todo);
        Ok(none_open && step.route(&StepOutcome::OK).is_some())
    }

    fn leave(&mut self, id: &StepId, outcome: StepOutcome) -> Result<NextMove, InputRefusal> {
        let step = self.step(id)?;
        if let Some(again) = self.try_again(step, &outcome)? {
            return Ok(again);
        }
        self.emit_left(step, outcome.clone());
        let target = match (step.route(&outcome), step.route(&StepOutcome::OK)) {
            (Some(target), _) => target.clone(),
            (None, Some(target)) if step.optional => {
                self.emit(RunEvent::Tolerated { step: id.clone(), outcome });
                target.clone()
            }
            (None, _) => {
                let message = format!("`{id}` ended with `{outcome}`, which has no route");
                return Ok(NextMove::End(EndStatus::Failure, Some(message)));
            }
        };
        self.follow(&target)
    }

    fn follow(&mut self, target: &RouteTarget) -> Result<NextMove, InputRefusal> {
        let most = self.workflow()?.max_transitions;
        match target {
            RouteTarget::End => Ok(NextMove::End(EndStatus::Success, None)),
            RouteTarget::Step(id) if self.frame()?.transitions >= most => {
                let message = format!("the limit of {most} transitions is reached before `{id}`");
                Ok(NextMove::End(EndStatus::Failure, Some(message)))
            }
            RouteTarget::Step(id) => Ok(NextMove::Enter(id.clone())),
        }
    }

    /// Ends the workflow being walked through, and the run if no other workflow called it.
    fn end(&mut self, status: EndStatus, message: Option<String>) -> Result<NextMove, InputRefusal> {
        let (status, message) = self.check_end_status(status, message)?;
        if let Some(last) = self.begin_last_part(status, message.as_deref())? {
            return Ok(last);
        }
        if self.is_canceled_here() {
            return self.cancel_caller();
        }
        let (status, message) = self.settle_ending(status, message)?;
        let outputs = self.outputs()?;
        if self.run.frames.len() == 1 {
            self.emit(RunEvent::Ended { ending: RunEnding { status, message, outputs } });
            return Ok(NextMove::Wait);
        }
        self.emit(RunEvent::Returned { status, message: message.clone(), outputs: outputs.clone() });
        let position = self.run.position().ok_or(InputRefusal::OtherDefinition)?;
        let step = self.step(&position.step)?;
        if step.branches.is_some() {
            return self.branch_returned(step, None, status.outcome(), message, outputs);
        }
        Ok(NextMove::Leave(step.id.clone(), status.outcome()))
    }

    /// Nothing ends well while the last execution of a check did not.
    fn check_end_status(
        &self,
        status: EndStatus,
        message: Option<String>,
    ) -> Result<(EndStatus, Option<String>), InputRefusal> {
        let own = format!("{}:", self.frame()?.check_owner());
        let counts = |check: &str| self.run.frames.len() == 1 || check.starts_with(&own);
        let red = self.run.checks.iter().find(|(check, outcome)| counts(check) && **outcome != StepOutcome::OK);
        match red {
            Some((check, outcome)) if status == EndStatus::Success => {
                let step = check.rsplit(':').next().unwrap_or(check);
                let message = format!("the check `{step}` ended with `{outcome}` when it was last executed");
                Ok((EndStatus::Failure, Some(message)))
            }
            _ => Ok((status, message)),
        }
    }

    fn outputs(&self) -> Result<Map<String, Json>, InputRefusal> {
        let scope = self.scope()?;
        let outputs = &self.workflow()?.outputs;
        Ok(outputs.iter().map(|(name, value)| (name.to_string(), value.value.value(&|name| scope.get(name)))).collect())
    }

    fn shown(
        &self,
        template: &Name,
        data: &[(Name, crate::workflow::definition::PlacedValue<Template>)],
        source: Option<&crate::workflow::template::ValueReference>,
    ) -> Result<FilledText, InputRefusal> {
        let scope = self.scope()?;
        let mut locals = match source.map(|source| scope.get(source).into_owned()) {
            Some(Json::Object(map)) => map,
            _ => Map::new(),
        };
        for (name, value) in data {
            locals.insert(name.to_string(), value.value.value(&|name| scope.get(name)));
        }
        let template = self.workflow()?.templates.get(template).ok_or(InputRefusal::OtherDefinition)?;
        let scope = scope.with(&locals);
        Ok(template.value.fill_text(&|reference| scope.get(reference)))
    }

    fn emit_shown(&mut self, step: &WorkflowStep, shown: FilledText) {
        let FilledText { text, authored } = shown;
        self.emit(RunEvent::Shown { step: step.id.clone(), text, authored });
    }

    fn set(
        &mut self,
        step: &WorkflowStep,
        values: &[(Name, crate::yaml::SourcePosition, AssignedValue)],
    ) -> Result<NextMove, InputRefusal> {
        for (name, _, value) in values {
            let value = self.assigned(value)?;
            let Some(variable) = self.workflow()?.variable(name) else { return Err(InputRefusal::OtherDefinition) };
            match variable.admit(value) {
                Ok(value) => self.emit(RunEvent::Set { name: name.clone(), value }),
                Err(reason) => {
                    let message = format!("`{}` cannot set `{name}`: {reason}", step.id);
                    self.emit_left(step, StepOutcome::FAIL);
                    return Ok(NextMove::End(EndStatus::Failure, Some(message)));
                }
            }
        }
        Ok(NextMove::Leave(step.id.clone(), StepOutcome::OK))
    }

    pub(super) fn assigned(&self, value: &AssignedValue) -> Result<Json, InputRefusal> {
        Ok(value_in(value, &self.scope()?))
    }

    /// Calls a workflow, for a branch where the step has branches.
    pub(super) fn call(
        &mut self,
        step: &'d WorkflowStep,
        call: &WorkflowCall,
        branch: Option<usize>,
    ) -> Result<NextMove, InputRefusal> {
        let name = &call.workflow.0;
        let callee = self.definition.workflow(name).ok_or(InputRefusal::OtherDefinition)?;
        let mut given = Map::new();
        let child = branch.and_then(|branch| self.frame().ok()?.branches().get(branch));
        let locals = child.map(branch_locals).unwrap_or_default();
        let scope = self.scope()?.with(&locals);
        for (param, _, value) in &call.with {
            given.insert(param.to_string(), value_in(value, &scope));
        }
        let admitted = match params(&callee.params, given) {
            Ok(_) if self.run.frames.len() >= MAX_DEPTH => Err(format!("workflows call each other {MAX_DEPTH} deep")),
            admitted => admitted.map_err(|refusal| refusal.to_string()),
        };
        let params = match admitted {
            Ok(params) => params,
            Err(reason) if branch.is_some() => {
                return self.branch_returned(step, branch, StepOutcome::FAIL, Some(reason), Map::new());
            }
            Err(reason) => return self.accept_output(step, StepOutcome::FAIL, None, Some(reason)),
        };
        if branch.is_none() {
            self.emit(RunEvent::Waiting { wait: StepWait::Callee });
        }
        self.emit(RunEvent::Called { workflow: name.clone(), params, variables: defaults(&callee.variables), branch });
        Ok(NextMove::Enter(callee.start.clone()))
    }

    fn dispatch(&mut self, step: &WorkflowStep, dispatch: &DispatchStep) -> Result<NextMove, InputRefusal> {
        let children = self.sub_agents(dispatch)?;
        if children.is_empty() {
            return Ok(NextMove::Leave(step.id.clone(), StepOutcome::OK));
        }
        Ok(self.wait(StepWait::Children(children)))
    }

    fn sub_agents(&self, dispatch: &DispatchStep) -> Result<Vec<DispatchChild>, InputRefusal> {
        let scope = self.scope()?;
        let (items, group) = match &dispatch.mode {
            DispatchMode::Single => return Ok(vec![DispatchChild::new(0, self.failed(dispatch)?)]),
            DispatchMode::Roster(entries) => {
                let fill = |template: &Template| template.value(&|reference| scope.get(reference));
                let entries = entries.iter().map(|entry| {
                    Json::Object(
                        entry.values.iter().map(|(name, value)| (name.to_string(), fill(&value.value))).collect(),
                    )
                });
                (entries.collect(), 1)
            }
            DispatchMode::Template { items: ForEach::List(reference, _), group } => {
                match scope.get(reference).into_owned() {
                    Json::Array(items) => (items, *group),
                    _ => (Vec::new(), *group),
                }
            }
            DispatchMode::Template { items: ForEach::Open(review, _), group } => {
                let items = self.frame()?.reviews.get(review).map_or(&[][..], Vec::as_slice);
                let open = items.iter().filter(|item| item.status == super::ReviewItemStatus::Todo);
                (open.map(super::ReviewItem::json_for_review).collect(), *group)
            }
        };
        let groups = items.chunks(group).enumerate();
        Ok(groups.map(|(index, items)| DispatchChild::new(index, items.to_vec())).collect())
    }

    /// The items that the fixing step has to fix.
    fn failed(&self, dispatch: &DispatchStep) -> Result<Vec<Json>, InputRefusal> {
        let Some(part) = dispatch.review.as_ref().filter(|part| part.part == ReviewStage::Fix) else {
            return Ok(Vec::new());
        };
        let items = self.frame()?.reviews.get(&part.review).map_or(&[][..], Vec::as_slice);
        let failed = items.iter().filter(|item| item.status == super::ReviewItemStatus::Fail);
        Ok(failed.map(super::ReviewItem::json_for_fix).collect())
    }

    fn enter_gate(
        &mut self,
        step: &WorkflowStep,
        gate: &crate::workflow::definition::Gate,
    ) -> Result<NextMove, InputRefusal> {
        let frame = self.frame()?;
        let verdict = judge_gate(&self.run, frame, &step.id, gate);
        let granted = frame.rounds.get(&step.id).map_or(0, |rounds| rounds.granted);
        let last = verdict.round >= gate.max_rounds.saturating_add(granted);
        let outcome = if verdict.passes() { StepOutcome::PASS } else { StepOutcome::FAIL };
        let (round, reasons) = (verdict.round, verdict.reasons());
        self.emit(RunEvent::Judged { gate: step.id.clone(), round, outcome: outcome.clone(), reasons });
        if outcome == StepOutcome::FAIL && last {
            return Ok(self.wait(StepWait::Decision));
        }
        if let (Some(message), true) = (&gate.pass_message, outcome == StepOutcome::PASS) {
            let scope = self.scope()?;
            let shown = message.value.fill_text(&|reference| scope.get(reference));
            self.emit_shown(step, shown);
        }
        Ok(NextMove::Leave(step.id.clone(), outcome))
    }
}

/// What is written, with the names in it filled.
fn value_in(value: &AssignedValue, scope: &ValueScope<'_>) -> Json {
    match value {
        AssignedValue::Literal(value) => value.clone(),
        AssignedValue::Text(template) => template.value.value(&|reference| scope.get(reference)),
    }
}

/// What a workflow remembers from the beginning.
pub(super) fn defaults(variables: &[Variable]) -> Map<String, Json> {
    let value = |variable: &Variable| Some((variable.name.to_string(), variable.default.clone()?));
    variables.iter().filter_map(value).collect()
}

/// What a workflow is started with, or what does not fit.
pub(super) fn params(declared: &[Variable], mut given: Map<String, Json>) -> Result<Map<String, Json>, InputRefusal> {
    let refuse = |name: &str, reason: InvalidValue| InputRefusal::Value { name: name.to_owned(), reason };
    // A misspelled name explains a missing one, so it comes first.
    let is_unknown = |name: &&String| declared.iter().all(|param| param.name.as_str() != name.as_str());
    let misspelled = given.keys().filter(is_unknown).map(|unknown| {
        let known = declared.iter().map(|param| param.name.as_str());
        let reason = match crate::closest_word::closest(unknown, known) {
            Some(close) => format!("there is no such parameter; did you mean `{close}`?"),
            None => "there is no such parameter".to_owned(),
        };
        refuse(unknown, InvalidValue(reason))
    });
    let mut unfit: Vec<InputRefusal> = misspelled.collect();
    let mut admitted = Map::new();
    for param in declared {
        let name = param.name.as_str();
        // What another workflow has not written yet is not given.
        let value = match given.remove(name).filter(|value| !value.is_null()) {
            Some(value) => param.admit(value),
            None => match &param.default {
                Some(default) => Ok(default.clone()),
                None if param.required => Err(InvalidValue("required, but not given".into())),
                None => Ok(param.kind.empty()),
            },
        };
        match value {
            Ok(value) => drop(admitted.insert(name.to_owned(), value)),
            Err(reason) => unfit.push(refuse(name, reason)),
        }
    }
    InputRefusal::none_of(unfit)?;
    Ok(admitted)
}
