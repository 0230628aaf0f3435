//! Health of the server that runs, as it says itself.

use maestro_core::{Code, Problem, Severity};
use serde::Deserialize;

use crate::host::world::World;
use crate::output::log;
use crate::server_process::own_server;

/// What `/health` says, as far as it matters here.
#[derive(Debug, Deserialize)]
struct ServerHealth {
    #[serde(default)]
    degraded: Vec<ServerFailure>,
}

/// Something that fails in the server.
#[derive(Debug, Deserialize)]
struct ServerFailure {
    what: String,
    failures: u64,
    reason: String,
}

/// What fails in the server on this database; nothing where none runs.
pub(super) fn problems(world: &World) -> Vec<Problem> {
    let Some(client) = own_server::running(world) else { return Vec::new() };
    let log = log::path(world);
    match client.get::<ServerHealth>("/health") {
        Ok(health) => health.degraded.iter().map(|failure| failure.problem(log.clone())).collect(),
        Err(error) => {
            let message = format!("the server does not say how it is: {}", error.message());
            let help = "restart it with `maestro up`".to_owned();
            vec![Problem::new(Code::ServerDegraded, Severity::Error, log, message, help)]
        }
    }
}

impl ServerFailure {
    fn problem(&self, log: std::path::PathBuf) -> Problem {
        let times = if self.failures == 1 { "once".to_owned() } else { format!("{} times", self.failures) };
        let message = format!("the server is degraded: {} failed {times}: {}", self.what, self.reason);
        let help = "the server tries again by itself; this file says more".to_owned();
        Problem::new(Code::ServerDegraded, Severity::Error, log, message, help)
    }
}
