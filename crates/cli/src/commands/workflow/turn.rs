//! In which form is somebody told what to do now? The tool's own, unless another one is asked for.

use maestro_core::suggest;
use maestro_core::workflow::render::{self, Form};
use maestro_core::workflow::tool::Tool;

use crate::args::FormArgs;
use crate::client::Client;
use crate::error::CommandError;
use crate::reply::Reply;
use crate::runs::{self, RunReply};
use crate::world::World;

/// The tool that asks, told in the form that was asked for.
pub(super) fn tool(args: &FormArgs, _: &World) -> Result<Tool, CommandError> {
    let tool = Tool::unknown();
    match args.format.as_deref() {
        None => Ok(tool),
        Some(word) => Form::parse(word).map(|form| tool.in_form(form)).ok_or_else(|| {
            let words = Form::ALL.map(Form::word);
            let error = CommandError::invalid(format!("there is no form `{word}`"));
            match suggest::closest(word, words) {
                Some(close) => error.hint(format!("did you mean `{close}`?")),
                None => error.hint(format!("one of {}", words.join(", "))),
            }
        }),
    }
}

/// What is to be done now, after everything was executed that is ordered.
pub(super) fn told(client: &Client, reply: RunReply, tool: &Tool, world: &World) -> Result<Reply, CommandError> {
    let reply = runs::driven(client, reply, world)?;
    Ok(Reply::text(render::told(&reply.told(), tool)))
}

/// What is told when a run does not take what was said: the reason, and what is to be done all the same.
pub(super) fn refused(error: CommandError, tool: &Tool, world: &World) -> Result<Reply, CommandError> {
    let run = error.detail("run").and_then(|run| serde_json::from_value::<RunReply>(run.clone()).ok());
    match run {
        Some(run) => {
            let page = render::told(&run.told(), tool);
            Ok(Reply::text(page).with_notes(error.to_text(world.note_paint)).ending(error.exit()))
        }
        None => Err(error),
    }
}
