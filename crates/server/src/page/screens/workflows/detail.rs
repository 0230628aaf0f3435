//! Everything about one workflow: its graph, findings, parameters, and the selected step.

use std::path::Path;

use maestro_core::workflow::draw::{GraphMarks, draw_linked_svg};
use maestro_core::workflow::{StepId, Workflow, WorkflowFinding};
use maestro_engine::trust::needs_consent;
use maestro_engine::workflows::WorkflowIndex;
use maestro_skills::Catalogue;
use serde::Serialize;

use super::WorkflowsAddress;
use super::list::{WorkflowLine, lines};
use super::param_field::ParamField;
use super::step::StepDetail;

/// A workflow as it is shown.
#[derive(Debug, Serialize)]
pub(super) struct WorkflowDetail {
    pub(super) name: String,
    description: String,
    version: Option<String>,
    category: Option<String>,
    aliases: Vec<String>,
    path: String,
    /// The graph, drawn; nothing where it has errors.
    svg: Option<String>,
    findings: Vec<FindingLine>,
    errors: usize,
    pub(super) params: Vec<ParamField>,
    pub(super) step: Option<StepDetail>,
    /// Whether it executes something or starts agents, and did not come with Maestro.
    needs_consent: bool,
}

/// A finding, and where it is.
#[derive(Debug, Serialize)]
struct FindingLine {
    code: &'static str,
    is_error: bool,
    place: String,
    message: String,
    help: String,
}

/// All workflows of a catalogue, and the one that an address names.
pub(super) fn read_workflows(
    address: &WorkflowsAddress,
    catalogue: &Catalogue,
    directory: &Path,
) -> (Vec<WorkflowLine>, Option<WorkflowDetail>) {
    let workflows = WorkflowIndex::of(catalogue, directory);
    let detail = address.name.as_ref().and_then(|name| WorkflowDetail::load(address, &workflows, name));
    (lines(address, &workflows), detail)
}

impl WorkflowDetail {
    /// Everything about the workflow of a name; nothing where there is none.
    fn load(address: &WorkflowsAddress, workflows: &WorkflowIndex<'_>, name: &str) -> Option<Self> {
        let loaded = workflows.find(name).ok()?;
        let file = loaded.source.path.file_name().map(|file| file.to_string_lossy().into_owned()).unwrap_or_default();
        let findings: Vec<FindingLine> = loaded.findings.iter().map(|finding| finding_line(finding, &file)).collect();
        let workflow = loaded.workflow.as_ref();
        let selected = address.step.as_ref().and_then(|step| StepId::parse(step).ok());
        let pinned = workflow.and_then(|_| workflows.pinned(&loaded.source.name).ok());
        let definition = pinned.as_ref().and_then(|pinned| pinned.definition().ok());
        let step = definition.as_ref().zip(selected.as_ref());
        Some(Self {
            name: loaded.source.name.clone(),
            description: workflow.map(|workflow| workflow.description.clone()).unwrap_or_default(),
            version: workflow.and_then(|workflow| workflow.version.clone()),
            category: workflow.and_then(|workflow| workflow.category.clone()),
            aliases: workflow.map(|workflow| workflow.aliases.clone()).unwrap_or_default(),
            path: loaded.source.path.display().to_string(),
            svg: workflow.map(|workflow| drawn(address, workflow, selected.as_ref())),
            errors: findings.iter().filter(|finding| finding.is_error).count(),
            findings,
            params: workflow.map(|workflow| workflow.params.iter().map(ParamField::of).collect()).unwrap_or_default(),
            step: step.and_then(|(definition, step)| StepDetail::of(address, definition, step)),
            needs_consent: pinned.is_some_and(|pinned| needs_consent(&pinned.definitions)),
        })
    }
}

fn drawn(address: &WorkflowsAddress, workflow: &Workflow, selected: Option<&StepId>) -> String {
    let marks = GraphMarks { selected: selected.cloned(), ..GraphMarks::default() };
    draw_linked_svg(workflow, &marks, &|step| format!("{}#step", address.with_step(step).address()))
}

fn finding_line(finding: &WorkflowFinding, file: &str) -> FindingLine {
    FindingLine {
        code: finding.code.as_str(),
        is_error: finding.is_error(),
        place: format!("{file}:{}:{}", finding.place.line, finding.place.column),
        message: finding.message.clone(),
        help: finding.help.clone(),
    }
}
