//! Preview of a step: what would be told at it, before any run has come there.
//!
//! Values that only a run knows are written as their names, so that a reader sees where they go.

use std::collections::BTreeMap;

use serde_json::{Map, Value as Json, json};

use super::{DirectiveContext, build_directive};
use crate::workflow::definition::{DispatchMode, QuestionOptions, StepWork, Variable, Workflow, WorkflowStep};
use crate::workflow::name::StepId;
use crate::workflow::run::{
    AskedQuestion, CallFrame, DispatchChild, Run, RunDefinition, RunStatus, StepVisit, StepWait, implied_options,
};
use crate::workflow::run_reply::{NextAction, RunReply};
use crate::workflow::value_type::ValueType;

/// What a reply calls a run that there is not.
const NO_RUN: &str = "RUN";

/// What an agent or a person would be told at a step; nothing where the engine does it by itself.
pub fn preview_step(definition: &RunDefinition, step: &StepId) -> Option<RunReply> {
    let workflow = &definition.main;
    let step = workflow.step(step)?;
    let wait = first_wait(workflow, step)?;
    let frame = CallFrame {
        workflow: workflow.name.clone(),
        params: named_values(&workflow.params),
        variables: named_values(&workflow.variables),
        visits: BTreeMap::from([(step.id.clone(), 1)]),
        transitions: 0,
        results: BTreeMap::new(),
        reviews: BTreeMap::new(),
        trees: BTreeMap::new(),
        rounds: BTreeMap::new(),
        refusals: BTreeMap::new(),
        attempts: BTreeMap::new(),
        position: Some(StepVisit { step: step.id.clone(), visit: 1, entered: 0, entry: 0, wait, serial: None }),
        waited: Vec::new(),
        ending: None,
        branch: None,
    };
    let run = Run { status: RunStatus::Active, frames: vec![frame], ..Run::default() };
    let context = DirectiveContext { run: NO_RUN, program: "maestro" };
    let directive = build_directive(definition, &run, context)?;
    let next = NextAction::Directive { directive: Box::new(directive) };
    Some(RunReply { run: NO_RUN.to_owned(), updates: Vec::new(), next })
}

/// What a run waits for when it comes to a step.
fn first_wait(workflow: &Workflow, step: &WorkflowStep) -> Option<StepWait> {
    match &step.work {
        StepWork::Agent(_) => Some(StepWait::Agent),
        StepWork::Dispatch(dispatch) => {
            let many = if let DispatchMode::Roster(entries) = &dispatch.mode { entries.len() } else { 1 };
            let child = |number: usize| {
                let items = match &dispatch.mode {
                    DispatchMode::Roster(entries) => entries.get(number - 1).map(|entry| {
                        let filled = entry.values.iter().map(|(name, value)| (name.to_string(), json!(value.text)));
                        Json::Object(filled.collect())
                    }),
                    DispatchMode::Template { .. } => Some(json!("‹item›")),
                    DispatchMode::Single => None,
                };
                let items = items.into_iter().collect();
                DispatchChild::new(number - 1, items)
            };
            Some(StepWait::Children((1..=many).map(child).collect()))
        }
        StepWork::Question(question) => {
            let options = match &question.options {
                QuestionOptions::Free => implied_options(workflow, step),
                QuestionOptions::Listed(options) => Some(options.clone()),
                QuestionOptions::Variable(..) | QuestionOptions::Command(_) => None,
            };
            Some(StepWait::Answer(AskedQuestion {
                options,
                titles: question.titles.clone(),
                ..AskedQuestion::default()
            }))
        }
        StepWork::Command { .. }
        | StepWork::Output { .. }
        | StepWork::Conditional { .. }
        | StepWork::Set(_)
        | StepWork::Gate(_)
        | StepWork::Call(_)
        | StepWork::End { .. } => None,
    }
}

/// Declared values: what each holds from the beginning, or its name.
fn named_values(declared: &[Variable]) -> Map<String, Json> {
    let value = |variable: &Variable| match (&variable.default, &variable.kind) {
        (Some(Json::String(text)), ValueType::Text | ValueType::Path) if text.is_empty() => named(variable),
        (Some(default), _) => default.clone(),
        (None, ValueType::Text | ValueType::Path | ValueType::Enum(_)) => named(variable),
        (None, kind) => kind.empty(),
    };
    declared.iter().map(|variable| (variable.name.to_string(), value(variable))).collect()
}

fn named(variable: &Variable) -> Json {
    Json::String(format!("‹{}›", variable.name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workflow::load::{LoadEnvironment, load_workflow};
    use crate::workflow::render::{RenderForm, render_reply};
    use crate::workflow::tool::CodingTool;

    const EXAMPLE: &str = include_str!("../../../../../examples/reviewed-change/workflow.yaml");

    #[test]
    fn each_step_that_tells_something_can_be_read_before_a_run() {
        let (workflow, findings) = load_workflow(EXAMPLE, &LoadEnvironment::none());
        let definition = RunDefinition::alone(workflow.unwrap_or_else(|| panic!("{findings:?}")));
        for step in &definition.main.steps {
            let told = preview_step(&definition, &step.id);
            let asks = matches!(step.work, StepWork::Agent(_) | StepWork::Dispatch(_) | StepWork::Question(_));
            assert_eq!(told.is_some(), asks, "{}", step.id);
            for form in [RenderForm::Text, RenderForm::Xml, RenderForm::Markdown] {
                let Some(told) = &told else { continue };
                assert!(!render_reply(told, &CodingTool::unknown().with_form(form)).trim().is_empty());
            }
        }
    }
}
