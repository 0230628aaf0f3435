//! Values that can still make a difference after a step.

use std::collections::{BTreeMap, BTreeSet};

use super::asked::{Root, Source, conditions, there};
use crate::workflow::condition::Condition;
use crate::workflow::definition::{Agent, Assigned, ForEach, Mode, Options, Part, Step, Target, Work, Workflow};
use crate::workflow::load::{outcomes, own_outcomes};
use crate::workflow::name::{Name, Outcome, StepId};
use crate::workflow::template::{Reference, Template};

type Roots = BTreeSet<Root>;

/// The values that are read from each step on before they are written again.
pub(super) struct Live<'w> {
    workflow: &'w Workflow,
    /// What the caller reads after the end.
    at_end: Roots,
    /// Before each step starts.
    entered: BTreeMap<&'w StepId, Roots>,
    /// While each step waits.
    waiting: BTreeMap<&'w StepId, Roots>,
}

impl<'w> Live<'w> {
    /// The live values of a workflow of whose outputs its callers ask for these.
    pub(super) fn of(workflow: &'w Workflow, outputs: &BTreeSet<&Name>) -> Self {
        let asked = workflow.outputs.iter().filter(|(name, _)| outputs.contains(name));
        let references = asked.flat_map(|(_, template)| template.value.references());
        let sources = references.filter_map(|(reference, _)| Source::of(workflow, &workflow.start, reference));
        let at_end = sources.map(|source| source.root).collect();
        let mut live = Self { workflow, at_end, entered: BTreeMap::new(), waiting: BTreeMap::new() };
        while live.grow() {}
        live
    }

    /// What can still make a difference while a step waits.
    pub(super) fn waiting(&self, step: &StepId) -> impl Iterator<Item = &Root> {
        self.waiting.get(step).into_iter().flatten()
    }

    /// Whether it can make a difference what a step writes there.
    pub(super) fn matters(&self, step: &Step, root: &Root) -> bool {
        let own = match &step.work {
            Work::Agent(agent) => self.rules(step, agent).contains(root),
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

    fn target(&self, target: &Target) -> Roots {
        match target {
            Target::End => self.at_end.clone(),
            Target::Step(id) => self.entered.get(id).cloned().unwrap_or_default(),
        }
    }

    /// What is read after a step was left with an outcome.
    fn behind(&self, step: &Step, outcome: &Outcome) -> Roots {
        match (step.route(outcome), step.route(&Outcome::OK)) {
            (Some(target), _) => self.target(target),
            (None, Some(target)) if step.optional => self.target(target),
            (None, _) => self.at_end.clone(),
        }
    }

    fn before(&self, step: &Step, waiting: Roots) -> Roots {
        let mut read = waiting;
        if let Some(when) = &step.when {
            read.extend(self.condition(step, &when.value));
            read.extend(self.behind(step, &Outcome::SKIP));
        }
        if step.max_visits.is_some() {
            read.extend(self.behind(step, &Outcome::EXHAUSTED));
        }
        // What a review consists of is said once; the second time the step is passed by.
        if step.work.review().is_some_and(|part| part.part == Part::Decompose) {
            read.extend(self.behind(step, &Outcome::OK));
        }
        match &step.work {
            Work::Conditional { cases, otherwise } => {
                for condition in conditions(step) {
                    read.extend(self.condition(step, condition));
                }
                let routes = cases.iter().map(|case| &case.next).chain(otherwise);
                read.extend(routes.flat_map(|route| self.target(&route.target)));
            }
            Work::Dispatch(dispatch) => {
                if let Mode::Template { items: ForEach::List(reference, _), .. } = &dispatch.mode {
                    read.extend(self.root(step, reference));
                }
            }
            Work::Question(question) => {
                if let Options::Variable(reference, _) = &question.options {
                    read.extend(self.root(step, reference));
                }
            }
            Work::Set(values) => read.extend(self.assigned(step, values.iter().map(|(_, _, value)| value))),
            Work::Call(call) => read.extend(self.assigned(step, call.with.iter().map(|(_, _, value)| value))),
            Work::End { .. } => read.extend(self.at_end.iter().cloned()),
            Work::Agent(_) | Work::Command { .. } | Work::Output { .. } | Work::Gate(_) => {}
        }
        read
    }

    fn while_waiting(&self, step: &Step) -> Roots {
        let mut read: Roots = there(self.workflow, step).into_iter().filter_map(|name| self.root(step, name)).collect();
        if let Work::Agent(agent) = &step.work {
            let unwritten = |root: &Root| !written(step, agent).contains(root);
            read.extend(self.rules(step, agent).into_iter().filter(unwritten));
        }
        for outcome in own_outcomes(step) {
            let written = written_with(step, &outcome);
            read.extend(self.behind(step, &outcome).into_iter().filter(|root| !written.contains(root)));
        }
        read
    }

    fn rules(&self, step: &Step, agent: &Agent) -> Roots {
        let rules = agent.outcome_from.iter().filter_map(|rule| rule.when.as_ref());
        rules.flat_map(|when| self.condition(step, &when.value)).collect()
    }

    fn condition(&self, step: &Step, condition: &Condition) -> Roots {
        condition.references().into_iter().filter_map(|(reference, _)| self.root(step, reference)).collect()
    }

    fn root(&self, step: &Step, reference: &Reference) -> Option<Root> {
        Source::of(self.workflow, &step.id, reference).map(|source| source.root)
    }

    fn assigned<'a>(&self, step: &Step, values: impl Iterator<Item = &'a Assigned>) -> Roots {
        let templates = values.filter_map(|value| match value {
            Assigned::Text(template) => Some(&template.value),
            Assigned::Literal(_) => None,
        });
        let references = templates.flat_map(Template::references);
        references.filter_map(|(reference, _)| self.root(step, reference)).collect()
    }
}

/// What an agent's report overwrites. A list that it adds to is still what it was before.
fn written(step: &Step, agent: &Agent) -> Roots {
    let overwritten = agent.result.iter().filter(|field| !field.append);
    overwritten
        .flat_map(|field| [Root::Result(step.id.clone(), field.name.clone()), Root::Variable(field.name.clone())])
        .collect()
}

/// What a step has certainly written when it ended with this outcome.
fn written_with(step: &Step, outcome: &Outcome) -> Roots {
    let by_engine = *outcome == Outcome::TIMEOUT;
    let stored = || step.store.iter().map(|(name, _)| Root::Variable(name.clone())).collect();
    match &step.work {
        // A failed step needs no result.
        Work::Agent(agent) if !by_engine && (!agent.outcome_from.is_empty() || *outcome == Outcome::OK) => {
            written(step, agent)
        }
        Work::Command { .. } if *outcome == Outcome::OK => stored(),
        Work::Question(_) if ![Outcome::DECLINED, Outcome::CANCELLED].contains(outcome) && !by_engine => stored(),
        Work::Set(values) => values.iter().map(|(name, ..)| Root::Variable(name.clone())).collect(),
        _ => Roots::new(),
    }
}
