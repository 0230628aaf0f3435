//! The connection of a process that answers others for as long as it runs: as a command's, but where no server runs it
//! executes what runs order and maintains the database meanwhile.

use std::sync::Arc;

use axum::Router;
use axum::http::HeaderMap;
use maestro_api::{ApiClient, HttpRequest, RouterTransport, SendFuture, Transport};
use maestro_engine::daemon::run_maintenance;
use maestro_server::mcp::Connection;
use maestro_server::{AppState, ServerOptions, router};
use tokio::runtime::Handle;
use tokio::task::AbortHandle;

use super::link::local;
use crate::client::{context, runs};
use crate::host::cli_host::CliHost;
use crate::host::config;
use crate::host::world::World;
use crate::output::command_output::CommandResult;
use crate::server_process::database;

/// Finds the server or opens the database. Called from a thread of a runtime that may wait.
pub(crate) fn connect(world: &World, host: &CliHost) -> CommandResult<Connection> {
    let client = runs::client(world)?;
    let project = context::named_project(&client, world);
    let headers = client.headers()?;
    let client = if let Some(connection) = client.another_connection() {
        ApiClient::new(Arc::new(connection)).with_headers(headers)
    } else {
        drop(client);
        to_database(world, host, headers)?
    };
    Ok(Connection { client, project })
}

/// The router in this process, with what is done beside all requests.
struct MaintainedRouter {
    router: RouterTransport<Router>,
    maintenance: AbortHandle,
}

impl Transport for MaintainedRouter {
    fn send(&self, request: HttpRequest) -> SendFuture<'_> {
        self.router.send(request)
    }
}

impl Drop for MaintainedRouter {
    fn drop(&mut self) {
        self.maintenance.abort();
    }
}

fn to_database(world: &World, host: &CliHost, headers: HeaderMap) -> CommandResult<ApiClient> {
    let settings = config::settings(world)?;
    let store = database::open(database::database_url(world), world)?;
    store.set_rules(database::rules(&settings));
    let execution = host.clone().with_store(store.clone()).execution()?;
    let app = AppState::new(ServerOptions {
        host: Arc::clone(&execution.host),
        hosting: Some(maestro_store::HostKind::Command),
        execution: Some(execution),
        ..local(store, world)
    });
    let maintenance = Handle::current().spawn(run_maintenance(app.maintenance())).abort_handle();
    let transport = MaintainedRouter { router: RouterTransport(router(app)), maintenance };
    Ok(ApiClient::new(Arc::new(transport)).with_headers(headers))
}
