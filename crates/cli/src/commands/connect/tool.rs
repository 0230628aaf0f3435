//! Tools that can be connected, by name.

use maestro_core::closest_word::closest;
use maestro_core::connect::{ConnectableTool, SettingsScope};

use super::target;
use crate::host::connections::ConnectionFile;
use crate::host::world::World;
use crate::output::command_output::CommandResult;
use crate::output::error::CommandError;

/// The name for all tools.
const ALL: &str = "all";
const AIDER: &str = "aider";

/// A tool that can be connected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NamedTool {
    /// A tool with support for the Model Context Protocol.
    Client(ConnectableTool),
    /// Aider, without that support, which reads commands from files.
    Aider,
}

impl NamedTool {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Client(client) => client.as_str(),
            Self::Aider => AIDER,
        }
    }

    pub(super) fn title(self) -> &'static str {
        match self {
            Self::Client(client) => client.title(),
            Self::Aider => "Aider",
        }
    }

    pub(super) fn client(self) -> Option<ConnectableTool> {
        match self {
            Self::Client(client) => Some(client),
            Self::Aider => None,
        }
    }

    /// Every tool with settings in this scope.
    pub(super) fn all(scope: SettingsScope) -> impl Iterator<Item = Self> {
        let clients = ConnectableTool::ALL.into_iter().filter(move |client| client.servers_file(scope).is_some());
        clients.map(Self::Client).chain([Self::Aider])
    }

    fn from_name(name: &str) -> Option<Self> {
        if name == AIDER { Some(Self::Aider) } else { ConnectableTool::from_name(name).map(Self::Client) }
    }
}

/// The tools with these names.
pub(super) enum ToolSelection {
    All,
    These(Vec<NamedTool>),
}

pub(super) fn select_tools(names: &[String]) -> CommandResult<ToolSelection> {
    let mut tools = Vec::new();
    for name in names {
        if name == ALL {
            return Ok(ToolSelection::All);
        }
        let tool = NamedTool::from_name(name).ok_or_else(|| unknown(name))?;
        if !tools.contains(&tool) {
            tools.push(tool);
        }
    }
    Ok(ToolSelection::These(tools))
}

fn unknown(name: &str) -> CommandError {
    let known: Vec<&str> = NamedTool::all(SettingsScope::User).map(NamedTool::name).chain([ALL]).collect();
    let error = CommandError::not_found(format!("unknown tool `{name}`"));
    match closest(name, known.iter().copied()) {
        Some(meant) => error.hint(format!("did you mean `{meant}`?")),
        None => error.hint(format!("available: {}", known.join(", "))),
    }
}

/// The installed tools that can be connected in this scope.
pub(super) fn installed_tools(scope: SettingsScope, world: &World) -> CommandResult<Vec<NamedTool>> {
    let connections = ConnectionFile::load(world)?;
    let is_here =
        |tool: &NamedTool| tool.client().is_some_and(|client| target::is_installed(client, &connections, world));
    let tools: Vec<NamedTool> = NamedTool::all(scope).filter(is_here).collect();
    if tools.is_empty() {
        let names: Vec<&str> = ConnectableTool::ALL.iter().map(|client| client.as_str()).collect();
        return Err(CommandError::not_found("no supported tool found")
            .hint(format!("name one with `--create` to connect it anyway: {}", names.join(", "))));
    }
    Ok(tools)
}

/// Refuses tools that are not here: no settings are created for them.
pub(super) fn require_installed(tools: &[NamedTool], world: &World) -> CommandResult<()> {
    let connections = ConnectionFile::load(world)?;
    let is_missing =
        |tool: &&NamedTool| tool.client().is_some_and(|client| !target::is_installed(client, &connections, world));
    match tools.iter().find(is_missing) {
        None => Ok(()),
        Some(tool) => Err(CommandError::not_found(format!(
            "{} is not installed here; nothing was changed",
            tool.title()
        ))
        .hint(format!(
            "`maestro connect {0} --create` creates its settings anyway, `--scope project` adds it to this project",
            tool.name()
        ))),
    }
}
