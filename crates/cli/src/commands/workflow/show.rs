//! `maestro workflow show`: parameters, steps and transitions of a workflow.

use std::fmt::Write as _;

use maestro_core::workflow::Workflow;
use maestro_core::workflow::definition::{RouteTarget, Variable, WorkflowStep};
use maestro_core::workflow::value_type::ValueType;
use maestro_engine::workflows::WorkflowIndex;
use serde_json::{Map, Value as Json, json};

use crate::host::world::World;
use crate::output::command_output::{CommandOutput, CommandResult};
use crate::output::screen::{clean, clean_path};

pub(super) fn run(workflows: &WorkflowIndex<'_>, name: &str, world: &World) -> CommandResult {
    let definition = workflows.definition(name)?;
    let loaded = workflows.find(name)?;
    let workflow = &definition.main;
    if world.json {
        return CommandOutput::json(&to_json(workflow, &loaded.source.path.to_string_lossy()));
    }
    let paint = world.paint;
    let mut text = format!("{}\n", paint.strong(&clean(&loaded.source.name)));
    if !workflow.description.is_empty() {
        let _ = writeln!(text, "{}", clean(&workflow.description));
    }
    let _ = writeln!(text, "{}", paint.dim(&clean_path(&loaded.source.path.to_string_lossy())));
    if !workflow.params.is_empty() {
        let _ = writeln!(text, "\nParameters");
        for param in &workflow.params {
            let _ = writeln!(text, "  {}", clean(&param_text(param)));
        }
    }
    let _ = writeln!(text, "\nSteps");
    for (index, step) in workflow.steps.iter().enumerate() {
        let title = if step.title == step.id.as_str() { String::new() } else { format!("  {}", clean(&step.title)) };
        let _ = writeln!(
            text,
            "  {:>2}. {} {}{title}",
            index + 1,
            paint.strong(step.id.as_str()),
            paint.dim(step.work.word())
        );
        let ways = route_lines(step);
        if !ways.is_empty() {
            let _ = writeln!(text, "      {}", clean(&ways.join(", ")));
        }
    }
    Ok(CommandOutput::text(text))
}

/// A parameter for people.
pub(in crate::commands) fn param_text(param: &Variable) -> String {
    let needed = match &param.default {
        Some(default) => format!(", default {default}"),
        None if param.required => ", required".to_owned(),
        None => String::new(),
    };
    let about = param.description.as_ref().map(|about| format!(": {about}")).unwrap_or_default();
    format!("{} ({}{needed}){about}", param.name, kind_text(&param.kind))
}

/// A type for people, with the values to choose from.
fn kind_text(kind: &ValueType) -> String {
    match kind {
        ValueType::Enum(values) => format!("enum {}", values.join("|")),
        kind => kind.word().to_owned(),
    }
}

fn route_lines(step: &WorkflowStep) -> Vec<String> {
    step.routes().into_iter().map(|(word, route)| format!("{word} → {}", target(&route.target))).collect()
}

fn target(target: &RouteTarget) -> &str {
    match target {
        RouteTarget::Step(id) => id.as_str(),
        RouteTarget::End => "end",
    }
}

fn to_json(workflow: &Workflow, path: &str) -> Json {
    let param = |param: &Variable| {
        json!({
            "name": param.name,
            "type": param.kind.word(),
            "required": param.required,
            "default": param.default,
            "description": param.description,
        })
    };
    let step = |step: &WorkflowStep| {
        let next: Map<String, Json> =
            step.routes().into_iter().map(|(word, route)| (word, json!(target(&route.target)))).collect();
        json!({"id": step.id, "type": step.work.word(), "title": step.title, "phase": step.phase, "next": next})
    };
    json!({
        "name": workflow.name,
        "version": workflow.version,
        "description": workflow.description,
        "category": workflow.category,
        "compatibility": workflow.compatibility,
        "path": path,
        "start": workflow.start,
        "params": workflow.params.iter().map(param).collect::<Vec<_>>(),
        "steps": workflow.steps.iter().map(step).collect::<Vec<_>>(),
    })
}
