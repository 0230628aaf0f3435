//! `maestro workflow graph`: a drawing of a workflow, with the current step of a run.

use std::collections::BTreeMap;

use maestro_core::workflow::draw::{GraphNotation, draw_graph, draw_svg};
use maestro_core::workflow::{StepId, Workflow};
use maestro_engine::workflows::WorkflowIndex;
use serde_json::json;

use crate::args::GraphFormat;
use crate::client::CliClient;
use crate::client::runs;
use crate::host::world::World;
use crate::output::command_output::{CommandOutput, CommandResult};
use crate::output::error::CommandError;

pub(super) fn of_workflow(
    workflows: &WorkflowIndex<'_>,
    name: &str,
    format: GraphFormat,
    world: &World,
) -> CommandResult {
    print_graph(&workflows.definition(name)?.main, None, &BTreeMap::new(), format, world)
}

/// The workflow with which the run started; a workflow it calls is a step of it.
pub(super) fn of_run(id: &str, format: GraphFormat, world: &World) -> CommandResult {
    let (run, pinned) = runs::state(&CliClient::open(world)?, id)?;
    let definition = pinned.definition().map_err(|error| CommandError::server(error.to_string()))?;
    let frame = run.frames.first();
    let current = frame.and_then(|frame| frame.position.as_ref()).map(|position| &position.step);
    let visits = frame.map(|frame| frame.visits.clone()).unwrap_or_default();
    print_graph(&definition.main, current, &visits, format, world)
}

fn print_graph(
    workflow: &Workflow,
    current: Option<&StepId>,
    visits: &BTreeMap<StepId, u32>,
    format: GraphFormat,
    world: &World,
) -> CommandResult {
    let text = match format {
        GraphFormat::Mermaid => draw_graph(workflow, GraphNotation::Mermaid, current),
        GraphFormat::Dot => draw_graph(workflow, GraphNotation::Dot, current),
        GraphFormat::Svg => draw_svg(workflow, current, visits),
    };
    if world.json { CommandOutput::json(&json!({ "graph": text })) } else { Ok(CommandOutput::text(text)) }
}
