//! Removal of Maestro from a tool's file: undoes what was written; in an edited file, takes out
//! only what is Maestro's.

use maestro_core::connect::{Before, Client, EditError, Format, Item, Removed, Slot, Undo, take_out, take_out_empty};

use super::folders;
use super::parts::File;
use super::shown::{Change, State};
use super::target::Target;
use super::tool::Tool;
use super::{SERVER, refused};
use crate::host::connections::{Connections, Ledger};
use crate::host::world::World;
use crate::output::error::CommandError;

/// The changes that remove Maestro from a tool's file, whatever the file's name.
pub(super) fn planned(
    client: Client,
    file: &File,
    connections: &Connections,
    world: &World,
) -> Result<Vec<Change>, CommandError> {
    let all = Target::all(file.location, world)?;
    all.into_iter().map(|target| planned_for(target, client, file, connections)).collect()
}

fn planned_for(target: Target, client: Client, file: &File, connections: &Connections) -> Result<Change, CommandError> {
    let state = match &target.text {
        None => State::NotConnected,
        Some(text) => {
            let items = file.items(client, SERVER, Some(text));
            let without = without(text, &items, file.location.format)
                .map_err(|(error, slot)| refused(&error, slot, &target, client))?;
            match (without, before(text, connections.undos(&target.path))) {
                (State::Write(_), Some(Before::Absent)) => State::Remove,
                (State::Write(_), Some(Before::Text(before))) if has_none(&before, &items, file.location.format) => {
                    State::Restore(before)
                }
                (State::Write(after), _) => {
                    let made = connections.around(&target.path);
                    State::Write(take_out_empty(&after, file.location.format, made))
                }
                (state, _) => state,
            }
        }
    };
    Ok(Change { tool: Tool::Client(client), parts: file.parts.clone(), target, around: Vec::new(), state })
}

/// The text without any of the items, or why one of them cannot be removed.
fn without(text: &str, items: &[Item], format: Format) -> Result<State, (EditError, Slot)> {
    let mut state = State::NotConnected;
    let mut text = text.to_owned();
    for item in items {
        match take_out(&text, format, item).map_err(|error| (error, item.slot))? {
            Removed::NotOurs if state == State::NotConnected => state = State::NotOurs,
            Removed::NotThere | Removed::NotOurs => {}
            Removed::Changed(after) => {
                text.clone_from(&after);
                state = State::Write(after);
            }
        }
    }
    Ok(state)
}

/// Whether a text has none of the items.
fn has_none(text: &str, items: &[Item], format: Format) -> bool {
    without(text, items, format) == Ok(State::NotConnected)
}

/// The text before the changes that can still be undone, the last one first.
pub(super) fn before(text: &str, undos: &[Undo]) -> Option<Before> {
    let mut text = text.to_owned();
    let mut is_changed = false;
    for undo in undos.iter().rev() {
        match undo.undone(&text) {
            Some(Before::Text(before)) => (text, is_changed) = (before, true),
            Some(Before::Absent) => return Some(Before::Absent),
            None => {}
        }
    }
    is_changed.then_some(Before::Text(text))
}

pub(super) fn carry_out(change: &mut Change, ledger: &mut Ledger) -> Result<(), CommandError> {
    match &change.state {
        State::Remove => change.target.remove()?,
        State::Restore(text) => change.target.restore(text)?,
        State::Write(text) => drop(change.target.write(text)?),
        State::Same | State::Written | State::NotConnected | State::NotOurs | State::ChangedSince => return Ok(()),
    }
    folders::remove_empty(ledger.forget(&change.target.path)?);
    change.state = State::Written;
    Ok(())
}
