//! Warnings about what is allowed but probably not meant.

use std::collections::BTreeSet;

use super::definition::{Action, Effects, Part, Step, Work, Workflow};
use super::finding::FindingCode;
use super::load::{Reader, outcomes};
use super::name::{Name, Outcome, StepId};
use super::scope::{self, Use};
use super::template::Reference;

pub(super) fn check(workflow: &Workflow, reader: &mut Reader<'_>) {
    let uses = scope::uses(workflow);
    unused(workflow, &uses, reader);
    let read: BTreeSet<&StepId> = uses
        .iter()
        .filter_map(|used| match used.reference {
            Reference::Result(step, _) => Some(step),
            Reference::Named(..) | Reference::Param(_) => None,
        })
        .collect();
    for step in &workflow.steps {
        // The reader of the sub-agents' findings knows which of them failed.
        if !(matches!(step.work, Work::Dispatch(_)) && read.contains(&step.id)) {
            one_way(step, reader);
        }
        optional_write(step, reader);
        silent_end(step, reader);
    }
}

fn unused(workflow: &Workflow, uses: &[Use<'_>], reader: &mut Reader<'_>) {
    let named: BTreeSet<&Name> = uses
        .iter()
        .filter_map(|used| match used.reference {
            Reference::Named(name, _) | Reference::Param(name) => Some(name),
            Reference::Result(..) => None,
        })
        .collect();
    for variable in workflow.variables.iter().filter(|variable| !named.contains(&variable.name)) {
        let help = "remove it, or use it";
        reader.find(FindingCode::W01, variable.place, format!("nothing reads `{}`", variable.name), help);
    }
    let shown: BTreeSet<&Name> = workflow
        .steps
        .iter()
        .filter_map(|step| match &step.work {
            Work::Output { template, .. } => Some(&template.0),
            _ => None,
        })
        .collect();
    for (name, template) in workflow.templates.iter().filter(|(name, _)| !shown.contains(name)) {
        reader.find(FindingCode::W01, template.place, format!("nothing shows the template `{name}`"), "remove it");
    }
}

fn one_way(step: &Step, reader: &mut Reader<'_>) {
    // What those find who verify is judged by a gate, not by how they end.
    let judged = step.work.review().is_some_and(|part| part.part == Part::Verify);
    let decides =
        matches!(step.work, Work::Agent(_) | Work::Dispatch(_) | Work::Question(_) | Work::Conditional { .. });
    let ways = step.ways();
    if decides && !judged && ways.len() > 1 && ways.iter().all(|(_, route)| route.target == ways[0].1.target) {
        let message = format!("all outcomes of `{}` lead to one place", step.id);
        reader.find(FindingCode::W02, step.place, message, "let a failure lead elsewhere, or declare one outcome");
    }
}

fn optional_write(step: &Step, reader: &mut Reader<'_>) {
    let writes = matches!(
        &step.work,
        Work::Command { action: Action::Program { .. } | Action::Shell { .. }, effects: Effects::Write, .. }
    );
    if step.optional && writes {
        let message = format!("`{}` may change something and fail, and the run goes on", step.id);
        reader.find(FindingCode::W03, step.place, message, "say `effect: read` if it changes nothing, or route `fail`");
    }
}

/// Other outcomes of this step are routed, but not its failure.
fn silent_end(step: &Step, reader: &mut Reader<'_>) {
    let routed = step.next.keys().any(|outcome| !matches!(outcome.as_str(), "ok" | "skip"));
    let fails = outcomes(step).contains(&Outcome::FAIL) && step.route(&Outcome::FAIL).is_none();
    if matches!(step.work, Work::Command { .. } | Work::Call(_)) && routed && fails && !step.optional {
        let message = format!("a failure of `{}` ends the run", step.id);
        reader.find(FindingCode::W04, step.place, message, "route `fail`, as its other outcomes are");
    }
}
