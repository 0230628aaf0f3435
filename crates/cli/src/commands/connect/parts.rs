//! Files that connect a tool to Maestro, and their content.

use maestro_core::connect::{Client, Item, Location, Scope, hooks, server};

use crate::output::error::CommandError;

/// What a file adds to a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Part {
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

impl Part {
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
pub(super) enum Hooks {
    With,
    Without,
}

/// A file, and its wanted content.
pub(super) struct File {
    pub(super) location: Location,
    pub(super) parts: Vec<Part>,
}

/// The files of a tool; content for one file is grouped.
pub(super) fn of(client: Client, scope: Scope, hooks: Hooks) -> Result<Vec<File>, CommandError> {
    let servers = client.servers_file(scope).ok_or_else(|| {
        CommandError::invalid(format!("{} has no project settings", client.title()))
            .hint(format!("run `maestro connect {}` to change your own settings", client.name()))
    })?;
    let mut files = vec![File { location: servers, parts: vec![Part::Server] }];
    match client.hooks_file(scope).filter(|_| hooks == Hooks::With) {
        Some(location) if location == servers => files[0].parts.push(Part::Hooks),
        Some(location) => files.push(File { location, parts: vec![Part::Hooks] }),
        None => {}
    }
    Ok(files)
}

impl File {
    /// Its wanted text; `text` is the current one.
    pub(super) fn items(&self, client: Client, program: &str, text: Option<&str>) -> Vec<Item> {
        let of_part = |part: &Part| match part {
            Part::Server => vec![server(client, program, text)],
            Part::Hooks => hooks(client, program),
            Part::Workflow { .. } => Vec::new(),
        };
        self.parts.iter().flat_map(of_part).collect()
    }
}
