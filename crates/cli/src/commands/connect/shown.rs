//! Output of `connect` and `disconnect`.

use std::fmt::Write as _;

use maestro_core::connect::Around;
use serde_json::{Value as Json, json};

use super::diff::diff;
use super::parts::Part;
use super::target::Target;
use super::tool::Tool;
use crate::host::world::World;
use crate::output::error::CommandError;
use crate::output::reply::Reply;
use crate::output::screen::{Paint, clean_path};

/// A tool's file, and its change.
pub(super) struct Change {
    pub(super) tool: Tool,
    /// Purpose of the file.
    pub(super) parts: Vec<Part>,
    pub(super) target: Target,
    /// What must be created in the file for it.
    pub(super) around: Vec<Around>,
    pub(super) state: State,
}

/// State of a file.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum State {
    /// Up to date.
    Same,
    /// To be written.
    Write(String),
    /// To be written without a backup: the old content is Maestro's own.
    Restore(String),
    /// To be removed, since it was created for Maestro.
    Remove,
    /// Changed.
    Written,
    /// Without Maestro.
    NotConnected,
    /// With another entry of Maestro's name.
    NotOurs,
    /// Created for Maestro, and edited since.
    ChangedSince,
}

impl Change {
    /// Whether there is anything to do.
    pub(super) fn is_due(&self) -> bool {
        match self.state {
            State::Write(_) | State::Restore(_) | State::Remove => true,
            State::Same | State::Written | State::NotConnected | State::NotOurs | State::ChangedSince => false,
        }
    }

    /// What the file makes a tool do.
    fn deed(&self) -> String {
        match self.parts.as_slice() {
            [Part::Hooks] => "Maestro's hooks".to_owned(),
            [_, Part::Hooks] => "Maestro and its hooks".to_owned(),
            [Part::Workflow { by: Some(by) }] => format!("the command `{by}`"),
            _ => "Maestro".to_owned(),
        }
    }

    /// The changes, for a person.
    fn diff(&self, paint: Paint) -> Option<String> {
        let after = match &self.state {
            State::Write(text) | State::Restore(text) => Some(text.as_str()),
            State::Remove => None,
            State::Same | State::Written | State::NotConnected | State::NotOurs | State::ChangedSince => return None,
        };
        Some(diff(&self.target.shown, self.target.text.as_deref(), after, paint))
    }

    fn json(&self, written: &str, planned: &str) -> Json {
        let state = match self.state {
            State::Written => written,
            State::Write(_) | State::Restore(_) | State::Remove => planned,
            State::Same => "already_connected",
            State::NotConnected => "not_connected",
            State::NotOurs => "not_ours",
            State::ChangedSince => "changed_since",
        };
        let backup = self.target.backup();
        json!({
            "client": self.tool.name(),
            "parts": self.parts.iter().map(Part::word).collect::<Vec<_>>(),
            "file": self.target.path.to_string_lossy(),
            "state": state,
            "backup": backup.exists().then(|| backup.to_string_lossy().into_owned()),
            "diff": self.diff(Paint::plain()),
        })
    }
}

pub(super) fn connected(changes: &[Change], world: &World) -> Result<Reply, CommandError> {
    if world.json {
        let all: Vec<Json> = changes.iter().map(|change| change.json("connected", "would_connect")).collect();
        return Reply::json(&json!({ "clients": all }));
    }
    let mut text = String::new();
    for change in changes {
        let (title, file) = (change.tool.title(), clean_path(&change.target.shown));
        let _ = match &change.state {
            State::Written if change.target.text.is_none() => {
                writeln!(text, "Added {} to {title} (created {file}).", change.deed())
            }
            State::Written if change.target.backup().exists() => {
                let kept = world.short(&change.target.backup());
                let kept = clean_path(&kept);
                writeln!(text, "Added {} to {title} (changed {file}, backup in {kept}).", change.deed())
            }
            State::Written => writeln!(text, "Added {} to {title} (changed {file}).", change.deed()),
            State::Same => writeln!(text, "{title} already has {} ({file}).", change.deed()),
            State::Write(_)
            | State::Restore(_)
            | State::Remove
            | State::NotConnected
            | State::NotOurs
            | State::ChangedSince => Ok(()),
        };
        text.extend(change.diff(world.paint));
    }
    if changes.iter().any(|change| change.state == State::Written) {
        text.push_str("Restart these tools to load it; `maestro doctor` checks the connection.\n");
    }
    Ok(Reply::text(text))
}

/// Note on tools without hooks, if hooks were requested.
pub(super) fn without_hooks(tools: &[Tool]) -> String {
    let titles: Vec<&str> = tools.iter().map(|tool| tool.title()).collect();
    match titles.as_slice() {
        [] => String::new(),
        [title] => format!("note: {title} does not support hooks; `--hooks` has no effect\n"),
        titles => format!("note: {} do not support hooks; `--hooks` has no effect\n", titles.join(", ")),
    }
}

pub(super) fn disconnected(changes: &[Change], world: &World) -> Result<Reply, CommandError> {
    if world.json {
        let all: Vec<Json> = changes.iter().map(|change| change.json("disconnected", "would_disconnect")).collect();
        return Reply::json(&json!({ "clients": all }));
    }
    let mut text = String::new();
    for change in changes {
        let (title, file) = (change.tool.title(), clean_path(&change.target.shown));
        let _ = match &change.state {
            State::Written if change.parts == [Part::Hooks] => {
                writeln!(text, "Removed Maestro's hooks from {title} ({file}).")
            }
            State::Written if matches!(change.parts.as_slice(), [Part::Workflow { .. }]) => {
                writeln!(text, "Removed a workflow command from {title} ({file}).")
            }
            State::Written => writeln!(text, "Removed Maestro from {title} ({file})."),
            State::ChangedSince => writeln!(text, "Kept {file}: it was edited since Maestro created it."),
            State::NotConnected => writeln!(text, "{title} is not connected ({file})."),
            State::NotOurs => writeln!(text, "Kept the entry `maestro` in {file}: it does not start Maestro."),
            State::Write(_) | State::Restore(_) | State::Remove | State::Same => Ok(()),
        };
        text.extend(change.diff(world.paint));
    }
    if changes.is_empty() {
        text.push_str("No tools are connected.\n");
    }
    Ok(Reply::text(text))
}
