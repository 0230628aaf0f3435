//! `maestro connect` and `maestro disconnect`: Maestro in the settings of your coding tools.

mod diff;
mod folders;
mod parts;
mod shown;
pub(super) mod target;
mod tool;
mod triggers;
mod undone;

use maestro_core::connect::{
    Before, Client, EditError, Location, Put, SERVER, Scope, Slot, Undo, calls_maestro, missing_around, put,
};

use self::parts::{File, Hooks, Part};
use self::shown::{Change, State};
use self::target::Target;
use self::tool::{Named, Tool};
use crate::args::{ConnectArgs, DisconnectArgs};
use crate::host::connections::{Connections, Ledger};
use crate::host::world::World;
use crate::output::error::CommandError;
use crate::output::question::{Silence, agreed};
use crate::output::reply::Reply;

pub(crate) fn connect(args: &ConnectArgs, world: &World) -> Result<Reply, CommandError> {
    let scope = args.scope.into();
    let tools = match tool::named(&args.clients)? {
        Named::These(tools) => tools,
        Named::All => tool::here(scope, world)?,
    };
    let triggers = triggers::wanted(&args.workflow, world)?;
    if tools.contains(&Tool::Aider) && triggers.is_empty() {
        return Err(CommandError::invalid("Aider does not support MCP")
            .hint("add a workflow: `maestro connect aider --workflow NAME`"));
    }
    let idle: Vec<Tool> =
        tools.iter().copied().filter(|tool| args.hooks && hooks_file(*tool, scope).is_none()).collect();
    // All questions come before any file is read, since answers take time, and tools write meanwhile.
    let wanted = |tool: Tool| Ok((tool, hooks_wanted(tool, args, world)?));
    let tools: Vec<(Tool, Hooks)> = tools.into_iter().map(wanted).collect::<Result<_, CommandError>>()?;
    // Every change is computed before any is written, so that one broken file leaves all unchanged.
    let connections = Connections::load(world)?;
    let mut changes = Vec::new();
    for (tool, hooks) in tools {
        if let Some(client) = tool.client() {
            for file in parts::of(client, scope, hooks)? {
                for target in Target::knowing(client, file.location, world)? {
                    changes.push(planned(client, &file, target, &program(scope)?)?);
                }
            }
        }
        for trigger in &triggers {
            changes.extend(triggers::planned(tool, scope, trigger, &connections, world)?);
        }
    }
    if !args.dry_run {
        each_carried_out(&mut changes, carry_out, world)?;
    }
    Ok(shown::connected(&changes, world)?.with_notes(shown::without_hooks(&idle)))
}

/// Whether a tool should call Maestro at every prompt; on a terminal, the user decides.
fn hooks_wanted(tool: Tool, args: &ConnectArgs, world: &World) -> Result<Hooks, CommandError> {
    let Some((client, file)) = hooks_file(tool, args.scope.into()) else { return Ok(Hooks::Without) };
    // A tool that already does is not asked about again, and is updated.
    if args.hooks || does_call(client, file, world) {
        return Ok(Hooks::With);
    }
    let is_asked = world.terminals.stdin && world.terminals.stderr && !world.json && !args.dry_run;
    if !is_asked {
        return Ok(Hooks::Without);
    }
    let question = format!("Add hooks to {} that suggest skills at every prompt?", tool.title());
    Ok(if agreed(&question, Silence::Refuses)? { Hooks::With } else { Hooks::Without })
}

/// The hook settings of a tool; some have no hooks.
fn hooks_file(tool: Tool, scope: Scope) -> Option<(Client, Location)> {
    tool.client().and_then(|client| Some((client, client.hooks_file(scope)?)))
}

/// Whether a tool calls Maestro, wherever the program is. An unreadable file is reported later.
fn does_call(client: Client, file: Location, world: &World) -> bool {
    let texts = Target::all(file, world).unwrap_or_default().into_iter().filter_map(|target| target.text);
    texts.into_iter().any(|text| calls_maestro(&text, file.format, client))
}

pub(crate) fn disconnect(args: &DisconnectArgs, world: &World) -> Result<Reply, CommandError> {
    let scope = args.scope.into();
    let connections = Connections::load(world)?;
    let (tools, named) = match tool::named(&args.clients)? {
        Named::These(tools) => (tools.clone(), tools),
        Named::All => (Tool::all(scope).collect(), Vec::new()),
    };
    let mut changes = Vec::new();
    for tool in tools {
        if let Some(client) = tool.client() {
            for file in parts::of(client, scope, Hooks::With)? {
                let planned = undone::planned(client, &file, &connections, world)?.into_iter();
                let (known, others): (Vec<_>, Vec<_>) = planned.partition(|change| change.state != State::NotConnected);
                // A named tool is always reported; others only if there is something to report.
                let is_answer = known.is_empty() && named.contains(&tool) && file.parts.contains(&Part::Server);
                changes.extend(known);
                if is_answer {
                    changes.extend(others.into_iter().next());
                }
            }
        }
        changes.extend(triggers::gone(tool, scope, &connections, world)?);
    }
    if !args.dry_run {
        each_carried_out(&mut changes, undone::carry_out, world)?;
    }
    shown::disconnected(&changes, world)
}

/// The changes that add Maestro to a file.
fn planned(client: Client, file: &File, target: Target, program: &str) -> Result<Change, CommandError> {
    let mut text = target.text.clone().unwrap_or_default();
    let mut state = State::Same;
    let (items, format) = (file.items(client, program, target.text.as_deref()), file.location.format);
    let around =
        missing_around(&text, format, &items).map_err(|error| refused(&error, Slot::Member, &target, client))?;
    for item in items {
        match put(&text, format, &item) {
            Ok(Put::Same) => {}
            Ok(Put::Changed(after)) => {
                text.clone_from(&after);
                state = State::Write(after);
            }
            Err(error) => return Err(refused(&error, item.slot, &target, client)),
        }
    }
    Ok(Change { tool: Tool::Client(client), parts: file.parts.clone(), target, around, state })
}

/// Applies the changes under a lock.
fn each_carried_out(
    changes: &mut [Change],
    carry_out: fn(&mut Change, &mut Ledger) -> Result<(), CommandError>,
    world: &World,
) -> Result<(), CommandError> {
    if changes.iter().any(Change::is_due) {
        let mut ledger = Ledger::open(world)?;
        changes.iter_mut().try_for_each(|change| carry_out(change, &mut ledger))?;
    }
    Ok(())
}

fn carry_out(change: &mut Change, ledger: &mut Ledger) -> Result<(), CommandError> {
    let (State::Write(after) | State::Restore(after)) = &change.state else { return Ok(()) };
    let target = &change.target;
    if target.text.is_none() {
        // What was created for an earlier file, which the user removed, is theirs by now.
        ledger.forget(&target.path)?;
    }
    let before = target.text.as_deref().and_then(|text| undone::before(text, ledger.undos(&target.path)));
    // Recorded first: an unused record does no harm, since it fits no file.
    ledger.add(&target.path, Undo::of(target.text.as_deref(), after), &change.around)?;
    match (&change.state, before) {
        // Nothing is kept of a file that is Maestro's own.
        (State::Restore(_), _) | (_, Some(Before::Absent)) => target.restore(after)?,
        // Nor of Maestro's earlier part in it.
        (_, Some(Before::Text(old))) => target.change(after, &old)?,
        (_, None) => ledger.add_folders(target.write(after)?)?,
    }
    change.state = State::Written;
    Ok(())
}

/// The command by which a tool starts Maestro: its path, since a tool may have another `PATH`; its name in a file that
/// is shared.
fn program(scope: Scope) -> Result<String, CommandError> {
    if scope == Scope::Project {
        return Ok(SERVER.to_owned());
    }
    let path = std::env::current_exe().map_err(|error| {
        CommandError::io("cannot find the path of this program", &error).hint("start it by its full path")
    })?;
    path.into_os_string().into_string().map_err(|path| {
        CommandError::invalid(format!("the path of this program is not UTF-8: {}", path.to_string_lossy()))
            .hint("install it elsewhere, or use --scope project")
    })
}

/// Why a tool's file was left alone, with a hint.
fn refused(error: &EditError, slot: Slot, target: &Target, client: Client) -> CommandError {
    let shown = &target.shown;
    let wanted = match slot {
        Slot::Member => format!("start `{SERVER} mcp`"),
        Slot::Hook => format!("call `{SERVER} hook {}`", client.name()),
    };
    match error {
        EditError::Broken { line, column, reason } => {
            CommandError::invalid(format!("cannot read {shown}:{line}:{column}: {reason}"))
                .hint("fix the file first; no file was changed")
        }
        EditError::Taken { path } => CommandError::refused(format!("{shown}: {error}"))
            .hint(format!("rename or remove `{path}`; it does not start Maestro")),
        EditError::Shape { path } => CommandError::invalid(format!("{shown}: {error}"))
            .hint(format!("edit `{path}` by hand; {} should {wanted}", client.title())),
    }
}
