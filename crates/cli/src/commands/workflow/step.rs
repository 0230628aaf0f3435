//! `maestro workflow step`: one step by its number, printed without a run.

use maestro_core::workflow::stateless::{Request, Verdict, page};
use maestro_engine::workflows::Workflows;
use serde_json::json;

use super::turn;
use crate::args::{FormArgs, QrStatus, StepArgs};
use crate::host::world::World;
use crate::output::error::CommandError;
use crate::output::reply::Reply;

pub(super) fn run(workflows: &Workflows<'_>, args: &StepArgs, world: &World) -> Result<Reply, CommandError> {
    let tool = turn::tool(&FormArgs { format: None, tool: args.tool.clone() }, world)?;
    let definition = workflows.definition(&args.name)?;
    let request = Request {
        step: args.step,
        total: args.total_steps,
        iteration: args.qr_iteration,
        again: args.qr_fail,
        verdict: args.qr_status.map(|status| match status {
            QrStatus::Pass => Verdict::Pass,
            QrStatus::Fail => Verdict::Fail,
        }),
    };
    let page = page(&definition.main, &args.name, &request, &tool).map_err(|refused| {
        let name = &args.name;
        CommandError::invalid(format!("`{name}`: {refused}"))
            .hint(format!("run `maestro workflow show {name}` for the steps and their numbers"))
    })?;
    if world.json { Reply::json(&json!({ "page": page })) } else { Ok(Reply::text(page)) }
}
