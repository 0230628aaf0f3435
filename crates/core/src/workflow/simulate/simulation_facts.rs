//! Equivalence of runs: two are at the same point when no later test tells them apart.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use serde_json::Value as Json;

use super::live_values::LiveValues;
use super::value_tests::{TestedValues, ValueRoot, ValueSource, ValueTests, collect_tests, workflows};
use crate::workflow::definition::{DispatchMode, ForEach, StepWork, Workflow, WorkflowStep};
use crate::workflow::graph::StepGraph;
use crate::workflow::name::{Name, StepId, StepOutcome};
use crate::workflow::run::{CallFrame, DispatchChild, ReviewItemStatus, Run, RunDefinition, StepWait, ValueScope};
use crate::workflow::template::ValueReference;

/// What is known of a definition before anything is tried.
pub(super) struct SimulationFacts<'d> {
    workflows: BTreeMap<&'d str, WorkflowFacts<'d>>,
}

/// What is known of one workflow.
pub(super) struct WorkflowFacts<'d> {
    workflow: &'d Workflow,
    pub(super) asked: TestedValues,
    pub(super) live: LiveValues<'d>,
    points: BTreeMap<&'d StepId, StatePoint<'d>>,
}

/// What distinguishes runs that wait at one step.
struct StatePoint<'d> {
    /// The values, with what is asked about them.
    values: Vec<(ValueSource, ValueTests)>,
    /// The steps ahead whose visits are counted.
    counted: Vec<&'d StepId>,
    /// The gates here and ahead.
    gates: Vec<&'d StepId>,
    /// The reviews of which something is made here and ahead.
    reviews: BTreeSet<&'d Name>,
}

impl<'d> SimulationFacts<'d> {
    pub(super) fn of(definition: &'d RunDefinition) -> Self {
        let mut all = collect_tests(definition);
        let mut outputs: BTreeMap<&str, BTreeSet<&Name>> = BTreeMap::new();
        for (name, workflow) in workflows(definition) {
            let Some(asked) = all.get(name) else { continue };
            for step in &workflow.steps {
                let StepWork::Call(call) = &step.work else { continue };
                let Some(callee) = definition.workflow(&call.workflow.0) else { continue };
                let is_asked =
                    |output: &&Name| asked.of(&ValueRoot::Result(step.id.clone(), (*output).clone())).next().is_some();
                let names = callee.outputs.iter().map(|(output, _)| output).filter(is_asked);
                outputs.entry(&call.workflow.0).or_default().extend(names);
            }
        }
        let known = workflows(definition).map(|(name, workflow)| {
            let asked = all.remove(name).unwrap_or_default();
            let live = LiveValues::of(workflow, outputs.get(name.as_str()).unwrap_or(&BTreeSet::new()));
            let points = points(workflow, &asked, &live);
            (name.as_str(), WorkflowFacts { workflow, asked, live, points })
        });
        Self { workflows: known.collect() }
    }

    /// What is known of the workflow of a frame.
    pub(super) fn workflow(&self, name: &str) -> Option<&WorkflowFacts<'d>> {
        self.workflows.get(name)
    }

    /// A text that is the same for two runs from which the same can happen.
    pub(super) fn key(&self, run: &Run, red: &BTreeSet<String>) -> String {
        let mut key = String::new();
        for frame in &run.frames {
            if let Some(known) = self.workflows.get(frame.workflow.as_str()) {
                known.key(run, frame, &mut key);
            }
        }
        for (check, outcome) in &run.checks {
            let _ = write!(key, "|{check} {}", *outcome == StepOutcome::OK);
        }
        let _ = write!(key, "|{red:?}");
        key
    }
}

fn points<'d>(
    workflow: &'d Workflow,
    asked: &TestedValues,
    live: &LiveValues<'_>,
) -> BTreeMap<&'d StepId, StatePoint<'d>> {
    let graph = StepGraph::with_finally(workflow);
    let point = |(index, step): (usize, &'d WorkflowStep)| {
        let ahead: Vec<&WorkflowStep> = graph.after(index).iter().map(|index| &workflow.steps[index]).collect();
        let here = || ahead.iter().copied().chain([step]);
        let values = live.waiting(&step.id).flat_map(|root| asked.of(root));
        let values = values.map(|(source, questions)| (source.clone(), questions.clone())).collect();
        let counted = ahead.iter().filter(|step| step.max_visits.is_some()).map(|step| &step.id).collect();
        let gates: BTreeSet<&StepId> =
            here().filter(|step| matches!(step.work, StepWork::Gate(_))).map(|step| &step.id).collect();
        let reviews = here().filter_map(review).collect();
        (&step.id, StatePoint { values, counted, gates: gates.into_iter().collect(), reviews })
    };
    workflow.steps.iter().enumerate().map(point).collect()
}

/// The review of which a step makes something.
fn review(step: &WorkflowStep) -> Option<&Name> {
    match &step.work {
        StepWork::Gate(gate) => gate.review.as_ref().map(|(name, _)| name),
        StepWork::Dispatch(dispatch) => match &dispatch.mode {
            DispatchMode::Template { items: ForEach::Open(name, _), .. } => Some(name),
            _ => dispatch.review.as_ref().map(|part| &part.review),
        },
        work => work.review().map(|part| &part.review),
    }
}

impl WorkflowFacts<'_> {
    fn key(&self, run: &Run, frame: &CallFrame, key: &mut String) {
        let Some(position) = &frame.position else { return };
        let _ = write!(key, "/{} {} {}", frame.workflow, position.step, wait(&position.wait));
        if let Some(ending) = &frame.ending {
            let _ = write!(key, " ends {}", ending.status.as_str());
        }
        let Some(point) = self.points.get(&position.step) else { return };
        let scope = ValueScope::new(run, frame, self.workflow);
        for (source, questions) in &point.values {
            key.push(' ');
            write_key(&value(scope, source), questions, key);
        }
        for step in &point.counted {
            let _ = write!(key, " v{}", frame.visits.get(*step).copied().unwrap_or_default());
        }
        for gate in &point.gates {
            let rounds = frame.rounds.get(*gate).copied().unwrap_or_default();
            let _ = write!(key, " r{}+{}", rounds.done, rounds.granted);
        }
        for review in &point.reviews {
            let items = frame.reviews.get(*review).map_or(&[][..], Vec::as_slice);
            let count = |status| items.iter().filter(|item| item.status == status).count();
            let _ = write!(
                key,
                " i{}-{}-{}",
                count(ReviewItemStatus::Todo),
                count(ReviewItemStatus::Pass),
                count(ReviewItemStatus::Fail)
            );
        }
    }
}

fn value(scope: ValueScope<'_>, source: &ValueSource) -> Json {
    let value = scope.get(&match &source.root {
        ValueRoot::Variable(name) => ValueReference::Named(name.clone(), None),
        ValueRoot::Param(name) => ValueReference::Param(name.clone()),
        ValueRoot::Result(step, field) => ValueReference::Result(step.clone(), field.clone()),
    });
    match &source.field {
        None => value.into_owned(),
        Some(field) => value.get(field.as_str()).cloned().unwrap_or(Json::Null),
    }
}

/// Writes the results of the tests on a value, and nothing else of it.
fn write_key(value: &Json, questions: &ValueTests, key: &mut String) {
    let longest = questions.lengths.last().copied().unwrap_or(0);
    let _ = match value {
        Json::Null => write!(key, "-"),
        _ if !questions.any => write!(key, "+"),
        value if questions.all => write!(key, "{value}"),
        Json::String(text) if questions.texts.contains(text) => write!(key, "{value}"),
        Json::String(text) => write!(key, "{}", text.chars().count().min(longest)),
        Json::Array(items) => {
            let has = |item: &&String| items.iter().any(|other| other.as_str() == Some(item));
            let found: Vec<&String> = questions.items.iter().filter(has).collect();
            write!(key, "{}{found:?}", items.len().min(longest))
        }
        Json::Object(map) => write!(key, "{}", map.is_empty()),
        Json::Bool(_) | Json::Number(_) => write!(key, "{value}"),
    };
}

/// What is waited for, as far as it matters.
fn wait(wait: &StepWait) -> String {
    match wait {
        StepWait::Engine => "engine".to_owned(),
        StepWait::Agent => "agent".to_owned(),
        StepWait::Children(children) => {
            let open = |child: &&DispatchChild| child.outcome.is_none();
            let given: Vec<usize> = children.iter().filter(open).map(|child| child.items.len()).collect();
            let ended: BTreeSet<&StepOutcome> = children.iter().filter_map(|child| child.outcome.as_ref()).collect();
            let attempts: Vec<u32> =
                children.iter().filter(open).filter_map(|child| Some(child.execution?.attempt)).collect();
            format!("children {given:?} {ended:?} {attempts:?}")
        }
        StepWait::Command { attempt, progress } => format!("command {attempt} {progress:?}"),
        StepWait::Listing(progress) => format!("listing {progress:?}"),
        StepWait::Answer(asked) => format!("answer {} {:?}", asked.tries, asked.options),
        StepWait::Validating { answer, asked, progress } => {
            format!("validating {answer} {} {:?} {progress:?}", asked.tries, asked.options)
        }
        StepWait::Decision => "decision".to_owned(),
        StepWait::Callee => "callee".to_owned(),
    }
}
