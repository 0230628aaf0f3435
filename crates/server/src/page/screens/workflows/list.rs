//! List of workflows: those with errors first, then by name.

use maestro_core::excerpt::ellipsize;
use maestro_engine::workflows::{LoadedWorkflow, WorkflowIndex};
use serde::Serialize;

use super::WorkflowsAddress;

/// How many characters of a description are shown.
const LINE: usize = 160;

/// A workflow in the list.
#[derive(Debug, Clone, Serialize)]
pub(super) struct WorkflowLine {
    pub(super) name: String,
    text: String,
    category: Option<String>,
    steps: usize,
    sound: bool,
    findings: usize,
    href: String,
}

/// The workflows that can be started, and those that have errors.
pub(super) fn lines(address: &WorkflowsAddress, workflows: &WorkflowIndex<'_>) -> Vec<WorkflowLine> {
    let loaded = workflows.all().iter().filter_map(|source| workflows.load(source).ok());
    let mut lines: Vec<WorkflowLine> =
        loaded.filter(LoadedWorkflow::is_listed).map(|loaded| line(address, &loaded)).collect();
    lines.sort_by(|one, other| one.sound.cmp(&other.sound).then_with(|| one.name.cmp(&other.name)));
    lines
}

fn line(address: &WorkflowsAddress, loaded: &LoadedWorkflow) -> WorkflowLine {
    let workflow = loaded.workflow.as_ref();
    let text = workflow.map(|workflow| workflow.description.split_whitespace().collect::<Vec<_>>().join(" "));
    WorkflowLine {
        name: loaded.source.name.clone(),
        text: ellipsize(&text.unwrap_or_default(), LINE),
        category: workflow.and_then(|workflow| workflow.category.clone()),
        steps: workflow.map_or(0, |workflow| workflow.steps.len()),
        sound: loaded.is_sound(),
        findings: loaded.findings.len(),
        href: address.with_name(&loaded.source.name).address(),
    }
}
