//! Health of the server that runs, as it says itself, or else of the database.

use maestro_api::server::{self, HealthFailure};
use std::path::PathBuf;

use maestro_core::{Problem, ProblemCode, ProblemSeverity};
use maestro_store::DatabaseLocation;

use crate::client::own_server;
use crate::host::world::World;
use crate::logging;
use crate::server_process::database;

/// What fails in the server on this database; where none runs, whether the database can be opened.
pub(super) fn problems(world: &World) -> Vec<Problem> {
    let Some(client) = own_server::running(world) else { return closed_database(world).into_iter().collect() };
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

/// Why the database cannot be opened, if it cannot.
fn closed_database(world: &World) -> Option<Problem> {
    if !database::exists(world) {
        return None;
    }
    let error = database::open(database::database_url(world), world).err()?;
    let place = match database::database_url(world) {
        DatabaseLocation::File(path) => path,
        // The address may have a password.
        DatabaseLocation::Postgres(_) => PathBuf::from("postgres"),
    };
    let help = error.hints().join("; ");
    Some(Problem::new(ProblemCode::DatabaseBroken, ProblemSeverity::Error, place, error.message(), help))
}

fn problem(failure: &HealthFailure, log: PathBuf) -> Problem {
    let times = if failure.failures == 1 { "once".to_owned() } else { format!("{} times", failure.failures) };
    let message = format!("the server is degraded: {} failed {times}: {}", failure.what, failure.reason);
    let help = "the server tries again by itself; this file says more".to_owned();
    Problem::new(ProblemCode::ServerDegraded, ProblemSeverity::Error, log, message, help)
}
