//! Output format of directives: the tool's own, unless another one is requested.

use std::io;
use std::path::PathBuf;

use maestro_api::runs::{RefusedRun, RunBody};
use maestro_core::suggest;
use maestro_core::workflow::render::{self, Form};
use maestro_core::workflow::tool::{Tool, Tools};
use maestro_skills::read_bounded;

use crate::args::FormArgs;
use crate::client::Client;
use crate::client::runs;
use crate::host::world::World;
use crate::output::error::CommandError;
use crate::output::reply::Reply;

/// Maximum size of the file of tools.
const MAX_TOOLS: u64 = 64 * 1024;

/// The tool, with the requested format.
pub(super) fn tool(args: &FormArgs, world: &World) -> Result<Tool, CommandError> {
    let env = |name: &str| std::env::var(name).ok();
    let tool = tools(world)?.detect(args.tool.as_deref(), &env).map_err(|error| {
        let path = world.short(&own_tools(world));
        let meant = match &error.close {
            Some(close) => format!("did you mean `{close}`?"),
            None => format!("one of {}", error.known.join(", ")),
        };
        CommandError::invalid(error.to_string()).hint(meant).hint(format!("define your own tools in {path}"))
    })?;
    match args.format.as_deref() {
        None => Ok(tool),
        Some(named) => Form::parse(named).map(|form| tool.in_form(form)).ok_or_else(|| {
            let words = Form::ALL.map(Form::word);
            let error = CommandError::invalid(format!("unknown format `{named}`"));
            match suggest::closest(named, words) {
                Some(close) => error.hint(format!("did you mean `{close}`?")),
                None => error.hint(format!("one of {}", words.join(", "))),
            }
        }),
    }
}

/// The known tools, with those of the user.
fn tools(world: &World) -> Result<Tools, CommandError> {
    let path = own_tools(world);
    let text = match read_bounded(&path, MAX_TOOLS) {
        Ok(contents) => String::from_utf8_lossy(&contents.bytes).into_owned(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Tools::builtin()),
        Err(error) => return Err(CommandError::io(format!("cannot read {}", path.display()), &error)),
    };
    let (tools, mistakes) = Tools::builtin().extended(&text);
    match mistakes.first() {
        None => Ok(tools),
        Some(first) => {
            let (line, column) = (first.place.line, first.place.column);
            let message = format!("{}:{line}:{column}: {}", world.short(&path), first.message);
            Err(CommandError::invalid(message).hint(first.help.clone()))
        }
    }
}

/// The user's file of tools.
fn own_tools(world: &World) -> PathBuf {
    world.user_config.with_file_name("tools.toml")
}

/// The current directive, after all executable ones were executed.
pub(super) fn told(client: &Client, reply: RunBody, tool: &Tool, world: &World) -> Result<Reply, CommandError> {
    let reply = runs::driven(client, reply, world)?;
    Ok(Reply::text(render::told(&runs::told(reply), tool)))
}

/// Text for a report that a run refuses: the reason, and the current directive.
pub(super) fn refused(error: CommandError, tool: &Tool, world: &World) -> Result<Reply, CommandError> {
    match error.details::<RefusedRun>() {
        Some(RefusedRun { run }) => {
            let page = render::told(&runs::told(run), tool);
            Ok(Reply::text(page).with_notes(error.to_text(world.note_paint)).ending(error.exit()))
        }
        None => Err(error),
    }
}
