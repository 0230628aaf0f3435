//! Checks of a workflow's graph: every step can be reached, every step reaches an end, and no loop is endless.

use std::collections::{BTreeMap, BTreeSet};

use super::definition::{RouteTarget, StepRoute, StepWork, Workflow, WorkflowStep};
use super::finding::FindingCode;
use super::load::{DefinitionReader, outcomes};
use super::name::{StepId, StepOutcome};
use crate::closest_word;
use crate::yaml::{SourcePosition, YamlNode};

/// The step a run begins with.
pub(super) fn find_start(
    node: Option<&YamlNode<'_>>,
    steps: &[WorkflowStep],
    top: SourcePosition,
    reader: &mut DefinitionReader<'_>,
) -> Option<StepId> {
    let Some(first) = steps.first() else {
        reader.find(FindingCode::E03, top, "the workflow has no steps", "add `steps:` with at least one step");
        return None;
    };
    let Some(node) = node else { return Some(first.id.clone()) };
    let named = node.text().and_then(|text| steps.iter().find(|step| step.id.as_str() == text));
    if named.is_none() {
        let text = node.text().unwrap_or_default();
        let help = did_you_mean(text, steps, "name a step, or leave `start` out for the first one");
        reader.find(FindingCode::E03, node.place, format!("there is no step `{text}` to start at"), help);
    }
    Some(named.unwrap_or(first).id.clone())
}

/// The step with which the last part of a run begins.
pub(super) fn find_finally(
    node: Option<&YamlNode<'_>>,
    steps: &[WorkflowStep],
    reader: &mut DefinitionReader<'_>,
) -> Option<(StepId, SourcePosition)> {
    let node = node?;
    let Some(text) = node.text() else {
        reader.find(FindingCode::E21, node.place, format!("this is {}", node.kind()), "name one step");
        return None;
    };
    if let Some(step) = steps.iter().find(|step| step.id.as_str() == text) {
        return Some((step.id.clone(), node.place));
    }
    let help = did_you_mean(text, steps, "name the step that is done at the end of every run");
    reader.find(FindingCode::E21, node.place, format!("there is no step `{text}` to end with"), help);
    None
}

pub(super) fn check_graph(workflow: &Workflow, reader: &mut DefinitionReader<'_>) {
    let graph = StepGraph::of(workflow);
    outcomes_are_routed(workflow, reader);
    check_bounds(workflow, reader);
    if !unknown_targets(workflow, reader) {
        // With a route that leads nowhere, its step and those behind it would be blamed for the slip of a pen.
        check_reachable(workflow, &StepGraph::with_finally(workflow), reader);
        check_ends(workflow, &graph, reader);
        check_finally(workflow, &graph, reader);
    }
}

/// The ways between steps, by their positions.
pub(super) struct StepGraph {
    ways: Vec<Vec<GraphEdge>>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum GraphEdge {
    To(usize),
    End,
}

/// Some of the steps, by their positions.
pub(super) struct StepSet(Vec<bool>);

impl StepSet {
    /// Whether a step is one of them.
    pub(super) fn has(&self, step: usize) -> bool {
        self.0[step]
    }

    /// Their positions in order.
    pub(super) fn iter(&self) -> impl Iterator<Item = usize> {
        self.0.iter().enumerate().filter(|(_, has)| **has).map(|(index, _)| index)
    }
}

impl StepGraph {
    /// All ways of a workflow.
    pub(super) fn of(workflow: &Workflow) -> Self {
        Self::along(workflow, &|_, _| true)
    }

    /// All ways of a workflow, and those from every step to the last part of a run.
    pub(super) fn with_finally(workflow: &Workflow) -> Self {
        let mut graph = Self::of(workflow);
        let last = workflow.last_step();
        if let (Some(last), Some(part)) = (last, graph.last_part(workflow)) {
            for (from, ways) in graph.ways.iter_mut().enumerate().filter(|(from, _)| !part.has(*from)) {
                if from != last && !ways.contains(&GraphEdge::To(last)) {
                    ways.push(GraphEdge::To(last));
                }
            }
        }
        graph
    }

    /// The steps of the last part of a run, if it has one.
    pub(super) fn last_part(&self, workflow: &Workflow) -> Option<StepSet> {
        let last = workflow.last_step()?;
        let mut part = self.after(last);
        part.0[last] = true;
        Some(part)
    }

    /// The ways that count, by the step and the outcome; those of a conditional have none.
    fn along(workflow: &Workflow, counts: &dyn Fn(&WorkflowStep, Option<&StepOutcome>) -> bool) -> Self {
        let positions: BTreeMap<&StepId, usize> =
            workflow.steps.iter().enumerate().map(|(index, step)| (&step.id, index)).collect();
        let way = |route: &StepRoute| match &route.target {
            RouteTarget::End => Some(GraphEdge::End),
            RouteTarget::Step(id) => positions.get(id).copied().map(GraphEdge::To),
        };
        let ways = |step: &WorkflowStep| {
            let routed = step.next.iter().filter(|(outcome, _)| counts(step, Some(outcome))).map(|(_, route)| route);
            let mut ways: Vec<GraphEdge> = routed.filter_map(way).collect();
            if let (StepWork::Conditional { cases, otherwise }, true) = (&step.work, counts(step, None)) {
                ways.extend(cases.iter().map(|case| &case.next).chain(otherwise).filter_map(way));
            }
            ways
        };
        Self { ways: workflow.steps.iter().map(ways).collect() }
    }

    fn next(&self, from: usize) -> impl Iterator<Item = usize> {
        self.ways[from].iter().filter_map(|way| match way {
            GraphEdge::To(next) => Some(*next),
            GraphEdge::End => None,
        })
    }

    /// Which steps can come after the step at `from`; itself only if a way leads back.
    pub(super) fn after(&self, from: usize) -> StepSet {
        self.after_any([from])
    }

    /// Which steps can come after one of several.
    pub(super) fn after_any(&self, from: impl IntoIterator<Item = usize>) -> StepSet {
        let mut seen = vec![false; self.ways.len()];
        let mut open: Vec<usize> = from.into_iter().collect();
        while let Some(index) = open.pop() {
            for next in self.next(index) {
                if !std::mem::replace(&mut seen[next], true) {
                    open.push(next);
                }
            }
        }
        StepSet(seen)
    }

    /// The same ways, each walked from its end to its beginning.
    fn reversed(&self) -> Self {
        let mut ways = vec![Vec::new(); self.ways.len()];
        for from in 0..self.ways.len() {
            for to in self.next(from) {
                ways[to].push(GraphEdge::To(from));
            }
        }
        Self { ways }
    }
}

fn did_you_mean(text: &str, steps: &[WorkflowStep], otherwise: &str) -> String {
    match closest_word::closest(text, steps.iter().map(|step| step.id.as_str())) {
        Some(close) => format!("did you mean `{close}`?"),
        None => otherwise.to_owned(),
    }
}

/// Reports routes to steps that do not exist; whether there are any.
fn unknown_targets(workflow: &Workflow, reader: &mut DefinitionReader<'_>) -> bool {
    let mut unknown = false;
    let known: BTreeSet<&StepId> = workflow.steps.iter().map(|step| &step.id).collect();
    for (_, StepRoute { target, place }) in workflow.steps.iter().flat_map(WorkflowStep::routes) {
        let RouteTarget::Step(id) = target else { continue };
        if !known.contains(id) {
            let help = did_you_mean(id.as_str(), &workflow.steps, "name a step of this workflow, or `end`");
            reader.find(FindingCode::E04, *place, format!("there is no step `{id}`"), help);
            unknown = true;
        }
    }
    unknown
}

fn outcomes_are_routed(workflow: &Workflow, reader: &mut DefinitionReader<'_>) {
    for step in &workflow.steps {
        if !matches!(step.work, StepWork::Agent(_) | StepWork::Dispatch(_) | StepWork::Gate(_)) {
            continue;
        }
        let missing: Vec<StepOutcome> =
            outcomes(step).into_iter().filter(|outcome| step.route(outcome).is_none()).collect();
        for outcome in missing {
            let message = format!("nothing says where `{}` goes with `{outcome}`", step.id);
            reader.find(FindingCode::E06, step.place, message, format!("add `{outcome}: STEP` to its `next`"));
        }
    }
}

fn check_reachable(workflow: &Workflow, graph: &StepGraph, reader: &mut DefinitionReader<'_>) {
    let start = workflow.steps.iter().position(|step| step.id == workflow.start).unwrap_or(0);
    let reached = graph.after(start);
    for (index, step) in workflow.steps.iter().enumerate() {
        if index != start && !reached.has(index) {
            let help = "route an outcome to it, or remove it";
            reader.find(FindingCode::E05, step.place, format!("no route leads to `{}`", step.id), help);
        }
    }
}

/// What is done at the end is done once, and does not lead back.
fn check_finally(workflow: &Workflow, graph: &StepGraph, reader: &mut DefinitionReader<'_>) {
    let (Some((last, place)), Some(part)) = (&workflow.finally, graph.last_part(workflow)) else { return };
    let start = workflow.steps.iter().position(|step| step.id == workflow.start).unwrap_or(0);
    let reached = graph.after(start);
    let shared = part.iter().find(|index| *index == start || reached.has(*index));
    if let Some(index) = shared {
        let id = &workflow.steps[index].id;
        let message = format!("`{id}` belongs to what begins with `{last}`, and other routes lead to it");
        let before = index.checked_sub(1).map(|before| &workflow.steps[before]).filter(|before| {
            matches!(before.route(&StepOutcome::OK), Some(RouteTarget::Step(next)) if next == id)
                && !part.has(index - 1)
        });
        let help = match before {
            Some(before) => format!("`{}` stands before it and leads to it: write `next: end` there", before.id),
            None => {
                "the steps of `finally` are done after every end: let no other route lead to them, and none of theirs \
                     back"
                    .to_owned()
            }
        };
        reader.find(FindingCode::E21, *place, message, help);
    }
}

fn check_ends(workflow: &Workflow, graph: &StepGraph, reader: &mut DefinitionReader<'_>) {
    let ends = |index: &usize| {
        matches!(workflow.steps[*index].work, StepWork::End { .. }) || graph.ways[*index].contains(&GraphEdge::End)
    };
    let leading = graph.reversed().after_any((0..workflow.steps.len()).filter(ends));
    for (index, step) in workflow.steps.iter().enumerate() {
        if !ends(&index) && !leading.has(index) {
            let help = "route one of its outcomes to `end` or to a step of type `end`";
            reader.find(FindingCode::E07, step.place, format!("no end can be reached from `{}`", step.id), help);
        }
    }
}

/// Visits that are counted and rounds of a gate break a cycle; what is left must not go round.
fn check_bounds(workflow: &Workflow, reader: &mut DefinitionReader<'_>) {
    let graph = StepGraph::along(workflow, &|step, outcome| !is_bounded(step, outcome));
    let round: Vec<StepSet> = (0..workflow.steps.len()).map(|index| graph.after(index)).collect();
    let mut told = BTreeSet::new();
    for (index, step) in workflow.steps.iter().enumerate() {
        if !round[index].has(index) || told.contains(&index) {
            continue;
        }
        told.extend(round[index].iter().filter(|other| round[*other].has(index)));
        let message = format!("`{}` can be reached from itself without end", step.id);
        let help = "add `max_visits:` to a step of the cycle, and let its `exhausted` lead out of it";
        reader.find(FindingCode::E08, step.place, message, help);
    }
}

/// Whether a way can be taken a limited number of times only. A step whose visits are used up is still passed by
/// `exhausted`, one that is not needed by `skip`; a gate counts how often it fails, not how often it lets through.
fn is_bounded(step: &WorkflowStep, outcome: Option<&StepOutcome>) -> bool {
    let passed_by = outcome.is_some_and(|outcome| *outcome == StepOutcome::EXHAUSTED || *outcome == StepOutcome::SKIP);
    let sent_back = matches!(step.work, StepWork::Gate(_)) && outcome == Some(&StepOutcome::FAIL);
    (step.max_visits.is_some() && !passed_by) || sent_back
}
