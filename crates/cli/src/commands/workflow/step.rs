//! `maestro workflow step`: one step by its number, printed without a run.

use maestro_core::workflow::stateless::{DeclaredVerdict, StatelessRequest, page};
use maestro_engine::workflows::WorkflowIndex;
use serde_json::json;

use super::directive;
use crate::args::{QrStatus, RenderArgs, WorkflowStepArgs};
use crate::host::world::World;
use crate::output::command_output::{CommandOutput, CommandResult};
use crate::output::error::CommandError;

pub(super) fn run(workflows: &WorkflowIndex<'_>, args: &WorkflowStepArgs, world: &World) -> CommandResult {
    let tool = directive::tool(&RenderArgs { format: None, tool: args.tool.clone() }, world)?;
    let definition = workflows.definition(&args.name)?;
    let request = StatelessRequest {
        step: args.step,
        total: args.total_steps,
        iteration: args.qr_iteration,
        again: args.qr_fail,
        verdict: args.qr_status.map(|status| match status {
            QrStatus::Pass => DeclaredVerdict::Pass,
            QrStatus::Fail => DeclaredVerdict::Fail,
        }),
    };
    let page = page(&definition.main, &args.name, &request, &tool).map_err(|refused| {
        let name = &args.name;
        CommandError::invalid(format!("`{name}`: {refused}"))
            .hint(format!("run `maestro workflow show {name}` for the steps and their numbers"))
    })?;
    if world.json { CommandOutput::json(&json!({ "page": page })) } else { Ok(CommandOutput::text(page)) }
}
