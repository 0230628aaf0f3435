//! Transitions of a run. The engine's own steps are taken until one must wait.

use serde_json::{Map, Value as Json};

use super::evolve::apply;
use super::{Child, Definition, Ending, Frame, Progress, Refusal, Run, RunEvent, Scope, Wait, arguments, judge};
use crate::workflow::definition::{
    Assigned, Call, Dispatch, EndStatus, ForEach, MAX_DEPTH, Mode, Part, Step, Target, Variable, Work, Workflow,
};
use crate::workflow::name::{Name, Outcome, StepId};
use crate::workflow::template::Template;
use crate::workflow::value::Unfit;

/// A run on its way, and what happened to it on the way.
pub(super) struct Walk<'d> {
    pub(super) definition: &'d Definition,
    pub(super) run: Run,
    pub(super) events: Vec<RunEvent>,
    pub(super) now: i64,
}

/// What comes next.
pub(super) enum Move {
    /// It waits for something outside the engine.
    Wait,
    /// A step is entered.
    Enter(StepId),
    /// A step is left.
    Leave(StepId, Outcome),
    /// A step is left for a place that does not depend on its outcome.
    Go(StepId, Outcome, Target),
    /// The workflow ends.
    End(EndStatus, Option<String>),
}

impl<'d> Walk<'d> {
    pub(super) fn emit(&mut self, event: RunEvent) {
        apply(&mut self.run, &event);
        self.events.push(event);
    }

    pub(super) fn wait(&mut self, wait: Wait) -> Move {
        self.emit(RunEvent::Waiting { wait });
        Move::Wait
    }

    pub(super) fn frame(&self) -> Result<&Frame, Refusal> {
        self.run.frame().ok_or(Refusal::NotStarted)
    }

    /// The workflow being walked through; it outlives every change of the run.
    pub(super) fn workflow(&self) -> Result<&'d Workflow, Refusal> {
        self.definition.workflow(&self.frame()?.workflow).ok_or(Refusal::OtherDefinition)
    }

    pub(super) fn step(&self, id: &StepId) -> Result<&'d Step, Refusal> {
        self.workflow()?.step(id).ok_or(Refusal::OtherDefinition)
    }

    pub(super) fn scope(&self) -> Result<Scope<'_>, Refusal> {
        Ok(Scope::new(&self.run, self.frame()?, self.workflow()?))
    }

    pub(super) fn fill(&self, template: &Template) -> Result<String, Refusal> {
        let scope = self.scope()?;
        Ok(template.fill(&|reference| scope.get(reference)))
    }

    /// Continues until a step must wait, or the end.
    pub(super) fn go(&mut self, mut next: Move) -> Result<(), Refusal> {
        loop {
            next = match next {
                Move::Wait => return Ok(()),
                Move::Enter(step) => self.enter(&step)?,
                Move::Leave(step, outcome) => self.leave(&step, outcome)?,
                Move::Go(step, outcome, target) => {
                    self.emit_left(self.step(&step)?, outcome);
                    self.follow(&target)?
                }
                Move::End(status, message) => self.end(status, message)?,
            };
        }
    }

    /// Records that the run leaves a step.
    pub(super) fn emit_left(&mut self, step: &Step, outcome: Outcome) {
        self.emit(RunEvent::Left { step: step.id.clone(), outcome, phase: step.phase.clone() });
    }

    fn enter(&mut self, id: &StepId) -> Result<Move, Refusal> {
        let step = self.step(id)?;
        let scope = self.scope()?;
        if step.when.as_ref().is_some_and(|when| !when.value.holds(&|reference| scope.get(reference))) {
            self.emit(RunEvent::Skipped { step: id.clone() });
            return Ok(Move::Leave(id.clone(), Outcome::SKIP));
        }
        let visits = self.frame()?.visits.get(id).copied().unwrap_or_default();
        if step.max_visits.is_some_and(|most| visits >= most) {
            return Ok(Move::Leave(id.clone(), Outcome::EXHAUSTED));
        }
        let phase = step.phase.clone();
        self.emit(RunEvent::Entered { step: id.clone(), visit: visits + 1, now: self.now, phase });
        self.begin(step)
    }

    fn begin(&mut self, step: &'d Step) -> Result<Move, Refusal> {
        if self.is_decomposed(step)? {
            // What is to be checked is said once; saying it again would move the target.
            self.emit(RunEvent::Skipped { step: step.id.clone() });
            return Ok(Move::Leave(step.id.clone(), Outcome::OK));
        }
        match &step.work {
            Work::Agent(_) => Ok(self.wait(Wait::Agent)),
            Work::Dispatch(dispatch) => self.dispatch(step, dispatch),
            Work::Command { action, .. } => {
                let ordered = arguments::order(action, &self.scope()?, self.workflow()?);
                match ordered {
                    Ok(_) => Ok(self.wait(Wait::Command { attempt: 1, progress: Progress::Ready })),
                    Err(reason) => self.executed(step, Outcome::FAIL, None, Some(reason)),
                }
            }
            Work::Output { template, data, source } => {
                let text = self.shown(&template.0, data, source.as_ref().map(|(reference, _)| reference))?;
                self.emit(RunEvent::Shown { step: step.id.clone(), text });
                Ok(Move::Leave(step.id.clone(), Outcome::OK))
            }
            Work::Question(question) => self.ask(step, question),
            Work::Conditional { cases, otherwise } => {
                let scope = self.scope()?;
                let holds = |case: &&crate::workflow::definition::Case| case.when.value.holds(&|name| scope.get(name));
                let (word, route) = match cases.iter().find(holds) {
                    Some(case) => (case.when.text.as_str(), Some(&case.next)),
                    None => ("else", otherwise.as_ref()),
                };
                let target = route.map(|route| route.target.clone()).ok_or(Refusal::OtherDefinition)?;
                Ok(Move::Go(step.id.clone(), Outcome::new(word), target))
            }
            Work::Set(values) => self.set(step, values),
            Work::Gate(gate) => self.at_gate(step, gate),
            Work::Call(call) => self.call(step, call),
            Work::End { status, message } => {
                let message = message.as_ref().map(|message| self.fill(&message.value)).transpose()?;
                self.emit_left(step, Outcome::new(status.word()));
                Ok(Move::End(*status, message))
            }
        }
    }

    fn is_decomposed(&self, step: &Step) -> Result<bool, Refusal> {
        let Some(part) = step.work.review().filter(|part| part.part == Part::Decompose) else { return Ok(false) };
        Ok(self.frame()?.reviews.get(&part.review).is_some_and(|items| !items.is_empty()))
    }

    fn leave(&mut self, id: &StepId, outcome: Outcome) -> Result<Move, Refusal> {
        let step = self.step(id)?;
        self.emit_left(step, outcome.clone());
        let target = match (step.route(&outcome), step.route(&Outcome::OK)) {
            (Some(target), _) => target.clone(),
            (None, Some(target)) if step.optional => {
                self.emit(RunEvent::Tolerated { step: id.clone(), outcome });
                target.clone()
            }
            (None, _) => {
                let message = format!("`{id}` ended with `{outcome}`, which has no route");
                return Ok(Move::End(EndStatus::Failure, Some(message)));
            }
        };
        self.follow(&target)
    }

    fn follow(&mut self, target: &Target) -> Result<Move, Refusal> {
        let most = self.workflow()?.max_transitions;
        match target {
            Target::End => Ok(Move::End(EndStatus::Success, None)),
            Target::Step(id) if self.frame()?.transitions >= most => {
                let message = format!("the limit of {most} transitions is reached before `{id}`");
                Ok(Move::End(EndStatus::Failure, Some(message)))
            }
            Target::Step(id) => Ok(Move::Enter(id.clone())),
        }
    }

    /// Ends the workflow being walked through, and the run if no other workflow called it.
    fn end(&mut self, status: EndStatus, message: Option<String>) -> Result<Move, Refusal> {
        let (status, message) = self.honest(status, message)?;
        let outputs = self.outputs()?;
        if self.run.frames.len() == 1 {
            self.emit(RunEvent::Ended { ending: Ending { status, message, outputs } });
            return Ok(Move::Wait);
        }
        self.emit(RunEvent::Returned { status, message, outputs });
        let position = self.run.position().ok_or(Refusal::OtherDefinition)?;
        Ok(Move::Leave(position.step.clone(), status.outcome()))
    }

    /// Nothing ends well while the last execution of a check did not.
    fn honest(&self, status: EndStatus, message: Option<String>) -> Result<(EndStatus, Option<String>), Refusal> {
        let own = format!("{}:", self.frame()?.workflow);
        let counts = |check: &str| self.run.frames.len() == 1 || check.starts_with(&own);
        let red = self.run.checks.iter().find(|(check, outcome)| counts(check) && **outcome != Outcome::OK);
        match red {
            Some((check, outcome)) if status == EndStatus::Success => {
                let step = check.rsplit(':').next().unwrap_or(check);
                let message = format!("the check `{step}` ended with `{outcome}` when it was last executed");
                Ok((EndStatus::Failure, Some(message)))
            }
            _ => Ok((status, message)),
        }
    }

    fn outputs(&self) -> Result<Map<String, Json>, Refusal> {
        let scope = self.scope()?;
        let outputs = &self.workflow()?.outputs;
        Ok(outputs.iter().map(|(name, value)| (name.to_string(), value.value.value(&|name| scope.get(name)))).collect())
    }

    fn shown(
        &self,
        template: &Name,
        data: &[(Name, crate::workflow::definition::Placed<Template>)],
        source: Option<&crate::workflow::template::Reference>,
    ) -> Result<String, Refusal> {
        let scope = self.scope()?;
        let mut locals = match source.map(|source| scope.get(source).into_owned()) {
            Some(Json::Object(map)) => map,
            _ => Map::new(),
        };
        for (name, value) in data {
            locals.insert(name.to_string(), value.value.value(&|name| scope.get(name)));
        }
        let template = self.workflow()?.templates.get(template).ok_or(Refusal::OtherDefinition)?;
        let scope = scope.with(&locals);
        Ok(template.value.fill(&|reference| scope.get(reference)))
    }

    fn set(&mut self, step: &Step, values: &[(Name, crate::yaml::Place, Assigned)]) -> Result<Move, Refusal> {
        for (name, _, value) in values {
            let value = self.assigned(value)?;
            let Some(variable) = self.workflow()?.variable(name) else { return Err(Refusal::OtherDefinition) };
            match variable.kind.admit(value, variable.max_length) {
                Ok(value) => self.emit(RunEvent::Set { name: name.clone(), value }),
                Err(reason) => {
                    let message = format!("`{}` cannot set `{name}`: {reason}", step.id);
                    self.emit_left(step, Outcome::FAIL);
                    return Ok(Move::End(EndStatus::Failure, Some(message)));
                }
            }
        }
        Ok(Move::Leave(step.id.clone(), Outcome::OK))
    }

    fn assigned(&self, value: &Assigned) -> Result<Json, Refusal> {
        let scope = self.scope()?;
        Ok(match value {
            Assigned::Literal(value) => value.clone(),
            Assigned::Text(template) => template.value.value(&|reference| scope.get(reference)),
        })
    }

    fn call(&mut self, step: &'d Step, call: &Call) -> Result<Move, Refusal> {
        let name = &call.workflow.0;
        let callee = self.definition.workflow(name).ok_or(Refusal::OtherDefinition)?;
        let mut given = Map::new();
        for (param, _, value) in &call.with {
            given.insert(param.to_string(), self.assigned(value)?);
        }
        let admitted = match params(&callee.params, given) {
            Ok(_) if self.run.frames.len() >= MAX_DEPTH => Err(format!("workflows call each other {MAX_DEPTH} deep")),
            admitted => admitted.map_err(|refusal| refusal.to_string()),
        };
        let params = match admitted {
            Ok(params) => params,
            Err(reason) => return self.executed(step, Outcome::FAIL, None, Some(reason)),
        };
        self.emit(RunEvent::Waiting { wait: Wait::Callee });
        self.emit(RunEvent::Called { workflow: name.clone(), params, variables: defaults(&callee.variables) });
        Ok(Move::Enter(callee.start.clone()))
    }

    fn dispatch(&mut self, step: &Step, dispatch: &Dispatch) -> Result<Move, Refusal> {
        let children = self.children(dispatch)?;
        if children.is_empty() {
            return Ok(Move::Leave(step.id.clone(), Outcome::OK));
        }
        Ok(self.wait(Wait::Children(children)))
    }

    fn children(&self, dispatch: &Dispatch) -> Result<Vec<Child>, Refusal> {
        let child = |name: String, items: Vec<Json>| Child { name, items, outcome: None, result: Map::new() };
        let scope = self.scope()?;
        let (items, group) = match &dispatch.mode {
            Mode::Single => return Ok(vec![child("1".to_owned(), self.failed(dispatch)?)]),
            Mode::Roster(entries) => {
                let fill = |template: &Template| template.value(&|reference| scope.get(reference));
                let entries = entries.iter().map(|entry| {
                    Json::Object(entry.iter().map(|(name, value)| (name.to_string(), fill(&value.value))).collect())
                });
                (entries.collect(), 1)
            }
            Mode::Template { items: ForEach::List(reference, _), group } => match scope.get(reference).into_owned() {
                Json::Array(items) => (items, *group),
                _ => (Vec::new(), *group),
            },
            Mode::Template { items: ForEach::Open(review, _), group } => {
                let items = self.frame()?.reviews.get(review).map_or(&[][..], Vec::as_slice);
                let open = items.iter().filter(|item| item.status == super::ItemStatus::Todo);
                (open.map(super::Item::to_look_at).collect(), *group)
            }
        };
        let groups = items.chunks(group).enumerate();
        Ok(groups.map(|(index, items)| child((index + 1).to_string(), items.to_vec())).collect())
    }

    /// The items that the fixing step has to fix.
    fn failed(&self, dispatch: &Dispatch) -> Result<Vec<Json>, Refusal> {
        let Some(part) = dispatch.review.as_ref().filter(|part| part.part == Part::Fix) else { return Ok(Vec::new()) };
        let items = self.frame()?.reviews.get(&part.review).map_or(&[][..], Vec::as_slice);
        let failed = items.iter().filter(|item| item.status == super::ItemStatus::Fail);
        Ok(failed.map(super::Item::to_mend).collect())
    }

    fn at_gate(&mut self, step: &Step, gate: &crate::workflow::definition::Gate) -> Result<Move, Refusal> {
        let frame = self.frame()?;
        let verdict = judge(&self.run, frame, &step.id, gate);
        let granted = frame.rounds.get(&step.id).map_or(0, |rounds| rounds.granted);
        let last = verdict.round >= gate.max_rounds.saturating_add(granted);
        let outcome = if verdict.passes() { Outcome::PASS } else { Outcome::FAIL };
        let (round, reasons) = (verdict.round, verdict.reasons());
        self.emit(RunEvent::Judged { gate: step.id.clone(), round, outcome: outcome.clone(), reasons });
        if outcome == Outcome::FAIL && last {
            return Ok(self.wait(Wait::Decision));
        }
        if let (Some(message), true) = (&gate.pass_message, outcome == Outcome::PASS) {
            let text = self.fill(&message.value)?;
            self.emit(RunEvent::Shown { step: step.id.clone(), text });
        }
        Ok(Move::Leave(step.id.clone(), outcome))
    }
}

/// What a workflow remembers from the beginning.
pub(super) fn defaults(variables: &[Variable]) -> Map<String, Json> {
    let value = |variable: &Variable| Some((variable.name.to_string(), variable.default.clone()?));
    variables.iter().filter_map(value).collect()
}

/// What a workflow is started with, or what does not fit.
pub(super) fn params(declared: &[Variable], mut given: Map<String, Json>) -> Result<Map<String, Json>, Refusal> {
    let refuse = |name: &str, reason: Unfit| Refusal::Value { name: name.to_owned(), reason };
    let mut admitted = Map::new();
    for param in declared {
        let name = param.name.as_str();
        // What another workflow has not written yet is not given.
        let value = match given.remove(name).filter(|value| !value.is_null()) {
            Some(value) => param.kind.admit(value, param.max_length).map_err(|reason| refuse(name, reason))?,
            None => match &param.default {
                Some(default) => default.clone(),
                None if param.required => return Err(refuse(name, Unfit("it is required".into()))),
                None => param.kind.empty(),
            },
        };
        admitted.insert(name.to_owned(), value);
    }
    match given.keys().next() {
        None => Ok(admitted),
        Some(unknown) => {
            let known = declared.iter().map(|param| param.name.as_str());
            let reason = match crate::suggest::closest(unknown, known) {
                Some(close) => format!("there is no such parameter; did you mean `{close}`?"),
                None => "there is no such parameter".to_owned(),
            };
            Err(refuse(unknown, Unfit(reason)))
        }
    }
}
