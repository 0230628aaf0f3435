//! `maestro connect` and `maestro disconnect`: whether your coding tools know Maestro, by their own settings.

mod diff;
mod shown;
mod target;
mod undone;

use maestro_core::connect::{Client, EditError, Location, Put, SERVER, Scope, Undo, put, server};
use maestro_core::suggest::closest;

use self::shown::{Change, State};
use self::target::Target;
use crate::args::{ConnectArgs, DisconnectArgs};
use crate::connections::Connections;
use crate::error::CommandError;
use crate::reply::Reply;
use crate::world::World;

/// The word for every tool that is meant by it.
const ALL: &str = "all";

pub(crate) fn connect(args: &ConnectArgs, world: &World) -> Result<Reply, CommandError> {
    let scope = args.scope.into();
    let clients = match named(&args.clients)? {
        Named::These(clients) => clients,
        Named::All => here(scope, world)?,
    };
    // Everything is worked out before anything is written, so that one broken file leaves all as they are.
    let mut changes = Vec::new();
    for client in clients {
        changes.push(planned(client, scope, world)?);
    }
    if !args.dry_run {
        let mut connections = Connections::load(world)?;
        for change in &mut changes {
            carry_out(change, &mut connections)?;
        }
    }
    shown::connected(&changes, world)
}

pub(crate) fn disconnect(args: &DisconnectArgs, world: &World) -> Result<Reply, CommandError> {
    let scope = args.scope.into();
    let mut connections = Connections::load(world)?;
    let (clients, all) = match named(&args.clients)? {
        Named::These(clients) => (clients, false),
        Named::All => (Client::ALL.into_iter().filter(|client| client.servers_file(scope).is_some()).collect(), true),
    };
    let mut changes = Vec::new();
    for client in clients {
        let change = undone::planned(client, location(client, scope)?, &connections, world)?;
        if !all || change.state != State::NotConnected {
            changes.push(change);
        }
    }
    if !args.dry_run {
        for change in &mut changes {
            undone::carry_out(change, &mut connections)?;
        }
    }
    shown::disconnected(&changes, world)
}

/// Which tools were named.
enum Named {
    All,
    These(Vec<Client>),
}

fn named(names: &[String]) -> Result<Named, CommandError> {
    let mut clients = Vec::new();
    for name in names {
        if name == ALL {
            return Ok(Named::All);
        }
        let client = Client::from_name(name).ok_or_else(|| unknown(name))?;
        if !clients.contains(&client) {
            clients.push(client);
        }
    }
    Ok(Named::These(clients))
}

fn unknown(name: &str) -> CommandError {
    let known: Vec<&str> = Client::ALL.iter().map(|client| client.name()).chain([ALL]).collect();
    let error = CommandError::not_found(format!("no tool called `{name}` is known"));
    match closest(name, known.iter().copied()) {
        Some(meant) => error.hint(format!("did you mean `{meant}`?")),
        None => error.hint(format!("known are {}", known.join(", "))),
    }
}

/// The tools that are on this machine, and can be told of Maestro there.
fn here(scope: Scope, world: &World) -> Result<Vec<Client>, CommandError> {
    let is_meant = |client: &Client| client.servers_file(scope).is_some() && target::is_here(*client, world);
    let clients: Vec<Client> = Client::ALL.into_iter().filter(is_meant).collect();
    if clients.is_empty() {
        let names: Vec<&str> = Client::ALL.iter().map(|client| client.name()).collect();
        return Err(CommandError::not_found("none of the tools that Maestro knows is installed here")
            .hint(format!("name one to connect it all the same: {}", names.join(", "))));
    }
    Ok(clients)
}

fn location(client: Client, scope: Scope) -> Result<Location, CommandError> {
    client.servers_file(scope).ok_or_else(|| {
        CommandError::invalid(format!("{} has no settings in a project", client.title()))
            .hint(format!("`maestro connect {}` changes your own", client.name()))
    })
}

/// What is to be done so that a tool knows Maestro.
fn planned(client: Client, scope: Scope, world: &World) -> Result<Change, CommandError> {
    let target = Target::find(location(client, scope)?, world)?;
    let item = server(client, &program(scope)?, target.text.as_deref());
    let state = match put(target.text.as_deref().unwrap_or_default(), target.format, &item) {
        Ok(Put::Same) => State::Same,
        Ok(Put::Changed(after)) => State::Write(after),
        Err(error) => return Err(refused(&error, &target, client)),
    };
    Ok(Change { client, target, state })
}

fn carry_out(change: &mut Change, connections: &mut Connections) -> Result<(), CommandError> {
    let State::Write(after) = &change.state else { return Ok(()) };
    // Remembered first: what is remembered in vain does no harm, since it fits no file.
    connections.add(&change.target.path, Undo::of(change.target.text.as_deref(), after))?;
    change.target.write(after)?;
    change.state = State::Written;
    Ok(())
}

/// How a tool is to start Maestro: where it is, since a tool may know another `PATH`; by its name in a file that others
/// read too.
fn program(scope: Scope) -> Result<String, CommandError> {
    if scope == Scope::Project {
        return Ok(SERVER.to_owned());
    }
    let path = std::env::current_exe().map_err(|error| {
        CommandError::io("where this program is cannot be found out", &error).hint("start it by its full path")
    })?;
    path.into_os_string().into_string().map_err(|path| {
        CommandError::invalid(format!("the path of this program is no UTF-8 text: {}", path.to_string_lossy()))
            .hint("install it elsewhere, or use --scope project")
    })
}

/// Why a tool's file was left alone, and what to do about it.
fn refused(error: &EditError, target: &Target, client: Client) -> CommandError {
    let shown = &target.shown;
    match error {
        EditError::Broken { line, column, reason } => {
            CommandError::invalid(format!("{shown}:{line}:{column} cannot be read: {reason}"))
                .hint("mend the file first; it was left as it is, and no other was changed")
        }
        EditError::Taken { path } => CommandError::refused(format!("{shown}: {error}"))
            .hint(format!("give `{path}` another name, or remove it; it does not start Maestro")),
        EditError::Shape { path } => CommandError::invalid(format!("{shown}: {error}"))
            .hint(format!("change `{path}` by hand; {} is to start `{SERVER} mcp`", client.title())),
    }
}
