//! `maestro workflow graph`: a drawing of a workflow, with the current step of a run.

use std::collections::BTreeMap;

use maestro_core::workflow::draw::{Notation, draw, svg};
use maestro_core::workflow::{StepId, Workflow};
use maestro_engine::workflows::Workflows;
use serde_json::json;

use crate::args::GraphFormat;
use crate::client::Client;
use crate::client::runs;
use crate::host::world::World;
use crate::output::error::CommandError;
use crate::output::reply::Reply;

pub(super) fn of_workflow(
    workflows: &Workflows<'_>,
    name: &str,
    format: GraphFormat,
    world: &World,
) -> Result<Reply, CommandError> {
    drawn(&workflows.definition(name)?.main, None, &BTreeMap::new(), format, world)
}

/// The workflow with which the run started; a workflow it calls is a step of it.
pub(super) fn of_run(id: &str, format: GraphFormat, world: &World) -> Result<Reply, CommandError> {
    let (run, pinned) = runs::state(&Client::open(world)?, id)?;
    let definition = pinned.definition().map_err(|error| CommandError::server(error.to_string()))?;
    let frame = run.frames.first();
    let current = frame.and_then(|frame| frame.position.as_ref()).map(|position| &position.step);
    let visits = frame.map(|frame| frame.visits.clone()).unwrap_or_default();
    drawn(&definition.main, current, &visits, format, world)
}

fn drawn(
    workflow: &Workflow,
    current: Option<&StepId>,
    visits: &BTreeMap<StepId, u32>,
    format: GraphFormat,
    world: &World,
) -> Result<Reply, CommandError> {
    let text = match format {
        GraphFormat::Mermaid => draw(workflow, Notation::Mermaid, current),
        GraphFormat::Dot => draw(workflow, Notation::Dot, current),
        GraphFormat::Svg => svg(workflow, current, visits),
    };
    if world.json { Reply::json(&json!({ "graph": text })) } else { Ok(Reply::text(text)) }
}
