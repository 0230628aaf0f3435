//! What is said of tools that were connected, or are not any more?

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

/// A tool's file, and what becomes of it.
pub(super) struct Change {
    pub(super) tool: Tool,
    /// What the file is about.
    pub(super) parts: Vec<Part>,
    pub(super) target: Target,
    /// What has to be made in the file for it.
    pub(super) around: Vec<Around>,
    pub(super) state: State,
}

/// How it is with a file.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum State {
    /// It says what it should.
    Same,
    /// It is to say this.
    Write(String),
    /// It is to say this, and what it says now need not be kept: it is Maestro's own.
    Restore(String),
    /// It is to go, since it was made for Maestro.
    Remove,
    /// It was changed.
    Written,
    /// Maestro is not in it.
    NotConnected,
    /// Something else has Maestro's name in it.
    NotOurs,
    /// It was made for Maestro, and somebody changed it.
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

    /// What a tool does by what the file says.
    fn deed(&self) -> String {
        match self.parts.as_slice() {
            [Part::Hooks] => "calls Maestro at every prompt".to_owned(),
            [_, Part::Hooks] => "knows Maestro and calls it at every prompt".to_owned(),
            [Part::Workflow { by: Some(by) }] => format!("starts a workflow by `{by}`"),
            _ => "knows Maestro".to_owned(),
        }
    }

    /// What would change, for a person.
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
                writeln!(text, "{title} {} now: made {file}.", change.deed())
            }
            State::Written if change.target.backup().exists() => {
                let kept = world.short(&change.target.backup());
                let kept = clean_path(&kept);
                writeln!(text, "{title} {} now: changed {file}, kept the old one as {kept}.", change.deed())
            }
            State::Written => writeln!(text, "{title} {} now: changed {file}.", change.deed()),
            State::Same => writeln!(text, "{title} {} already, by {file}.", change.deed()),
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
        text.push_str("Start these tools anew; `maestro doctor` tries whether Maestro answers them.\n");
    }
    Ok(Reply::text(text))
}

/// What is said of tools that call nobody, although they were to call Maestro.
pub(super) fn without_hooks(tools: &[Tool]) -> String {
    let titles: Vec<&str> = tools.iter().map(|tool| tool.title()).collect();
    match titles.as_slice() {
        [] => String::new(),
        [title] => format!("note: {title} has no hooks, so `--hooks` changes nothing for it\n"),
        titles => format!("note: {} have no hooks, so `--hooks` changes nothing for them\n", titles.join(", ")),
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
                writeln!(text, "{title} calls Maestro no more, by {file}.")
            }
            State::Written if matches!(change.parts.as_slice(), [Part::Workflow { .. }]) => {
                writeln!(text, "{title} starts no workflow by {file} any more.")
            }
            State::Written => writeln!(text, "{title} knows Maestro no more, by {file}."),
            State::ChangedSince => writeln!(text, "{file} was changed since it was made for Maestro, and stays."),
            State::NotConnected => writeln!(text, "{title} does not know Maestro, by {file}."),
            State::NotOurs => writeln!(text, "What is called `maestro` in {file} does not start Maestro, and stays."),
            State::Write(_) | State::Restore(_) | State::Remove | State::Same => Ok(()),
        };
        text.extend(change.diff(world.paint));
    }
    if changes.is_empty() {
        text.push_str("No tool is connected.\n");
    }
    Ok(Reply::text(text))
}
