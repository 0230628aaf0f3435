//! Health of the server that runs, as it says itself.

use maestro_api::server::{self, HealthFailure};
use maestro_core::{Problem, ProblemCode, ProblemSeverity};

use crate::client::own_server;
use crate::host::world::World;
use crate::logging;

/// What fails in the server on this database; nothing where none runs.
pub(super) fn problems(world: &World) -> Vec<Problem> {
    let Some(client) = own_server::running(world) else { return Vec::new() };
    let log = logging::path(world);
    match client.call(server::health()) {
        Ok(health) => health.degraded.iter().map(|failure| problem(failure, log.clone())).collect(),
        Err(error) => {
            let message = format!("the server does not say how it is: {}", error.message());
            let help = "restart it with `maestro up`".to_owned();
            vec![Problem::new(ProblemCode::ServerDegraded, ProblemSeverity::Error, log, message, help)]
        }
    }
}

fn problem(failure: &HealthFailure, log: std::path::PathBuf) -> Problem {
    let times = if failure.failures == 1 { "once".to_owned() } else { format!("{} times", failure.failures) };
    let message = format!("the server is degraded: {} failed {times}: {}", failure.what, failure.reason);
    let help = "the server tries again by itself; this file says more".to_owned();
    Problem::new(ProblemCode::ServerDegraded, ProblemSeverity::Error, log, message, help)
}
