//! Step of a workflow: its directive in the form of each tool, what it results in, and where it leads.

use maestro_core::workflow::definition::{RouteTarget, StepWork, WorkflowStep};
use maestro_core::workflow::directive::preview_step;
use maestro_core::workflow::executions::{ConsentExecution, list_executions};
use maestro_core::workflow::render::{RenderForm, render_reply};
use maestro_core::workflow::run::RunDefinition;
use maestro_core::workflow::run_reply::{NextAction, RunReply};
use maestro_core::workflow::tool::CodingTool;
use maestro_core::workflow::{ResultField, StepId};
use serde::Serialize;

use super::WorkflowsAddress;
use crate::mcp::directive_text;

maestro_core::word_enum! {
    /// The form in which a directive is shown.
    #[derive(Hash, Default)]
    pub enum StepForm {
        /// Plain text.
        #[default]
        Text = "text",
        /// XML.
        Xml = "xml",
        /// Markdown.
        Markdown = "markdown",
        /// As an MCP client gets it.
        Mcp = "mcp",
    }
}

impl std::str::FromStr for StepForm {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        Self::from_word(word).ok_or_else(|| format!("must be one of {}", Self::ALL.map(Self::as_str).join(", ")))
    }
}

/// A step as it is shown.
#[derive(Debug, Serialize)]
pub(super) struct StepDetail {
    pub(super) id: String,
    title: String,
    kind: &'static str,
    phase: Option<String>,
    place: String,
    /// Its directive; nothing where the engine does it.
    told: Option<String>,
    tabs: Vec<FormTab>,
    /// What the engine executes.
    commands: Vec<String>,
    /// What the engine does at it, where there is no directive.
    does: &'static str,
    result: Vec<ResultLine>,
    routes: Vec<RouteLine>,
}

/// A form that can be chosen.
#[derive(Debug, Serialize)]
struct FormTab {
    name: &'static str,
    href: String,
    here: bool,
}

/// A field of the result.
#[derive(Debug, Serialize)]
struct ResultLine {
    name: String,
    word: &'static str,
    description: Option<String>,
}

/// Where an outcome leads.
#[derive(Debug, Serialize)]
struct RouteLine {
    outcome: String,
    target: String,
    href: Option<String>,
}

impl StepDetail {
    pub(super) fn of(address: &WorkflowsAddress, definition: &RunDefinition, id: &StepId) -> Option<Self> {
        let step = definition.main.step(id)?;
        let told = preview_step(definition, id).map(|told| rendered(&told, address.form));
        let tab = |form: StepForm| FormTab {
            name: match form {
                StepForm::Text => "Text",
                StepForm::Xml => "XML",
                StepForm::Markdown => "Markdown",
                StepForm::Mcp => "MCP",
            },
            href: format!("{}#step", WorkflowsAddress { form, ..address.with_step(id) }.address()),
            here: form == address.form,
        };
        let executions = list_executions(&definition.main);
        let own = format!("step {id}");
        let own = executions.iter().filter(|execution| execution.cause.to_string().starts_with(&own));
        Some(Self {
            id: id.to_string(),
            title: step.title.clone(),
            kind: step.work.word(),
            phase: step.phase.clone().map(String::from),
            place: format!("line {}", step.place.line),
            told,
            tabs: StepForm::ALL.map(tab).into_iter().collect(),
            commands: own.map(ConsentExecution::written).collect(),
            does: engine_words(step),
            result: result_fields(step).iter().map(result_line).collect(),
            routes: step
                .routes()
                .into_iter()
                .map(|(outcome, route)| route_line(address, outcome, &route.target))
                .collect(),
        })
    }
}

fn rendered(told: &RunReply, form: StepForm) -> String {
    let plain = |form: RenderForm| render_reply(told, &CodingTool::unknown().with_form(form));
    match (form, &told.next) {
        (StepForm::Mcp, NextAction::Directive { directive }) => directive_text((**directive).clone()),
        (StepForm::Text | StepForm::Mcp, _) => plain(RenderForm::Text),
        (StepForm::Xml, _) => plain(RenderForm::Xml),
        (StepForm::Markdown, _) => plain(RenderForm::Markdown),
    }
}

/// What the engine does at a step without a directive.
fn engine_words(step: &WorkflowStep) -> &'static str {
    match &step.work {
        StepWork::Agent(_) | StepWork::Dispatch(_) | StepWork::Question(_) => "",
        StepWork::Command { .. } => "Maestro executes this by itself.",
        StepWork::Output { .. } => "Maestro shows a text to the person.",
        StepWork::Conditional { .. } => "Maestro decides by the conditions where the run goes.",
        StepWork::Set(_) => "Maestro remembers values.",
        StepWork::Gate(_) => "Maestro computes from review items and executed checks whether the run passes.",
        StepWork::Call(_) => "Another workflow is walked through.",
        StepWork::End { .. } => "The run ends here.",
    }
}

fn result_fields(step: &WorkflowStep) -> &[ResultField] {
    match &step.work {
        StepWork::Agent(agent) => &agent.result,
        _ => &[],
    }
}

fn result_line(field: &ResultField) -> ResultLine {
    ResultLine { name: field.name.to_string(), word: field.kind.word(), description: field.description.clone() }
}

fn route_line(address: &WorkflowsAddress, outcome: String, target: &RouteTarget) -> RouteLine {
    match target {
        RouteTarget::Step(step) => RouteLine {
            outcome,
            target: step.to_string(),
            href: Some(format!("{}#step", address.with_step(step).address())),
        },
        RouteTarget::End => RouteLine { outcome, target: "end".to_owned(), href: None },
    }
}
