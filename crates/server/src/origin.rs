//! Origin of a request: the way it came to the server, which its sender cannot choose.

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
