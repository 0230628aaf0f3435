//! Sockets by which the programs of a session or a run call Maestro: ordered here, served by the program around.

use std::io;
use std::path::{Path, PathBuf};

use maestro_core::event::RunId;
use maestro_core::id::SessionId;
use tokio::sync::{mpsc, oneshot};

/// The variable with the path of the socket that a program calls on.
pub const VARIABLE: &str = "MAESTRO_SOCKET";

/// How many orders may wait.
const WAITING: usize = 64;

/// The one for whom callers on a socket speak.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SocketOwner {
    /// A session.
    Session(SessionId),
    /// The steps of a run.
    Run(RunId),
}

impl SocketOwner {
    /// Where its socket is, below the directory of sessions.
    pub fn socket_path(&self, sessions: &Path) -> PathBuf {
        let folder = match self {
            Self::Session(id) => sessions.join(id.to_string()),
            Self::Run(id) => sessions.join(format!("run_{id}")),
        };
        folder.join("maestro.sock")
    }
}

/// An order for a socket.
#[derive(Debug)]
pub struct SocketOrder {
    /// For whom.
    pub owner: SocketOwner,
    /// Receives the socket, or why there is none.
    pub reply: oneshot::Sender<io::Result<OpenSocket>>,
}

/// A socket that is served until this value is dropped.
#[derive(Debug)]
pub struct OpenSocket {
    /// Where it is.
    pub path: PathBuf,
    /// Its end tells the server to close the socket.
    pub guard: oneshot::Sender<()>,
}

/// The place where sockets are ordered. Copies are cheap.
#[derive(Debug, Clone)]
pub struct CallerSockets(mpsc::Sender<SocketOrder>);

impl CallerSockets {
    /// The place, and the orders that come in.
    pub fn new() -> (Self, mpsc::Receiver<SocketOrder>) {
        let (sender, orders) = mpsc::channel(WAITING);
        (Self(sender), orders)
    }

    /// Opens a socket.
    pub async fn open(&self, owner: SocketOwner) -> io::Result<OpenSocket> {
        let unserved = || io::Error::other("no server takes its calls");
        let (reply, opened) = oneshot::channel();
        self.0.send(SocketOrder { owner, reply }).await.map_err(|_| unserved())?;
        opened.await.map_err(|_| unserved())?
    }
}
