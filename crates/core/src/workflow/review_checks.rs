//! Checks of a workflow's gates and reviews.

use super::definition::{ReviewStage, RouteTarget, StepWork, Workflow};
use super::finding::FindingCode;
use super::graph::StepGraph;
use super::load::DefinitionReader;
use super::name::{Name, StepOutcome};

pub(super) fn check_reviews(workflow: &Workflow, reader: &mut DefinitionReader<'_>) {
    let graph = StepGraph::of(workflow);
    for step in &workflow.steps {
        let StepWork::Gate(gate) = &step.work else { continue };
        if gate.review.is_none() && gate.checks.is_empty() {
            let help = "add `review:` with a review's name, or `checks:` with the ids of command steps";
            reader.find(FindingCode::E15, step.place, format!("`{}` judges nothing", step.id), help);
        }
        for check in &gate.checks {
            if workflow.step(&check.step).is_some_and(|step| !matches!(step.work, StepWork::Command { .. })) {
                let message = format!("`{}` executes nothing that could be checked", check.step);
                reader.find(FindingCode::E15, check.place, message, "name a step of type `command`");
            }
        }
        comes_back(workflow, &graph, step, reader);
    }
    for (name, review) in &workflow.reviews {
        for (part, does) in
            [(ReviewStage::Decompose, "says what it consists of"), (ReviewStage::Verify, "checks its items")]
        {
            if !has(workflow, name, part) {
                let help = format!("add `review: {{name: {name}, part: {}}}` to a step", part.as_str());
                reader.find(FindingCode::E15, review.place, format!("no step of review `{name}` {does}"), help);
            }
        }
    }
}

fn has(workflow: &Workflow, review: &Name, part: ReviewStage) -> bool {
    let parts = workflow.steps.iter().filter_map(|step| step.work.review());
    parts.filter(|found| found.review == *review).any(|found| found.part == part)
}

/// What failed at a gate must come by again.
fn comes_back(
    workflow: &Workflow,
    graph: &StepGraph,
    gate: &super::definition::WorkflowStep,
    reader: &mut DefinitionReader<'_>,
) {
    let Some(route) = gate.next.get(&StepOutcome::FAIL) else { return };
    let index = |target: &RouteTarget| match target {
        RouteTarget::Step(id) => workflow.steps.iter().position(|step| step.id == *id),
        RouteTarget::End => None,
    };
    let own = workflow.steps.iter().position(|step| step.id == gate.id);
    let back = index(&route.target).zip(own);
    let back = back.is_some_and(|(from, own)| from == own || graph.after(from).has(own));
    if !back {
        let help = "route `fail` to the step that fixes the work, and from there back here";
        let message = format!("what fails at `{}` never comes back to it", gate.id);
        reader.find(FindingCode::E15, route.place, message, help);
    }
}
