//! `maestro connect` and `maestro disconnect`: whether your coding tools know Maestro, by their own settings.

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
        return Err(CommandError::invalid("Aider speaks no protocol by which it could know Maestro")
            .hint("name workflows that it is to start: `maestro connect aider --workflow NAME`"));
    }
    let idle: Vec<Tool> =
        tools.iter().copied().filter(|tool| args.hooks && hooks_file(*tool, scope).is_none()).collect();
    // Everything is asked before any file is read, since whoever is asked takes their time, and tools write meanwhile.
    let wanted = |tool: Tool| Ok((tool, hooks_wanted(tool, args, world)?));
    let tools: Vec<(Tool, Hooks)> = tools.into_iter().map(wanted).collect::<Result<_, CommandError>>()?;
    // Everything is worked out before anything is written, so that one broken file leaves all as they are.
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

/// Whether a tool is to call Maestro at every prompt; where a person sits, they are asked.
fn hooks_wanted(tool: Tool, args: &ConnectArgs, world: &World) -> Result<Hooks, CommandError> {
    let Some((client, file)) = hooks_file(tool, args.scope.into()) else { return Ok(Hooks::Without) };
    // Who does so already was asked before, and is brought up to date.
    if args.hooks || does_call(client, file, world) {
        return Ok(Hooks::With);
    }
    let is_asked = world.terminals.stdin && world.terminals.stderr && !world.json && !args.dry_run;
    if !is_asked {
        return Ok(Hooks::Without);
    }
    let question =
        format!("Also have {} call Maestro at every prompt, so that the skill that fits is at hand?", tool.title());
    Ok(if agreed(&question, Silence::Refuses)? { Hooks::With } else { Hooks::Without })
}

/// The file by which a tool calls others; some call nobody.
fn hooks_file(tool: Tool, scope: Scope) -> Option<(Client, Location)> {
    tool.client().and_then(|client| Some((client, client.hooks_file(scope)?)))
}

/// Whether a tool calls Maestro, wherever the program is. A file that cannot be read is complained of later.
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
                // Who was named is told of; who was not, only if there is something to tell.
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

/// What is to be done so that a file tells a tool of Maestro.
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

/// Carries out what there is to do, while nobody else connects anything.
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
        // Whatever was made for an earlier one, which somebody removed, is theirs by now.
        ledger.forget(&target.path)?;
    }
    let before = target.text.as_deref().and_then(|text| undone::before(text, ledger.undos(&target.path)));
    // Remembered first: what is remembered in vain does no harm, since it fits no file.
    ledger.add(&target.path, Undo::of(target.text.as_deref(), after), &change.around)?;
    match (&change.state, before) {
        // Of what is Maestro's own alone, nothing needs to be kept.
        (State::Restore(_), _) | (_, Some(Before::Absent)) => target.restore(after)?,
        // Nor of what was Maestro's in it before.
        (_, Some(Before::Text(old))) => target.change(after, &old)?,
        (_, None) => ledger.add_folders(target.write(after)?)?,
    }
    change.state = State::Written;
    Ok(())
}

/// How a tool is to start Maestro: where it is, since a tool may know another `PATH`; by its name in a file that others
/// read too.
fn program(scope: Scope) -> Result<String, CommandError> {
    if scope == Scope::Project {
        return Ok(SERVER.to_owned());
    }
    let path = std::env::current_exe().map_err(|error| {
        CommandError::io("where this program is cannot be found out", &error).hint("start it by its full path")
    })?;
    path.into_os_string().into_string().map_err(|path| {
        CommandError::invalid(format!("the path of this program is no UTF-8 text: {}", path.to_string_lossy()))
            .hint("install it elsewhere, or use --scope project")
    })
}

/// Why a tool's file was left alone, and what to do about it.
fn refused(error: &EditError, slot: Slot, target: &Target, client: Client) -> CommandError {
    let shown = &target.shown;
    let wanted = match slot {
        Slot::Member => format!("start `{SERVER} mcp`"),
        Slot::Hook => format!("call `{SERVER} hook {}`", client.name()),
    };
    match error {
        EditError::Broken { line, column, reason } => {
            CommandError::invalid(format!("{shown}:{line}:{column} cannot be read: {reason}"))
                .hint("mend the file first; it was left as it is, and no other was changed")
        }
        EditError::Taken { path } => CommandError::refused(format!("{shown}: {error}"))
            .hint(format!("give `{path}` another name, or remove it; it does not start Maestro")),
        EditError::Shape { path } => CommandError::invalid(format!("{shown}: {error}"))
            .hint(format!("change `{path}` by hand; {} is to {wanted}", client.title())),
    }
}
