//! `maestro worker` and `maestro orchestrator`: the process that starts queued agents.

use std::io;

use maestro_api::{sessions, spawns};
use maestro_core::SessionRole;
use maestro_core::id::{EntityId as _, SessionId};
use maestro_engine::caller_sockets::{CallerSockets, SocketOrder};
use maestro_engine::worker::AgentWorker;
use maestro_server::{AppState, SkillChanges, serve_sockets};
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::json;
use tokio::sync::mpsc;

use crate::args::{OrchestratorArgs, OrchestratorCommand, WorkerArgs, WorkerCommand};
use crate::client::context;
use crate::client::{CliClient, ClientTarget, local_options};
use crate::commands::show;
use crate::commands::up::shutdown_signal;
use crate::host::cli_host::CliHost;
use crate::host::config;
use crate::host::runtime;
use crate::host::world::World;
use crate::output::command_output::{CommandOutput, CommandResult};
use crate::output::error::CommandError;
use crate::server_process::{database, worker_host};

pub(crate) fn run(args: &WorkerArgs, world: &World) -> CommandResult {
    match &args.command {
        WorkerCommand::Run { agents } => work(*agents, world),
        WorkerCommand::Init => init(SessionRole::Worker, world),
    }
}

pub(crate) fn orchestrator(args: &OrchestratorArgs, world: &World) -> CommandResult {
    match args.command {
        OrchestratorCommand::Init => init(SessionRole::Orchestrator, world),
    }
}

/// The server that agents report to.
fn server(client: &CliClient) -> CommandResult<String> {
    match client.target() {
        ClientTarget::Server(url) => Ok(url.to_owned()),
        ClientTarget::Database(_) => Err(CommandError::network("no server running; agents need one to report to")
            .hint("run `maestro up`, or pass --server")),
    }
}

/// A worker on the database, beside the server.
fn worker(most: usize, world: &World) -> CommandResult<ServedWorker> {
    let url = server(&CliClient::open(world)?)?;
    let settings = config::settings(world)?;
    let store = database::open(database::database_url(world), world)?;
    store.set_rules(database::rules(&settings));
    store.watch_others().map_err(|error| database::store_error(&error))?;
    let (sockets, orders) = CallerSockets::new();
    let host = CliHost::watching(world, &SkillChanges::default()).with_store(store.clone()).with_sockets(sockets);
    let app = AppState::new(local_options(store.clone(), world));
    Ok(ServedWorker { worker: worker_host::of(world, store, url, host.execution()?, most)?, app, orders })
}

/// A worker with what answers the calls of its agents' programs.
struct ServedWorker {
    worker: AgentWorker,
    app: AppState,
    orders: mpsc::Receiver<SocketOrder>,
}

fn runtime() -> CommandResult<tokio::runtime::Runtime> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    runtime.map_err(|error| CommandError::io("cannot start the runtime", &error))
}

fn work(most: usize, world: &World) -> CommandResult {
    let ServedWorker { worker, app, orders } = worker(most, world)?;
    let runtime = runtime()?;
    let (json, server) = (world.json, worker.endpoints.server.clone().unwrap_or_default());
    Ok(CommandOutput::stream(move |out| {
        if json {
            writeln!(
                out,
                "{}",
                json!({ "worker": worker.machine.identity.as_str(), "server": server, "agents": most })
            )?;
        } else {
            writeln!(out, "Worker for {server}: up to {most} agents at once")?;
        }
        out.flush()?;
        runtime::wait(&runtime, async {
            let end = shutdown_signal()?;
            let calls = tokio::spawn(serve_sockets(orders, app));
            let mut working = tokio::spawn(worker.run());
            tokio::select! {
                () = end => {
                    working.abort();
                    calls.abort();
                }
                ended = &mut working => return ended.map_err(io::Error::other),
            }
            match working.await {
                Err(error) if error.is_panic() => Err(io::Error::other(error)),
                _ => Ok(()),
            }
        })
    }))
}

/// Starts the agent of the session in the environment. If a worker has it already, it is followed.
fn init(role: SessionRole, world: &World) -> CommandResult {
    let id = context::session(world).ok_or_else(|| {
        CommandError::no_context("MAESTRO_SESSION_ID is not set")
            .hint("run `maestro session spawn` to create a session; a worker starts its agent")
    })?;
    check_manifest(role, world)?;
    let beside = world.outside_session();
    let client = CliClient::open(&beside)?;
    let session = client.call(sessions::get(id))?;
    if session.role != role {
        return Err(CommandError::invalid(format!("session `{id}` is not of the role {role}"))
            .hint("start it with its own role"));
    }
    let id = SessionId::parse(id).map_err(|error| CommandError::invalid(format!("`{id}`: {error}")))?;
    let spawn = client.call(spawns::get(id.as_str()))?;
    if spawn.state == "waiting" {
        let (ServedWorker { worker, app, orders }, runtime) = (worker(1, &beside)?, runtime()?);
        let session = id.clone();
        // It runs beside the output, and ends with it.
        std::thread::spawn(move || {
            runtime.spawn(serve_sockets(orders, app));
            runtime::wait(&runtime, worker.run_one(session))
        });
    }
    show::follow(&client, id.as_str(), world)
}

/// What of a session's manifest says for whom it is.
#[derive(Default, Deserialize)]
#[serde(default)]
struct ManifestHead {
    role: Option<String>,
    tasks: Vec<IgnoredAny>,
}

/// Checks that the session's manifest exists and matches.
fn check_manifest(role: SessionRole, world: &World) -> CommandResult<()> {
    let Some(path) = world.variable("MAESTRO_MANIFEST_PATH") else { return Ok(()) };
    let text = std::fs::read_to_string(path)
        .map_err(|error| CommandError::io(format!("cannot read {path}"), &error).hint("spawn the session again"))?;
    let manifest: ManifestHead = serde_json::from_str(&text).map_err(|error| {
        CommandError::invalid(format!("{path} is not a manifest: {error}")).hint("spawn the session again")
    })?;
    if manifest.role.as_deref() != Some(role.as_str()) || manifest.tasks.is_empty() {
        return Err(CommandError::invalid(format!("{path} is not a manifest for the role {role}"))
            .hint("use `maestro worker init` or `maestro orchestrator init`, as the session's role says"));
    }
    Ok(())
}
