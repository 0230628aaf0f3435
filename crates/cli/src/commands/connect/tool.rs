//! Which tools were named?

use maestro_core::connect::{Client, Scope};
use maestro_core::suggest::closest;

use super::target;
use crate::host::connections::Connections;
use crate::host::world::World;
use crate::output::error::CommandError;

/// The word for every tool that is meant by it.
const ALL: &str = "all";
const AIDER: &str = "aider";

/// A tool that can be named.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Tool {
    /// One that speaks the Model Context Protocol.
    Client(Client),
    /// Aider, which speaks none, and can be handed commands.
    Aider,
}

impl Tool {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Client(client) => client.name(),
            Self::Aider => AIDER,
        }
    }

    pub(super) fn title(self) -> &'static str {
        match self {
            Self::Client(client) => client.title(),
            Self::Aider => "Aider",
        }
    }

    pub(super) fn client(self) -> Option<Client> {
        match self {
            Self::Client(client) => Some(client),
            Self::Aider => None,
        }
    }

    /// Every tool that has settings there.
    pub(super) fn all(scope: Scope) -> impl Iterator<Item = Self> {
        let clients = Client::ALL.into_iter().filter(move |client| client.servers_file(scope).is_some());
        clients.map(Self::Client).chain([Self::Aider])
    }

    fn from_name(name: &str) -> Option<Self> {
        if name == AIDER { Some(Self::Aider) } else { Client::from_name(name).map(Self::Client) }
    }
}

/// Which tools were named.
pub(super) enum Named {
    All,
    These(Vec<Tool>),
}

pub(super) fn named(names: &[String]) -> Result<Named, CommandError> {
    let mut tools = Vec::new();
    for name in names {
        if name == ALL {
            return Ok(Named::All);
        }
        let tool = Tool::from_name(name).ok_or_else(|| unknown(name))?;
        if !tools.contains(&tool) {
            tools.push(tool);
        }
    }
    Ok(Named::These(tools))
}

fn unknown(name: &str) -> CommandError {
    let known: Vec<&str> = Tool::all(Scope::User).map(Tool::name).chain([ALL]).collect();
    let error = CommandError::not_found(format!("no tool called `{name}` is known"));
    match closest(name, known.iter().copied()) {
        Some(meant) => error.hint(format!("did you mean `{meant}`?")),
        None => error.hint(format!("known are {}", known.join(", "))),
    }
}

/// The tools that are on this machine, and can be told of Maestro there.
pub(super) fn here(scope: Scope, world: &World) -> Result<Vec<Tool>, CommandError> {
    let connections = Connections::load(world)?;
    let is_here = |tool: &Tool| tool.client().is_some_and(|client| target::is_here(client, &connections, world));
    let tools: Vec<Tool> = Tool::all(scope).filter(is_here).collect();
    if tools.is_empty() {
        let names: Vec<&str> = Client::ALL.iter().map(|client| client.name()).collect();
        return Err(CommandError::not_found("none of the tools that Maestro knows is installed here")
            .hint(format!("name one to connect it all the same: {}", names.join(", "))));
    }
    Ok(tools)
}
