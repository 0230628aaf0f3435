//! Origin of a request: the way it came to the server, which its sender cannot choose.

use std::sync::{Arc, OnceLock};

use axum::http::HeaderMap;
use maestro_api::RUN_HEADER;
use maestro_core::event::RunId;
use maestro_core::id::SessionId;

use crate::peer::PeerStanding;

/// How a request came. The connection says so, and no header does.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) enum RequestOrigin {
    /// A router that was called in this process, which has opened the database.
    #[default]
    Process,
    /// A network address.
    Network,
    /// The user's own socket, by a process of this standing.
    UserSocket(PeerStanding),
    /// The socket of a session's programs.
    SessionSocket(SessionId),
    /// The socket of the programs of a run's steps.
    RunSocket(RunId),
}

/// The run whose calls a connection on the user's socket passes on: a command that executes the run says so once, and
/// gives up its own rights on that connection for good.
#[derive(Debug, Clone, Default)]
pub(crate) struct ConnectionRun(Arc<OnceLock<RunId>>);

impl ConnectionRun {
    /// The origin of a request on this connection.
    pub(crate) fn origin(&self, own: RequestOrigin, headers: &HeaderMap) -> RequestOrigin {
        if own != RequestOrigin::UserSocket(PeerStanding::Person) {
            return own;
        }
        let named = headers.get(RUN_HEADER).and_then(|value| value.to_str().ok()?.parse::<RunId>().ok());
        if let Some(run) = named {
            // The first one counts.
            let _ = self.0.set(run);
        }
        self.0.get().map_or(own, |run| RequestOrigin::RunSocket(*run))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_that_speaks_for_a_run_does_so_for_good() {
        let person = RequestOrigin::UserSocket(PeerStanding::Person);
        let (first, second): (RunId, RunId) = (
            "0198c0de-0000-7000-8000-000000000001".parse().unwrap(),
            "0198c0de-0000-7000-8000-000000000002".parse().unwrap(),
        );
        let named =
            |run: RunId| HeaderMap::from_iter([(RUN_HEADER.parse().unwrap(), run.to_string().parse().unwrap())]);
        let connection = ConnectionRun::default();
        let origin = |headers: &HeaderMap| connection.origin(person.clone(), headers);
        assert_eq!(origin(&HeaderMap::new()), person);
        assert_eq!(origin(&named(first)), RequestOrigin::RunSocket(first));
        assert_eq!(origin(&HeaderMap::new()), RequestOrigin::RunSocket(first));
        assert_eq!(origin(&named(second)), RequestOrigin::RunSocket(first));
        let other = ConnectionRun::default();
        assert_eq!(other.origin(RequestOrigin::Network, &named(first)), RequestOrigin::Network, "it gives nothing");
    }
}
