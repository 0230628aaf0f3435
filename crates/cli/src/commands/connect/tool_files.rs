//! Files that connect a tool to Maestro, and their content.

use maestro_core::connect::{ConnectableTool, SettingsItem, SettingsLocation, SettingsScope, hooks, server};

use crate::output::command_output::CommandResult;
use crate::output::error::CommandError;

/// What a file adds to a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum ToolFilePart {
    /// The MCP server.
    Server,
    /// The hooks.
    Hooks,
    /// A workflow.
    Workflow {
        /// The command by which users start it, if known.
        by: Option<String>,
    },
}

impl ToolFilePart {
    /// Its name for programs.
    pub(super) fn word(&self) -> &'static str {
        match self {
            Self::Server => "server",
            Self::Hooks => "hooks",
            Self::Workflow { .. } => "workflow",
        }
    }
}

/// Whether a tool gets hooks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum HookChoice {
    With,
    Without,
}

/// A file, and its wanted content.
pub(super) struct ToolFile {
    pub(super) location: SettingsLocation,
    pub(super) parts: Vec<ToolFilePart>,
}

/// The files of a tool; content for one file is grouped.
pub(super) fn of(client: ConnectableTool, scope: SettingsScope, hooks: HookChoice) -> CommandResult<Vec<ToolFile>> {
    let servers = client.servers_file(scope).ok_or_else(|| {
        CommandError::invalid(format!("{} has no project settings", client.title()))
            .hint(format!("run `maestro connect {}` to change your own settings", client.as_str()))
    })?;
    let mut files = vec![ToolFile { location: servers, parts: vec![ToolFilePart::Server] }];
    match client.hooks_file(scope).filter(|_| hooks == HookChoice::With) {
        Some(location) if location == servers => files[0].parts.push(ToolFilePart::Hooks),
        Some(location) => files.push(ToolFile { location, parts: vec![ToolFilePart::Hooks] }),
        None => {}
    }
    Ok(files)
}

impl ToolFile {
    /// Its wanted text; `text` is the current one.
    pub(super) fn items(&self, client: ConnectableTool, program: &str, text: Option<&str>) -> Vec<SettingsItem> {
        let of_part = |part: &ToolFilePart| match part {
            ToolFilePart::Server => vec![server(client, self.location.scope(), program, text)],
            ToolFilePart::Hooks => hooks(client, program),
            ToolFilePart::Workflow { .. } => Vec::new(),
        };
        self.parts.iter().flat_map(of_part).collect()
    }
}
