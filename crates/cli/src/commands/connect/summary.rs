//! Output of `connect` and `disconnect`.

use maestro_core::connect::{CreatedParents, SettingsScope, find_server_command};
use serde_json::{Value as Json, json};

use super::diff::diff;
use super::target::ToolSettingsFile;
use super::tool::NamedTool;
use super::tool_files::ToolFilePart;
use crate::host::world::World;
use crate::output::command_output::{CommandOutput, CommandResult};
use crate::output::screen::{TextStyle, clean_path};

/// A tool's file, and its change.
pub(super) struct ToolFileChange {
    pub(super) tool: NamedTool,
    /// Purpose of the file.
    pub(super) parts: Vec<ToolFilePart>,
    pub(super) target: ToolSettingsFile,
    /// What must be created in the file for it.
    pub(super) around: Vec<CreatedParents>,
    pub(super) state: ToolFileState,
}

/// State of a file.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ToolFileState {
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

impl ToolFileChange {
    /// Whether there is anything to do.
    pub(super) fn is_needed(&self) -> bool {
        matches!(self.state, ToolFileState::Write(_) | ToolFileState::Restore(_) | ToolFileState::Remove)
    }

    /// What the file makes a tool do.
    fn effect(&self) -> String {
        match self.parts.as_slice() {
            [ToolFilePart::Hooks] => "Maestro's hooks".to_owned(),
            [_, ToolFilePart::Hooks] => "Maestro and its hooks".to_owned(),
            [ToolFilePart::Workflow { by: Some(by) }] => format!("the command `{by}`"),
            _ => "Maestro".to_owned(),
        }
    }

    /// What was done to the tool: an entry that was there before was updated.
    fn deed(&self) -> String {
        let (effect, title) = (self.effect(), self.tool.title());
        let text = self.target.text.as_deref().unwrap_or_default();
        let had_entry = self.tool.client().is_some_and(|client| {
            let files = [SettingsScope::User, SettingsScope::Project].into_iter();
            files
                .filter_map(|scope| client.servers_file(scope))
                .any(|file| find_server_command(text, file.format, client).is_some())
        });
        if had_entry { format!("Updated {effect} in {title}") } else { format!("Added {effect} to {title}") }
    }

    /// The changes, for a person.
    fn diff(&self, paint: TextStyle) -> Option<String> {
        let after = match &self.state {
            ToolFileState::Write(text) | ToolFileState::Restore(text) => Some(text.as_str()),
            ToolFileState::Remove => None,
            ToolFileState::Same
            | ToolFileState::Written
            | ToolFileState::NotConnected
            | ToolFileState::NotOurs
            | ToolFileState::ChangedSince => return None,
        };
        Some(diff(&self.target.shown, self.target.text.as_deref(), after, paint))
    }

    fn json(&self, written: &str, planned: &str) -> Json {
        let state = match self.state {
            ToolFileState::Written => written,
            ToolFileState::Write(_) | ToolFileState::Restore(_) | ToolFileState::Remove => planned,
            ToolFileState::Same => "already_connected",
            ToolFileState::NotConnected => "not_connected",
            ToolFileState::NotOurs => "not_ours",
            ToolFileState::ChangedSince => "changed_since",
        };
        let backup = self.target.backup();
        json!({
            "client": self.tool.name(),
            "parts": self.parts.iter().map(ToolFilePart::word).collect::<Vec<_>>(),
            "file": self.target.path.to_string_lossy(),
            "state": state,
            "backup": backup.exists().then(|| backup.to_string_lossy().into_owned()),
            "diff": self.diff(TextStyle::plain()),
        })
    }
}

/// One line for each file, and its diff; or everything as JSON, with the words for what was done and for what is planned.
fn summary(
    changes: &[ToolFileChange],
    (written, planned): (&str, &str),
    world: &World,
    line: impl Fn(&ToolFileChange, &str, &str) -> Option<String>,
    end: &str,
) -> CommandResult {
    if world.json {
        let all: Vec<Json> = changes.iter().map(|change| change.json(written, planned)).collect();
        return CommandOutput::json(&json!({ "clients": all }));
    }
    let mut text = String::new();
    for change in changes {
        let line = line(change, change.tool.title(), &clean_path(&change.target.shown));
        text.extend(line.map(|line| line + "\n"));
        text.extend(change.diff(world.paint));
    }
    Ok(CommandOutput::text(text + end))
}

/// What was added to a file, or that it was there.
fn connect_line(change: &ToolFileChange, title: &str, file: &str, world: &World) -> Option<String> {
    match &change.state {
        ToolFileState::Written if change.target.text.is_none() => Some(format!("{} (created {file}).", change.deed())),
        ToolFileState::Written if change.target.backup().exists() => {
            let kept = world.display_path(&change.target.backup());
            Some(format!("{} (changed {file}, backup in {}).", change.deed(), clean_path(&kept)))
        }
        ToolFileState::Written => Some(format!("{} (changed {file}).", change.deed())),
        ToolFileState::Same => Some(format!("{title} already has {} ({file}).", change.effect())),
        _ => None,
    }
}

/// The same for all files, a line each.
pub(super) fn connect_lines(changes: &[ToolFileChange], world: &World) -> String {
    let line = |change: &ToolFileChange| {
        let file = clean_path(&change.target.shown).into_owned();
        connect_line(change, change.tool.title(), &file, world).map(|line| line + "\n")
    };
    changes.iter().filter_map(line).collect()
}

pub(super) fn connect_summary(changes: &[ToolFileChange], world: &World) -> CommandResult {
    let line = |change: &ToolFileChange, title: &str, file: &str| connect_line(change, title, file, world);
    let is_written = changes.iter().any(|change| change.state == ToolFileState::Written);
    let end = if is_written { "Restart these tools to load it; `maestro doctor` checks the connection.\n" } else { "" };
    summary(changes, ("connected", "would_connect"), world, line, end)
}

/// Note on tools without hooks, if hooks were requested.
pub(super) fn no_hooks_note(tools: &[NamedTool]) -> String {
    let titles: Vec<&str> = tools.iter().map(|tool| tool.title()).collect();
    match titles.as_slice() {
        [] => String::new(),
        [title] => format!("note: {title} does not support hooks; `--hooks` has no effect\n"),
        titles => format!("note: {} do not support hooks; `--hooks` has no effect\n", titles.join(", ")),
    }
}

pub(super) fn disconnect_summary(changes: &[ToolFileChange], world: &World) -> CommandResult {
    let line = |change: &ToolFileChange, title: &str, file: &str| match (&change.state, change.parts.as_slice()) {
        (ToolFileState::Written, [ToolFilePart::Hooks]) => {
            Some(format!("Removed Maestro's hooks from {title} ({file})."))
        }
        (ToolFileState::Written, [ToolFilePart::Workflow { .. }]) => {
            Some(format!("Removed a workflow command from {title} ({file})."))
        }
        (ToolFileState::Written, _) => Some(format!("Removed Maestro from {title} ({file}).")),
        (ToolFileState::ChangedSince, _) => Some(format!("Kept {file}: it was edited since Maestro created it.")),
        (ToolFileState::NotConnected, _) => Some(format!("{title} is not connected ({file}).")),
        (ToolFileState::NotOurs, _) => Some(format!("Kept the entry `maestro` in {file}: it does not start Maestro.")),
        _ => None,
    };
    let end = if changes.is_empty() { "No tools are connected.\n" } else { "" };
    summary(changes, ("disconnected", "would_disconnect"), world, line, end)
}
