//! Work that waits for a person, according to a running server.

use maestro_api::waiting::{self, WaitingBody, WaitingQuery};

use crate::client::{CliClient, ClientTarget};
use crate::host::world::World;
use crate::output::screen::clean;
use crate::server_process::database;

/// What a glance at the server tells.
pub(crate) enum ServerGlance {
    /// It runs, and this waits.
    Running {
        /// Where it answers.
        url: String,
        /// What waits, oldest first.
        waiting: Vec<WaitingBody>,
    },
    /// What waits is not known.
    Failed {
        /// Where the server should answer, if that is known.
        url: Option<String>,
        /// Why it is not known.
        why: String,
    },
    /// It does not run; whether something waits stands in the database, which a glance does not open.
    Stored,
    /// It does not run, and nothing was ever stored.
    Nothing,
}

impl ServerGlance {
    /// Asks the server that runs, if one does.
    pub(crate) fn at(world: &World) -> Self {
        let client = match CliClient::connect_running(world) {
            Ok(Some(client)) => client,
            Ok(None) => {
                let place = database::database_url(world);
                let stored = matches!(place, maestro_store::DatabaseLocation::File(path) if path.exists());
                return if stored { Self::Stored } else { Self::Nothing };
            }
            Err(error) => return Self::Failed { url: None, why: error.message().to_owned() },
        };
        let ClientTarget::Server(url) = client.target() else { return Self::Stored };
        let url = url.to_owned();
        match client.call(waiting::list(&WaitingQuery::default())) {
            Ok(waiting) => Self::Running { url, waiting },
            Err(error) => Self::Failed { url: Some(url), why: error.message().to_owned() },
        }
    }
}

/// What can be typed to answer, after `maestro session answer ID`.
pub(crate) fn answers(item: &WaitingBody) -> String {
    if item.options.is_empty() {
        return "\"TEXT\"".to_owned();
    }
    item.options.iter().map(|option| clean(option).into_owned()).collect::<Vec<_>>().join("|")
}
