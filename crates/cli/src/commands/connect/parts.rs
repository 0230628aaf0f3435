//! Which files make a tool know Maestro, and what is in each?

use maestro_core::connect::{Client, Item, Location, Scope, hooks, server};

use crate::output::error::CommandError;

/// What a tool is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Part {
    /// Which MCP server Maestro is.
    Server,
    /// That it calls Maestro when something happens.
    Hooks,
    /// How a workflow is started.
    Workflow {
        /// What its user types for that, where that is known.
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

/// Whether a tool is to call Maestro.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Hooks {
    With,
    Without,
}

/// A file, and what it is to say.
pub(super) struct File {
    pub(super) location: Location,
    pub(super) parts: Vec<Part>,
}

/// The files of a tool; what belongs into one file stands together.
pub(super) fn of(client: Client, scope: Scope, hooks: Hooks) -> Result<Vec<File>, CommandError> {
    let servers = client.servers_file(scope).ok_or_else(|| {
        CommandError::invalid(format!("{} has no settings in a project", client.title()))
            .hint(format!("`maestro connect {}` changes your own", client.name()))
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
    /// What is to stand in it; `text` is what stands in it so far.
    pub(super) fn items(&self, client: Client, program: &str, text: Option<&str>) -> Vec<Item> {
        let of_part = |part: &Part| match part {
            Part::Server => vec![server(client, program, text)],
            Part::Hooks => hooks(client, program),
            Part::Workflow { .. } => Vec::new(),
        };
        self.parts.iter().flat_map(of_part).collect()
    }
}
