//! How does a tool's file get rid of Maestro? By undoing what was written; where somebody changed that, by taking out
//! what is Maestro's and nothing else.

use maestro_core::connect::{Before, Client, Item, Location, Removed, Undo, server, take_out};

use super::shown::{Change, State};
use super::target::Target;
use super::{SERVER, refused};
use crate::connections::Connections;
use crate::error::CommandError;
use crate::world::World;

pub(super) fn planned(
    client: Client,
    location: Location,
    connections: &Connections,
    world: &World,
) -> Result<Change, CommandError> {
    let target = Target::find(location, world)?;
    let Some(text) = &target.text else { return Ok(Change { client, target, state: State::NotConnected }) };
    let item = server(client, SERVER, Some(text));
    let taken = take_out(text, target.format, &item).map_err(|error| refused(&error, &target, client))?;
    let state = match taken {
        Removed::NotThere => State::NotConnected,
        Removed::NotOurs => State::NotOurs,
        Removed::Changed(without) => match before(text, connections.undos(&target.path)) {
            Some(Before::Absent) => State::Remove,
            Some(Before::Text(before)) if is_without(&before, &target, &item) => State::Restore(before),
            Some(Before::Text(_)) | None => State::Write(without),
        },
    };
    Ok(Change { client, target, state })
}

fn is_without(text: &str, target: &Target, item: &Item) -> bool {
    take_out(text, target.format, item) == Ok(Removed::NotThere)
}

/// What a file was before the changes that can still be undone, the last one first.
fn before(text: &str, undos: &[Undo]) -> Option<Before> {
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

pub(super) fn carry_out(change: &mut Change, connections: &mut Connections) -> Result<(), CommandError> {
    match &change.state {
        State::Remove => change.target.remove()?,
        State::Restore(text) => change.target.restore(text)?,
        State::Write(text) => change.target.write(text)?,
        State::Same | State::Written | State::NotConnected | State::NotOurs => return Ok(()),
    }
    connections.forget(&change.target.path)?;
    change.state = State::Written;
    Ok(())
}
