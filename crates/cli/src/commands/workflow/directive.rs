//! Output format of directives: the tool's own, unless another one is requested.

use std::io;
use std::path::PathBuf;

use maestro_api::runs::{RefusedRun, RunBody};
use maestro_core::closest_word;
use maestro_core::workflow::render::{self, RenderForm};
use maestro_core::workflow::tool::{CodingTool, ToolTable};
use maestro_skills::read_bounded;

use crate::args::RenderArgs;
use crate::client::CliClient;
use crate::client::runs;
use crate::host::world::World;
use crate::output::command_output::{CommandOutput, CommandResult};
use crate::output::error::CommandError;

/// Maximum size of the file of tools.
const MAX_TOOLS: u64 = 64 * 1024;

/// The tool, with the requested format.
pub(super) fn tool(args: &RenderArgs, world: &World) -> CommandResult<CodingTool> {
    let env = |name: &str| std::env::var(name).ok();
    let tool = tools(world)?.detect(args.tool.as_deref(), &env).map_err(|error| {
        let path = world.display_path(&own_tools(world));
        let meant = match &error.close {
            Some(close) => format!("did you mean `{close}`?"),
            None => format!("one of {}", error.known.join(", ")),
        };
        CommandError::invalid(error.to_string()).hint(meant).hint(format!("define your own tools in {path}"))
    })?;
    match args.format.as_deref() {
        None => Ok(tool),
        Some(named) => RenderForm::from_word(named).map(|form| tool.with_form(form)).ok_or_else(|| {
            let words = RenderForm::ALL.map(RenderForm::as_str);
            let error = CommandError::invalid(format!("unknown format `{named}`"));
            match closest_word::closest(named, words) {
                Some(close) => error.hint(format!("did you mean `{close}`?")),
                None => error.hint(format!("one of {}", words.join(", "))),
            }
        }),
    }
}

/// The known tools, with those of the user.
fn tools(world: &World) -> CommandResult<ToolTable> {
    let path = own_tools(world);
    let text = match read_bounded(&path, MAX_TOOLS) {
        Ok(contents) => String::from_utf8_lossy(&contents.bytes).into_owned(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(ToolTable::builtin()),
        Err(error) => return Err(CommandError::io(format!("cannot read {}", path.display()), &error)),
    };
    let (tools, mistakes) = ToolTable::builtin().extend_from_toml(&text);
    match mistakes.first() {
        None => Ok(tools),
        Some(first) => {
            let (line, column) = (first.place.line, first.place.column);
            let message = format!("{}:{line}:{column}: {}", world.display_path(&path), first.message);
            Err(CommandError::invalid(message).hint(first.help.clone()))
        }
    }
}

/// The user's file of tools.
fn own_tools(world: &World) -> PathBuf {
    world.user_config.with_file_name("tools.toml")
}

/// The current directive, after all executable ones were executed; as JSON, the whole run.
pub(super) fn next_reply(client: &CliClient, reply: RunBody, tool: &CodingTool, world: &World) -> CommandResult {
    let reply = runs::drive_run(client, reply, world)?;
    if world.json {
        return CommandOutput::json(&reply);
    }
    Ok(CommandOutput::text(render::render_reply(&runs::reply(reply), tool)))
}

/// Text for a report that a run refuses: the reason, and the current directive.
pub(super) fn refusal_reply(error: CommandError, tool: &CodingTool, world: &World) -> CommandResult {
    match error.details::<RefusedRun>() {
        Some(RefusedRun { run }) if !world.json => {
            let page = render::render_reply(&runs::reply(run), tool);
            Ok(CommandOutput::text(page).with_notes(error.to_text(world.note_paint)).with_exit(error.exit()))
        }
        _ => Err(error),
    }
}
