//! Tests on values along the way. Only these can make a difference to where a run goes.

use std::collections::{BTreeMap, BTreeSet};

use super::value_flow::{ValueFlow, flows};
use crate::workflow::condition::{Condition, Literal, Operand};
use crate::workflow::definition::{CommandAction, CommandArgument, QuestionOptions, StepWork, Workflow, WorkflowStep};
use crate::workflow::name::{Name, StepId};
use crate::workflow::run::RunDefinition;
use crate::workflow::template::ValueReference;

/// The longest text or list that is tried.
const MAX_LENGTH: usize = 64;

/// Where a value is kept.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ValueRoot {
    Variable(Name),
    Param(Name),
    Result(StepId, Name),
}

/// A value, or a field of it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ValueSource {
    pub(super) root: ValueRoot,
    pub(super) field: Option<Name>,
}

impl ValueSource {
    /// What a reference at a step of a workflow reads; nothing for what is the same in every run.
    pub(super) fn of(workflow: &Workflow, step: &StepId, reference: &ValueReference) -> Option<Self> {
        let whole = |root| Some(Self { root, field: None });
        match reference {
            ValueReference::Param(name) => whole(ValueRoot::Param(name.clone())),
            ValueReference::Result(step, field) => whole(ValueRoot::Result(step.clone(), field.clone())),
            ValueReference::Named(name, field) => match (workflow.variable(name), workflow.param(name), field) {
                (Some(_), ..) => Some(Self { root: ValueRoot::Variable(name.clone()), field: field.clone() }),
                (_, Some(_), _) => Some(Self { root: ValueRoot::Param(name.clone()), field: field.clone() }),
                // Where an outcome follows from a result, that is the step's own.
                (None, None, Some(field)) if name.as_str() == "result" => {
                    whole(ValueRoot::Result(step.clone(), field.clone()))
                }
                (None, None, _) => None,
            },
        }
    }
}

/// What is asked about one value. One of which nothing is asked must only be there.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct ValueTests {
    /// Whether anything is asked at all.
    pub(super) any: bool,
    /// The texts it is compared with.
    pub(super) texts: BTreeSet<String>,
    /// The numbers it is compared with.
    pub(super) numbers: BTreeSet<i64>,
    /// The lengths that make a difference, and those beside them.
    pub(super) lengths: BTreeSet<usize>,
    /// The texts that are looked for among its items.
    pub(super) items: BTreeSet<String>,
    /// Whether every difference counts.
    pub(super) all: bool,
}

impl ValueTests {
    fn length(&mut self, length: i64) {
        let length = usize::try_from(length).unwrap_or(0).min(MAX_LENGTH - 1);
        self.lengths.extend(length.saturating_sub(1)..=length + 1);
    }

    fn literal(&mut self, literal: &Literal) {
        match literal {
            Literal::Text(text) => drop(self.texts.insert(text.clone())),
            Literal::Int(number) => drop(self.numbers.insert(*number)),
            Literal::Bool(_) => {}
        }
    }

    /// Adds what another one asks.
    pub(super) fn merge(&mut self, other: &Self) {
        self.any |= other.any;
        self.all |= other.all;
        self.texts.extend(other.texts.iter().cloned());
        self.numbers.extend(&other.numbers);
        self.lengths.extend(&other.lengths);
        self.items.extend(other.items.iter().cloned());
    }
}

/// What is asked about the values of one workflow.
#[derive(Debug, Default)]
pub(super) struct TestedValues {
    sources: BTreeMap<ValueSource, ValueTests>,
}

impl TestedValues {
    /// What is asked about the value at a root, by the field that is asked about.
    pub(super) fn of(&self, root: &ValueRoot) -> impl Iterator<Item = (&ValueSource, &ValueTests)> {
        let first = ValueSource { root: root.clone(), field: None };
        self.sources.range(first..).take_while(move |(source, _)| source.root == *root)
    }

    pub(super) fn note(&mut self, source: ValueSource) -> &mut ValueTests {
        self.sources.entry(source).or_default()
    }
}

/// What is asked about the values of every workflow, by the name it is called by.
pub(super) fn collect_tests(definition: &RunDefinition) -> BTreeMap<String, TestedValues> {
    let mut found = BTreeMap::new();
    for (name, workflow) in workflows(definition) {
        found.insert(name.clone(), direct_tests(workflow));
    }
    let flows = flows(definition);
    for flow in flows.iter().filter(|flow| flow.checked) {
        let (name, root) = flow.to.clone();
        found.entry(name).or_default().note(ValueSource { root, field: None });
    }
    // What is asked about a value is asked about where it comes from, however far that is.
    while flows.iter().any(|flow| follow(flow, &mut found)) {}
    found
}

/// Every workflow of a definition with the name it is called by.
pub(super) fn workflows(definition: &RunDefinition) -> impl Iterator<Item = (&String, &Workflow)> {
    [(&definition.main.name, &definition.main)].into_iter().chain(&definition.callees)
}

/// Whether a flow added tests to its source.
fn follow(flow: &ValueFlow, found: &mut BTreeMap<String, TestedValues>) -> bool {
    let there: Vec<(ValueSource, ValueTests)> = match found.get(&flow.to.0) {
        Some(asked) => asked.of(&flow.to.1).map(|(source, questions)| (source.clone(), questions.clone())).collect(),
        None => Vec::new(),
    };
    let here = found.entry(flow.from.0.clone()).or_default();
    let mut changed = false;
    for (source, questions) in there {
        let Some((field, questions)) = flow.back(source.field, questions) else { continue };
        let before = here.note(ValueSource { root: flow.from.1.root.clone(), field });
        let mut merged = before.clone();
        merged.merge(&questions);
        changed |= merged != *before;
        *before = merged;
    }
    changed
}

fn direct_tests(workflow: &Workflow) -> TestedValues {
    let mut reader = TestCollector { workflow, asked: TestedValues::default() };
    for step in &workflow.steps {
        for condition in conditions(step) {
            reader.condition(step, condition);
        }
        for reference in required_values(workflow, step) {
            reader.ask(step, reference, |_| {});
        }
        if let Some((reference, _)) = step.listed_items() {
            let group = match &step.work {
                StepWork::Dispatch(dispatch) => dispatch.group(),
                _ => 1,
            };
            reader.ask(step, reference, |questions| {
                questions.any = true;
                questions.lengths.extend([0, 1, (group + 1).min(MAX_LENGTH)]);
            });
        }
        if let StepWork::Question(question) = &step.work
            && let QuestionOptions::Variable(reference, _) = &question.options
        {
            reader.ask(step, reference, |questions| {
                questions.any = true;
                questions.lengths.extend([0, 1]);
            });
        }
    }
    reader.asked
}

/// The conditions at a step: when it is done, which case holds, which outcome follows.
pub(super) fn conditions(step: &WorkflowStep) -> Vec<&Condition> {
    let mut all: Vec<&Condition> = step.when.iter().map(|when| &when.value).collect();
    match &step.work {
        StepWork::Conditional { cases, .. } => all.extend(cases.iter().map(|case| &case.when.value)),
        StepWork::Agent(agent) => {
            all.extend(agent.outcome_from.iter().filter_map(|rule| rule.when.as_ref()).map(|when| &when.value));
        }
        _ => {}
    }
    all
}

/// What a step needs to be there: a list that is spread over arguments.
pub(super) fn required_values<'w>(workflow: &'w Workflow, step: &'w WorkflowStep) -> Vec<&'w ValueReference> {
    let action = match &step.work {
        StepWork::Command { action, .. } => Some(action),
        StepWork::Question(question) => match &question.options {
            QuestionOptions::Command(action) => Some(action),
            QuestionOptions::Free | QuestionOptions::Listed(_) | QuestionOptions::Variable(..) => None,
        },
        _ => None,
    };
    let validators = workflow.validators.values().map(|validator| &validator.action);
    let of_question = validators.filter(|_| matches!(step.work, StepWork::Question(_)));
    action.into_iter().chain(of_question).flat_map(spread).collect()
}

fn spread(action: &CommandAction) -> Vec<&ValueReference> {
    let CommandAction::Program { arguments, .. } = action else { return Vec::new() };
    let spread = arguments.iter().filter_map(|argument| match argument {
        CommandArgument::Spread(reference, _) => Some(reference),
        CommandArgument::Text(_) | CommandArgument::Glob(_) => None,
    });
    spread.collect()
}

struct TestCollector<'w> {
    workflow: &'w Workflow,
    asked: TestedValues,
}

impl TestCollector<'_> {
    fn ask(&mut self, step: &WorkflowStep, reference: &ValueReference, question: impl FnOnce(&mut ValueTests)) {
        if let Some(source) = ValueSource::of(self.workflow, &step.id, reference) {
            question(self.asked.note(source));
        }
    }

    fn condition(&mut self, step: &WorkflowStep, condition: &Condition) {
        for (reference, _) in condition.references() {
            self.ask(step, reference, |questions| questions.any = true);
        }
        match condition {
            Condition::Or(a, b) | Condition::And(a, b) => {
                self.condition(step, a);
                self.condition(step, b);
            }
            Condition::Not(a) => self.condition(step, a),
            Condition::Compare(a, _, b) => {
                self.compared(step, a, b);
                self.compared(step, b, a);
            }
            Condition::In(a, Operand::List(items, _)) => {
                for (literal, at) in items {
                    self.compared(step, a, &Operand::Literal(literal.clone(), *at));
                }
            }
            Condition::In(a, b) => self.among(step, a, b),
            Condition::Empty(Operand::Value(reference, _)) => {
                self.ask(step, reference, |questions| questions.lengths.extend([0, 1]));
            }
            Condition::Empty(_) | Condition::Truth(_) => {}
        }
    }

    fn compared(&mut self, step: &WorkflowStep, operand: &Operand, with: &Operand) {
        match (operand, with) {
            (Operand::Value(reference, _), Operand::Literal(literal, _)) => {
                self.ask(step, reference, |questions| questions.literal(literal));
            }
            (Operand::Value(reference, _), _) => self.ask(step, reference, |questions| questions.all = true),
            (Operand::Length(of, _), with) => {
                let Operand::Value(reference, _) = of.as_ref() else { return };
                let length = if let Operand::Literal(Literal::Int(length), _) = with { *length } else { 1 };
                self.ask(step, reference, |questions| questions.length(length));
            }
            // What items hold and what is counted is not foreseen: everything may be.
            (Operand::Item(..) | Operand::Field(..) | Operand::Count(..) | Operand::Arithmetic(..), _) => {
                for (reference, _) in operand.references() {
                    self.ask(step, reference, |questions| questions.all = true);
                }
            }
            (Operand::Literal(..) | Operand::List(..), _) => {}
        }
    }

    fn among(&mut self, step: &WorkflowStep, operand: &Operand, list: &Operand) {
        let Operand::Value(list, _) = list else { return };
        match operand {
            Operand::Literal(Literal::Text(text), _) => self.ask(step, list, |questions| {
                questions.items.insert(text.clone());
            }),
            _ => self.ask(step, list, |questions| questions.all = true),
        }
        if let Operand::Value(reference, _) = operand {
            self.ask(step, reference, |questions| questions.all = true);
        }
    }
}
