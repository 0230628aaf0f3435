//! `maestro connect` and `maestro disconnect`: Maestro in the settings of your coding tools.

mod diff;
mod disconnect;
mod folders;
mod summary;
pub(super) mod target;
mod tool;
mod tool_files;
mod triggers;

use maestro_core::connect::{
    ConnectableTool, EditError, FileUndo, ItemSlot, PriorContent, PutResult, SERVER, SettingsLocation, SettingsScope,
    WorkflowTrigger, calls_maestro, missing_parents, put,
};

use self::summary::{ToolFileChange, ToolFileState};
use self::target::ToolSettingsFile;
use self::tool::{NamedTool, ToolSelection};
use self::tool_files::{HookChoice, ToolFile, ToolFilePart};
use crate::args::{ConnectArgs, DisconnectArgs};
use crate::host::connections::{ConnectionFile, ConnectionLedger};
use crate::host::world::World;
use crate::output::command_output::CommandResult;
use crate::output::confirm::{EmptyAnswer, confirm};
use crate::output::error::CommandError;

pub(crate) fn connect(args: &ConnectArgs, world: &World) -> CommandResult {
    let scope = args.scope.into();
    let tools = match tool::select_tools(&args.clients)? {
        ToolSelection::These(tools) => tools,
        ToolSelection::All => tool::installed_tools(scope, world)?,
    };
    if scope == SettingsScope::User && !args.create && !args.dry_run {
        tool::require_installed(&tools, world)?;
    }
    let triggers = triggers::find_triggers(&args.workflow, world)?;
    if tools.contains(&NamedTool::Aider) && triggers.is_empty() {
        return Err(CommandError::invalid("Aider does not support MCP")
            .hint("add a workflow: `maestro connect aider --workflow NAME`"));
    }
    let idle: Vec<NamedTool> =
        tools.iter().copied().filter(|tool| args.hooks && hooks_file(*tool, scope).is_none()).collect();
    // All questions come before any file is read, since answers take time, and tools write meanwhile.
    let wanted = |tool: NamedTool| Ok((tool, choose_hooks(tool, args, world)?));
    let tools: Vec<(NamedTool, HookChoice)> = tools.into_iter().map(wanted).collect::<CommandResult<_>>()?;
    let mut changes = plan_all(&tools, scope, &triggers, world)?;
    if !args.dry_run {
        apply_all(&mut changes, apply_change, world)?;
    }
    Ok(summary::connect_summary(&changes, world)?.with_notes(summary::no_hooks_note(&idle)))
}

/// Every change, computed before any is written, so that one broken file leaves all unchanged.
fn plan_all(
    tools: &[(NamedTool, HookChoice)],
    scope: SettingsScope,
    triggers: &[WorkflowTrigger],
    world: &World,
) -> CommandResult<Vec<ToolFileChange>> {
    let connections = ConnectionFile::load(world)?;
    let mut changes = Vec::new();
    for (tool, hooks) in tools {
        if let Some(client) = tool.client() {
            for file in tool_files::of(client, scope, *hooks)? {
                for target in ToolSettingsFile::with_maestro(client, file.location, world)? {
                    changes.push(plan_change(client, &file, target, &program(scope)?)?);
                }
            }
        }
        for trigger in triggers {
            changes.extend(triggers::plan_trigger(*tool, scope, trigger, &connections, world)?);
        }
    }
    Ok(changes)
}

/// The names of the tools that are installed and can be connected.
pub(crate) fn installed_titles(world: &World) -> Vec<&'static str> {
    let tools = tool::installed_tools(SettingsScope::User, world).unwrap_or_default();
    tools.into_iter().map(NamedTool::title).collect()
}

/// The installed tools that Maestro is not connected to, with hooks where they have any, and what that changes.
pub(crate) struct MissingConnections {
    changes: Vec<ToolFileChange>,
}

impl MissingConnections {
    pub(crate) fn find(world: &World) -> CommandResult<Self> {
        let Ok(tools) = tool::installed_tools(SettingsScope::User, world) else {
            return Ok(Self { changes: Vec::new() });
        };
        let tools: Vec<(NamedTool, HookChoice)> = tools.into_iter().map(|tool| (tool, HookChoice::With)).collect();
        let mut changes = plan_all(&tools, SettingsScope::User, &[], world)?;
        changes.retain(ToolFileChange::is_needed);
        Ok(Self { changes })
    }

    /// The names of the tools, each once.
    pub(crate) fn titles(&self) -> Vec<&'static str> {
        let mut titles: Vec<&str> = self.changes.iter().map(|change| change.tool.title()).collect();
        titles.dedup();
        titles
    }

    /// The files that would change.
    pub(crate) fn files(&self) -> Vec<&str> {
        self.changes.iter().map(|change| change.target.shown.as_str()).collect()
    }

    /// Connects them, and reports it.
    pub(crate) fn apply(mut self, world: &World) -> CommandResult<String> {
        apply_all(&mut self.changes, apply_change, world)?;
        Ok(format!("{}Restart these tools to load it.\n", summary::connect_lines(&self.changes, world)))
    }
}

/// The files of a scope that name Maestro, and how each is without it.
pub(crate) struct OwnConnections {
    changes: Vec<ToolFileChange>,
}

impl OwnConnections {
    pub(crate) fn find(scope: SettingsScope, world: &World) -> CommandResult<Self> {
        let mut changes = plan_removals(NamedTool::all(scope).collect(), &[], scope, world)?;
        changes.retain(ToolFileChange::is_needed);
        Ok(Self { changes })
    }

    /// The files that change.
    pub(crate) fn files(&self) -> Vec<&str> {
        self.changes.iter().map(|change| change.target.shown.as_str()).collect()
    }

    pub(crate) fn remove(&mut self, world: &World) -> CommandResult<()> {
        apply_all(&mut self.changes, disconnect::apply_change, world)
    }
}

/// Whether a tool should call Maestro at every prompt; on a terminal, the user decides.
fn choose_hooks(tool: NamedTool, args: &ConnectArgs, world: &World) -> CommandResult<HookChoice> {
    let Some((client, file)) = hooks_file(tool, args.scope.into()) else { return Ok(HookChoice::Without) };
    // A tool that already does is not asked about again, and is updated.
    if args.hooks || has_hooks(client, file, world) {
        return Ok(HookChoice::With);
    }
    let is_asked = world.terminals.stdin && world.terminals.stderr && !world.json && !args.dry_run;
    if !is_asked {
        return Ok(HookChoice::Without);
    }
    let question = format!("Add hooks to {} that suggest skills at every prompt?", tool.title());
    Ok(if confirm(&question, EmptyAnswer::Refuses)? { HookChoice::With } else { HookChoice::Without })
}

/// The hook settings of a tool; some have no hooks.
fn hooks_file(tool: NamedTool, scope: SettingsScope) -> Option<(ConnectableTool, SettingsLocation)> {
    tool.client().and_then(|client| Some((client, client.hooks_file(scope)?)))
}

/// Whether a tool calls Maestro, wherever the program is. An unreadable file is reported later.
fn has_hooks(client: ConnectableTool, file: SettingsLocation, world: &World) -> bool {
    let texts = ToolSettingsFile::all(file, world).unwrap_or_default().into_iter().filter_map(|target| target.text);
    texts.into_iter().any(|text| calls_maestro(&text, file.format, client))
}

pub(crate) fn disconnect(args: &DisconnectArgs, world: &World) -> CommandResult {
    let scope = args.scope.into();
    let (tools, named) = match tool::select_tools(&args.clients)? {
        ToolSelection::These(tools) => (tools.clone(), tools),
        ToolSelection::All => (NamedTool::all(scope).collect(), Vec::new()),
    };
    let mut changes = plan_removals(tools, &named, scope, world)?;
    if !args.dry_run {
        apply_all(&mut changes, disconnect::apply_change, world)?;
    }
    summary::disconnect_summary(&changes, world)
}

/// The changes that remove Maestro from the files of tools. A named tool is always reported; others only if there is
/// something to report.
fn plan_removals(
    tools: Vec<NamedTool>,
    named: &[NamedTool],
    scope: SettingsScope,
    world: &World,
) -> CommandResult<Vec<ToolFileChange>> {
    let connections = ConnectionFile::load(world)?;
    let mut changes = Vec::new();
    for tool in tools {
        if let Some(client) = tool.client() {
            for file in tool_files::of(client, scope, HookChoice::With)? {
                let planned = disconnect::plan_disconnect(client, &file, &connections, world)?.into_iter();
                let (known, others): (Vec<_>, Vec<_>) =
                    planned.partition(|change| change.state != ToolFileState::NotConnected);
                let is_answer = known.is_empty() && named.contains(&tool) && file.parts.contains(&ToolFilePart::Server);
                changes.extend(known);
                if is_answer {
                    changes.extend(others.into_iter().next());
                }
            }
        }
        changes.extend(triggers::plan_removals(tool, scope, &connections, world)?);
    }
    Ok(changes)
}

/// The changes that add Maestro to a file.
fn plan_change(
    client: ConnectableTool,
    file: &ToolFile,
    target: ToolSettingsFile,
    program: &str,
) -> CommandResult<ToolFileChange> {
    let mut text = target.text.clone().unwrap_or_default();
    let mut state = ToolFileState::Same;
    let (items, format) = (file.items(client, program, target.text.as_deref()), file.location.format);
    let around = missing_parents(&text, format, &items)
        .map_err(|error| edit_error(&error, ItemSlot::Member, &target, client))?;
    for item in items {
        match put(&text, format, &item) {
            Ok(PutResult::Same) => {}
            Ok(PutResult::Changed(after)) => {
                text.clone_from(&after);
                state = ToolFileState::Write(after);
            }
            Err(error) => return Err(edit_error(&error, item.slot, &target, client)),
        }
    }
    Ok(ToolFileChange { tool: NamedTool::Client(client), parts: file.parts.clone(), target, around, state })
}

/// Applies the changes under a lock.
fn apply_all(
    changes: &mut [ToolFileChange],
    carry_out: fn(&mut ToolFileChange, &mut ConnectionLedger) -> CommandResult<()>,
    world: &World,
) -> CommandResult<()> {
    if changes.iter().any(ToolFileChange::is_needed) {
        let mut ledger = ConnectionLedger::open(world)?;
        changes.iter_mut().try_for_each(|change| carry_out(change, &mut ledger))?;
    }
    Ok(())
}

fn apply_change(change: &mut ToolFileChange, ledger: &mut ConnectionLedger) -> CommandResult<()> {
    let (ToolFileState::Write(after) | ToolFileState::Restore(after)) = &change.state else { return Ok(()) };
    let target = &change.target;
    if target.text.is_none() {
        // What was created for an earlier file, which the user removed, is theirs by now.
        ledger.forget(&target.path)?;
    }
    let before = target.text.as_deref().and_then(|text| disconnect::state_before(text, ledger.undos(&target.path)));
    // Recorded first: an unused record does no harm, since it fits no file.
    ledger.add(&target.path, FileUndo::of(target.text.as_deref(), after), &change.around)?;
    match (&change.state, before) {
        // Nothing is kept of a file that is Maestro's own.
        (ToolFileState::Restore(_), _) | (_, Some(PriorContent::Absent)) => target.restore(after)?,
        // Nor of Maestro's earlier part in it.
        (_, Some(PriorContent::Text(old))) => target.change(after, &old)?,
        (_, None) => ledger.add_folders(target.write(after)?)?,
    }
    change.state = ToolFileState::Written;
    Ok(())
}

/// The command by which a tool starts Maestro: its path, since a tool may have another `PATH`; its name in a file that
/// is shared.
fn program(scope: SettingsScope) -> CommandResult<String> {
    if scope == SettingsScope::Project {
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
fn edit_error(error: &EditError, slot: ItemSlot, target: &ToolSettingsFile, client: ConnectableTool) -> CommandError {
    let shown = &target.shown;
    let wanted = match slot {
        ItemSlot::Member => format!("start `{SERVER} mcp`"),
        ItemSlot::Hook | ItemSlot::PlainHook => format!("call `{SERVER} hook {}`", client.as_str()),
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
