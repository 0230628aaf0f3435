//! Warnings about what is allowed but probably not meant.

use std::collections::BTreeSet;

use super::definition::{CommandAction, CommandEffects, ReviewStage, StepWork, Workflow, WorkflowStep};
use super::finding::FindingCode;
use super::load::{DefinitionReader, outcomes};
use super::name::{Name, StepId, StepOutcome};
use super::name_uses::{self, NameUse};
use super::template::ValueReference;

pub(super) fn check_warnings(workflow: &Workflow, reader: &mut DefinitionReader<'_>) {
    let uses = name_uses::name_uses(workflow);
    if !reader.has_unread_texts() {
        unused(workflow, &uses, reader);
    }
    doubled_braces(workflow, reader);
    let read: BTreeSet<&StepId> = uses
        .iter()
        .filter_map(|used| match used.reference {
            ValueReference::Result(step, _) => Some(step),
            ValueReference::Named(..) | ValueReference::Param(_) => None,
        })
        .collect();
    for step in &workflow.steps {
        // The reader of the sub-agents' findings knows which of them failed.
        if !(matches!(step.work, StepWork::Dispatch(_)) && read.contains(&step.id)) {
            one_way(step, reader);
        }
        optional_write(step, reader);
        silent_end(step, reader);
    }
}

fn unused(workflow: &Workflow, uses: &[NameUse<'_>], reader: &mut DefinitionReader<'_>) {
    let named: BTreeSet<&Name> = uses
        .iter()
        .filter_map(|used| match used.reference {
            ValueReference::Named(name, _) | ValueReference::Param(name) => Some(name),
            ValueReference::Result(..) => None,
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
            StepWork::Output { template, .. } => Some(&template.0),
            _ => None,
        })
        .collect();
    for (name, template) in workflow.templates.iter().filter(|(name, _)| !shown.contains(name)) {
        reader.find(FindingCode::W01, template.place, format!("nothing shows the template `{name}`"), "remove it");
    }
}

/// `{{ name }}` is a placeholder elsewhere; here it is the text `{ name }`.
fn doubled_braces(workflow: &Workflow, reader: &mut DefinitionReader<'_>) {
    let is_declared = |name: &Name| workflow.variable(name).is_some() || workflow.param(name).is_some();
    let meant: Vec<_> = reader.doubled_names().iter().filter(|(name, _)| is_declared(name)).cloned().collect();
    for (name, place) in meant {
        let message = format!("doubled braces are text: this prints a brace, not the value of `{name}`");
        reader.find(FindingCode::W06, place, message, format!("write `{{{name}}}` for the value"));
    }
    for place in reader.foreign_marks().to_vec() {
        let message = "`${{ … }}` is text: no value is inserted here";
        reader.find(FindingCode::W06, place, message, "write `{name}` for the value of a parameter or variable");
    }
}

fn one_way(step: &WorkflowStep, reader: &mut DefinitionReader<'_>) {
    // What those find who verify is judged by a gate, not by how they end.
    let judged = step.work.review().is_some_and(|part| part.part == ReviewStage::Verify);
    let decides = matches!(
        step.work,
        StepWork::Agent(_) | StepWork::Dispatch(_) | StepWork::Question(_) | StepWork::Conditional { .. }
    );
    let ways = step.routes();
    if decides && !judged && ways.len() > 1 && ways.iter().all(|(_, route)| route.target == ways[0].1.target) {
        let message = format!("all outcomes of `{}` lead to one place", step.id);
        reader.find(FindingCode::W02, step.place, message, "let a failure lead elsewhere, or declare one outcome");
    }
}

fn optional_write(step: &WorkflowStep, reader: &mut DefinitionReader<'_>) {
    let writes = matches!(
        &step.work,
        StepWork::Command {
            action: CommandAction::Program { .. } | CommandAction::Shell { .. },
            effects: CommandEffects::Write,
            ..
        }
    );
    if step.optional && writes && step.route(&StepOutcome::FAIL).is_none() {
        let message = format!("`{}` may change something and fail, and the run goes on", step.id);
        reader.find(FindingCode::W03, step.place, message, "say `effect: read` if it changes nothing, or route `fail`");
    }
}

/// Other outcomes of this step are routed, but not its failure.
fn silent_end(step: &WorkflowStep, reader: &mut DefinitionReader<'_>) {
    let routed = step.next.keys().any(|outcome| !matches!(outcome.as_str(), "ok" | "skip"));
    let fails = outcomes(step).contains(&StepOutcome::FAIL) && step.route(&StepOutcome::FAIL).is_none();
    if matches!(step.work, StepWork::Command { .. } | StepWork::Call(_)) && routed && fails && !step.optional {
        let message = format!("a failure of `{}` ends the run", step.id);
        reader.find(FindingCode::W04, step.place, message, "route `fail`, as its other outcomes are");
    }
}
