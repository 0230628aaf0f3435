//! Values that can still make a difference after a step.

use std::collections::{BTreeMap, BTreeSet};

use super::value_tests::{ValueRoot, ValueSource, conditions, required_values};
use crate::workflow::condition::Condition;
use crate::workflow::definition::{
    AgentStep, AssignedValue, QuestionOptions, ReviewStage, RouteTarget, StepWork, Workflow, WorkflowStep,
};
use crate::workflow::load::{outcomes, own_outcomes};
use crate::workflow::name::{Name, StepId, StepOutcome};
use crate::workflow::template::{Template, ValueReference};

type RootSet = BTreeSet<ValueRoot>;

/// The values that are read from each step on before they are written again.
pub(super) struct LiveValues<'w> {
    workflow: &'w Workflow,
    /// What the caller reads after the end.
    at_end: RootSet,
    /// Before each step starts.
    entered: BTreeMap<&'w StepId, RootSet>,
    /// While each step waits.
    waiting: BTreeMap<&'w StepId, RootSet>,
}

impl<'w> LiveValues<'w> {
    /// The live values of a workflow of whose outputs its callers ask for these.
    pub(super) fn of(workflow: &'w Workflow, outputs: &BTreeSet<&Name>) -> Self {
        let asked = workflow.outputs.iter().filter(|(name, _)| outputs.contains(name));
        let references = asked.flat_map(|(_, template)| template.value.references());
        let sources = references.filter_map(|(reference, _)| ValueSource::of(workflow, &workflow.start, reference));
        let at_end = sources.map(|source| source.root).collect();
        let mut live = Self { workflow, at_end, entered: BTreeMap::new(), waiting: BTreeMap::new() };
        while live.grow() {}
        live
    }

    /// What can still make a difference while a step waits.
    pub(super) fn waiting(&self, step: &StepId) -> impl Iterator<Item = &ValueRoot> {
        self.waiting.get(step).into_iter().flatten()
    }

    /// Whether it can make a difference what a step writes there.
    pub(super) fn matters(&self, step: &WorkflowStep, root: &ValueRoot) -> bool {
        let own = match &step.work {
            StepWork::Agent(agent) => self.rules(step, agent).contains(root),
            _ => false,
        };
        let outcomes = outcomes(step);
        own || outcomes.iter().any(|outcome| self.behind(step, outcome).contains(root))
    }

    fn grow(&mut self) -> bool {
        let mut grown = false;
        for step in self.workflow.steps.iter().rev() {
            let waiting = self.while_waiting(step);
            grown |= self.waiting.insert(&step.id, waiting.clone()).is_none_or(|before| before != waiting);
            let entered = self.before(step, waiting);
            grown |= self.entered.insert(&step.id, entered.clone()).is_none_or(|before| before != entered);
        }
        grown
    }

    fn target(&self, target: &RouteTarget) -> RootSet {
        match target {
            RouteTarget::End => self.after_end(),
            RouteTarget::Step(id) => self.entered.get(id).cloned().unwrap_or_default(),
        }
    }

    /// What is read after a step was left with an outcome.
    fn behind(&self, step: &WorkflowStep, outcome: &StepOutcome) -> RootSet {
        match (step.route(outcome), step.route(&StepOutcome::OK)) {
            (Some(target), _) => self.target(target),
            (None, Some(target)) if step.optional => self.target(target),
            (None, _) => self.after_end(),
        }
    }

    /// What is read after an end: in the steps of `finally`, and by the caller.
    fn after_end(&self) -> RootSet {
        let last = self.workflow.finally.as_ref().and_then(|(last, _)| self.entered.get(last));
        self.at_end.iter().chain(last.into_iter().flatten()).cloned().collect()
    }

    fn before(&self, step: &WorkflowStep, waiting: RootSet) -> RootSet {
        let mut read = waiting;
        if let Some(when) = &step.when {
            read.extend(self.condition(step, &when.value));
            read.extend(self.behind(step, &StepOutcome::SKIP));
        }
        if step.max_visits.is_some() {
            read.extend(self.behind(step, &StepOutcome::EXHAUSTED));
        }
        // What a review consists of is said once; the second time the step is passed by.
        if step.work.review().is_some_and(|part| part.part == ReviewStage::Decompose) {
            read.extend(self.behind(step, &StepOutcome::OK));
        }
        if let Some((reference, _)) = step.listed_items() {
            read.extend(self.root(step, reference));
        }
        match &step.work {
            StepWork::Conditional { cases, otherwise } => {
                for condition in conditions(step) {
                    read.extend(self.condition(step, condition));
                }
                let routes = cases.iter().map(|case| &case.next).chain(otherwise);
                read.extend(routes.flat_map(|route| self.target(&route.target)));
            }
            StepWork::Question(question) => {
                if let QuestionOptions::Variable(reference, _) = &question.options {
                    read.extend(self.root(step, reference));
                }
            }
            StepWork::Set(values) => read.extend(self.assigned(step, values.iter().map(|(_, _, value)| value))),
            StepWork::Call(call) => read.extend(self.assigned(step, call.with.iter().map(|(_, _, value)| value))),
            StepWork::End { .. } => read.extend(self.after_end()),
            StepWork::Agent(_)
            | StepWork::Dispatch(_)
            | StepWork::Command { .. }
            | StepWork::Output { .. }
            | StepWork::Gate(_) => {}
        }
        read
    }

    fn while_waiting(&self, step: &WorkflowStep) -> RootSet {
        let mut read: RootSet =
            required_values(self.workflow, step).into_iter().filter_map(|name| self.root(step, name)).collect();
        if let StepWork::Agent(agent) = &step.work {
            let unwritten = |root: &ValueRoot| !written(step, agent).contains(root);
            read.extend(self.rules(step, agent).into_iter().filter(unwritten));
        }
        for outcome in own_outcomes(step) {
            let written = written_with(step, &outcome);
            read.extend(self.behind(step, &outcome).into_iter().filter(|root| !written.contains(root)));
        }
        read
    }

    fn rules(&self, step: &WorkflowStep, agent: &AgentStep) -> RootSet {
        let rules = agent.outcome_from.iter().filter_map(|rule| rule.when.as_ref());
        rules.flat_map(|when| self.condition(step, &when.value)).collect()
    }

    fn condition(&self, step: &WorkflowStep, condition: &Condition) -> RootSet {
        condition.references().into_iter().filter_map(|(reference, _)| self.root(step, reference)).collect()
    }

    fn root(&self, step: &WorkflowStep, reference: &ValueReference) -> Option<ValueRoot> {
        ValueSource::of(self.workflow, &step.id, reference).map(|source| source.root)
    }

    fn assigned<'a>(&self, step: &WorkflowStep, values: impl Iterator<Item = &'a AssignedValue>) -> RootSet {
        let templates = values.filter_map(|value| match value {
            AssignedValue::Text(template) => Some(&template.value),
            AssignedValue::Literal(_) => None,
        });
        let references = templates.flat_map(Template::references);
        references.filter_map(|(reference, _)| self.root(step, reference)).collect()
    }
}

/// What an agent's report overwrites. A list that it adds to is still what it was before.
fn written(step: &WorkflowStep, agent: &AgentStep) -> RootSet {
    let overwritten = agent.result.iter().filter(|field| !field.append);
    overwritten
        .flat_map(|field| {
            [ValueRoot::Result(step.id.clone(), field.name.clone()), ValueRoot::Variable(field.name.clone())]
        })
        .collect()
}

/// What a step has certainly written when it ended with this outcome.
fn written_with(step: &WorkflowStep, outcome: &StepOutcome) -> RootSet {
    let by_engine = *outcome == StepOutcome::TIMEOUT;
    let stored = || step.store.iter().map(|(name, _)| ValueRoot::Variable(name.clone())).collect();
    match &step.work {
        // A failed step needs no result.
        StepWork::Agent(agent) if !by_engine && (!agent.outcome_from.is_empty() || *outcome == StepOutcome::OK) => {
            written(step, agent)
        }
        StepWork::Command { .. } if *outcome == StepOutcome::OK => stored(),
        StepWork::Question(_) if ![StepOutcome::DECLINED, StepOutcome::CANCELLED].contains(outcome) && !by_engine => {
            stored()
        }
        StepWork::Set(values) => values.iter().map(|(name, ..)| ValueRoot::Variable(name.clone())).collect(),
        _ => RootSet::new(),
    }
}
