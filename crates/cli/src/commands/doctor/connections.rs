//! Check whether Maestro answers the connected tools: starts and greets the server as each of them would.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use maestro_core::connect::{ConnectableTool, SERVER, ServerCommand, SettingsScope, find_server_command};
use maestro_core::{Problem, ProblemCode, ProblemSeverity};
use maestro_engine::agents::mcp_probe::{self, McpProbe, McpProbeResult};
use maestro_engine::agents::probe::ProbeAnswer;
use serde::Serialize;

use crate::commands::connect::target::ToolSettingsFile;
use crate::host::runtime;
use crate::host::world::World;
use crate::output::progress::while_working;
use crate::output::screen::count;

/// A tool whose settings name Maestro.
#[derive(Debug, Serialize)]
pub(super) struct ConnectedTool {
    pub(super) client: &'static str,
    #[serde(skip)]
    pub(super) title: &'static str,
    #[serde(serialize_with = "maestro_core::problem::lossy")]
    pub(super) file: PathBuf,
    pub(super) ok: bool,
    /// The server's answer, or the reason there is none.
    pub(super) answer: String,
    /// The way out if there is none.
    #[serde(skip)]
    help: String,
}

impl ConnectedTool {
    /// The problem, if there is one.
    pub(super) fn problem(&self) -> Option<Problem> {
        let message = format!("{} cannot reach Maestro: it {}", self.title, self.answer);
        (!self.ok).then(|| {
            let help = self.help.clone();
            Problem::new(ProblemCode::ConnectionBroken, ProblemSeverity::Error, self.file.clone(), message, help)
        })
    }
}

/// Checks every connected tool. An unreadable file is the tool's own problem, and skipped.
pub(super) fn probe_all(world: &World) -> Vec<ConnectedTool> {
    let mut asked: Vec<(ConnectableTool, PathBuf, Result<McpProbe, String>, String)> = Vec::new();
    for client in ConnectableTool::ALL {
        for scope in [SettingsScope::User, SettingsScope::Project] {
            let Some(location) = client.servers_file(scope) else { continue };
            for target in ToolSettingsFile::all(location, world).unwrap_or_default() {
                let text = target.text.as_deref();
                let Some(started) = text.and_then(|text| find_server_command(text, location.format, client)) else {
                    continue;
                };
                // In a home directory a project's file may be the user's own.
                let is_known = asked.iter().any(|(other, path, ..)| *other == client && *path == target.path);
                if !is_known {
                    let help = way_out(client, scope, &started);
                    asked.push((client, target.path, build_probe(client, scope, started, world), help));
                }
            }
        }
    }
    let ready: Vec<McpProbe> = asked.iter().filter_map(|(_, _, server, _)| server.clone().ok()).collect();
    let mut answers = probe_servers(ready, world).into_iter();
    let connection = |(client, file, server, help): (ConnectableTool, PathBuf, Result<McpProbe, String>, String)| {
        let (ok, answer) = match server {
            Ok(_) => answers.next().as_ref().map_or_else(|| (false, "was not checked".to_owned()), probe_text),
            Err(reason) => (false, reason),
        };
        ConnectedTool { client: client.as_str(), title: client.title(), file, ok, answer, help }
    };
    asked.into_iter().map(connection).collect()
}

/// What helps if the server does not answer. A project's file names `maestro` without a directory, for everyone who works there.
fn way_out(client: ConnectableTool, scope: SettingsScope, started: &ServerCommand) -> String {
    let is_shared = scope == SettingsScope::Project && started.command.first().is_none_or(|name| name == SERVER);
    if is_shared {
        return format!(
            "add the directory of `{SERVER}` to your PATH; this file is shared, and names the program alone"
        );
    }
    format!("run `maestro connect {client}` to rewrite the entry", client = client.as_str())
}

fn probe_text(served: &McpProbeResult) -> (bool, String) {
    (matches!(served, McpProbeResult::Tools { .. }), served.to_string())
}

fn probe_servers(servers: Vec<McpProbe>, world: &World) -> Vec<McpProbeResult> {
    if servers.is_empty() {
        return Vec::new();
    }
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            let unasked = McpProbeResult::Failed(ProbeAnswer::NotStarted(error.to_string()));
            return vec![unasked; servers.len()];
        }
    };
    let what = format!("Asking {}", count(servers.len(), "connection", "connections"));
    while_working(world.terminals, &what, || {
        runtime::wait(&runtime, mcp_probe::probe_all(servers, mcp_probe::PATIENCE))
    })
}

/// What a tool would start. What a project's file names is started only if it is this very program: the user has not
/// allowed any other, nor the variables that the file sets.
fn build_probe(
    client: ConnectableTool,
    scope: SettingsScope,
    started: ServerCommand,
    world: &World,
) -> Result<McpProbe, String> {
    let maestro = std::env::current_exe().map_err(|error| format!("cannot be started: {error}"))?;
    let name = started.command.first().map_or(SERVER, String::as_str);
    let found = find_program(name, world).ok_or_else(|| format!("does not start: `{name}` not found"))?;
    let mut env = environment();
    match scope {
        SettingsScope::User => env.extend(started.env),
        SettingsScope::Project if name == SERVER => {}
        SettingsScope::Project => {
            return Err(format!("is not checked: the project's file names `{name}`, not `{SERVER}`"));
        }
    }
    Ok(McpProbe {
        maestro,
        program: found,
        argv: started.command,
        env,
        cwd: world.places.project.clone(),
        writes: vec![world.maestro_home.clone(), world.cache.clone(), world.places.data.clone()],
        hello: client.identity(),
    })
}

/// A program as a tool finds it: by its path, or the first of that name on the `PATH`.
fn find_program(name: &str, world: &World) -> Option<PathBuf> {
    if name.contains('/') {
        return Some(PathBuf::from(name)).filter(|path| path.is_absolute() && path.is_file());
    }
    let dirs = world.program_dirs.iter().filter(|dir: &&PathBuf| Path::is_absolute(dir));
    dirs.map(|dir| dir.join(name)).find(|path| path.is_file())
}

/// What a tool's servers inherit, without the variables of a session.
fn environment() -> BTreeMap<String, String> {
    let text =
        std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
    let of_session = ["MAESTRO_SESSION_ID", "MAESTRO_SESSION_TOKEN", "MAESTRO_TASK_ID", "MAESTRO_TASK_IDS"];
    text.filter(|(name, _)| !of_session.contains(&name.as_str())).collect()
}
