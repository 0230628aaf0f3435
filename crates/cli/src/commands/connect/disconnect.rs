//! Removal of Maestro from a tool's file: undoes what was written; in an edited file, takes out
//! only what is Maestro's.

use maestro_core::connect::{
    ConnectableTool, EditError, FileUndo, ItemSlot, PriorContent, RemoveResult, SettingsFormat, SettingsItem, take_out,
    take_out_empty,
};

use super::edit_error;
use super::folders;
use super::summary::{ToolFileChange, ToolFileState};
use super::target::ToolSettingsFile;
use super::tool::NamedTool;
use super::tool_files::ToolFile;
use crate::host::connections::{ConnectionFile, ConnectionLedger};
use crate::host::world::World;
use crate::output::command_output::CommandResult;

/// The changes that remove Maestro from a tool's file, whatever the file's name.
pub(super) fn plan_disconnect(
    client: ConnectableTool,
    file: &ToolFile,
    connections: &ConnectionFile,
    world: &World,
) -> CommandResult<Vec<ToolFileChange>> {
    let all = ToolSettingsFile::all(file.location, world)?;
    all.into_iter().map(|target| plan_file(target, client, file, connections)).collect()
}

fn plan_file(
    target: ToolSettingsFile,
    client: ConnectableTool,
    file: &ToolFile,
    connections: &ConnectionFile,
) -> CommandResult<ToolFileChange> {
    let state = match &target.text {
        None => ToolFileState::NotConnected,
        Some(text) => {
            let items = file.items(client, &super::program(file.location.scope())?, Some(text));
            let without = remove_items(text, &items, file.location.format)
                .map_err(|(error, slot)| edit_error(&error, slot, &target, client))?;
            match (without, state_before(text, connections.undos(&target.path))) {
                (ToolFileState::Write(_), Some(PriorContent::Absent)) => ToolFileState::Remove,
                (ToolFileState::Write(_), Some(PriorContent::Text(before)))
                    if lacks_items(&before, &items, file.location.format) =>
                {
                    ToolFileState::Restore(before)
                }
                (ToolFileState::Write(after), _) => {
                    let made = connections.created_parents(&target.path);
                    ToolFileState::Write(take_out_empty(&after, file.location.format, made))
                }
                (state, _) => state,
            }
        }
    };
    Ok(ToolFileChange { tool: NamedTool::Client(client), parts: file.parts.clone(), target, around: Vec::new(), state })
}

/// The text without any of the items, or why one of them cannot be removed.
fn remove_items(
    text: &str,
    items: &[SettingsItem],
    format: SettingsFormat,
) -> Result<ToolFileState, (EditError, ItemSlot)> {
    let mut state = ToolFileState::NotConnected;
    let mut text = text.to_owned();
    for item in items {
        match take_out(&text, format, item).map_err(|error| (error, item.slot))? {
            RemoveResult::NotOurs if state == ToolFileState::NotConnected => state = ToolFileState::NotOurs,
            RemoveResult::NotThere | RemoveResult::NotOurs => {}
            RemoveResult::Changed(after) => {
                text.clone_from(&after);
                state = ToolFileState::Write(after);
            }
        }
    }
    Ok(state)
}

/// Whether a text has none of the items.
fn lacks_items(text: &str, items: &[SettingsItem], format: SettingsFormat) -> bool {
    remove_items(text, items, format) == Ok(ToolFileState::NotConnected)
}

/// The text before the changes that can still be undone, the last one first.
pub(super) fn state_before(text: &str, undos: &[FileUndo]) -> Option<PriorContent> {
    let mut text = text.to_owned();
    let mut is_changed = false;
    for undo in undos.iter().rev() {
        match undo.apply(&text) {
            Some(PriorContent::Text(before)) => (text, is_changed) = (before, true),
            Some(PriorContent::Absent) => return Some(PriorContent::Absent),
            None => {}
        }
    }
    is_changed.then_some(PriorContent::Text(text))
}

pub(super) fn apply_change(change: &mut ToolFileChange, ledger: &mut ConnectionLedger) -> CommandResult<()> {
    match &change.state {
        ToolFileState::Remove => change.target.remove()?,
        ToolFileState::Restore(text) => change.target.restore(text)?,
        ToolFileState::Write(text) => drop(change.target.write(text)?),
        ToolFileState::Same
        | ToolFileState::Written
        | ToolFileState::NotConnected
        | ToolFileState::NotOurs
        | ToolFileState::ChangedSince => return Ok(()),
    }
    folders::remove_empty(ledger.forget(&change.target.path)?);
    change.state = ToolFileState::Written;
    Ok(())
}
