//! Relay of the calls that a run's programs make, where a command executes the run beside a server.
//!
//! The programs run below a supervisor and are not the user, so they call on a socket of the run. Their calls go on by the
//! command's own way to the server, with the command's rights.

use std::io;
use std::path::PathBuf;

use maestro_api::ShortPath;
use maestro_engine::caller_sockets::{CallerSockets, OpenSocket, SocketOrder};
use maestro_server::bind_private;
use tokio::io::copy_bidirectional;
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::oneshot;

use super::CliClient;
use crate::host::world::World;
use crate::server_process::worker_host;

/// Sockets of runs, whose calls go on to a server's socket while this value lives.
pub(super) struct CallRelay {
    sockets: CallerSockets,
    task: tokio::task::AbortHandle,
}

impl CallRelay {
    /// Starts a relay on the current runtime; nothing where the server has no socket for this command.
    pub(super) fn open(client: &CliClient, world: &World) -> Option<Self> {
        let server = client.another_connection()?.socket()?.to_owned();
        let sessions = PathBuf::from(worker_host::agent_endpoints(world, None).sessions);
        let (sockets, mut orders) = CallerSockets::new();
        let relay = async move {
            while let Some(SocketOrder { owner, reply }) = orders.recv().await {
                let path = owner.socket_path(&sessions);
                let opened = bind_private(&path).map(|listener| {
                    let (guard, closed) = oneshot::channel();
                    tokio::spawn(pass_on(listener, path.clone(), server.clone(), closed));
                    OpenSocket { path, guard }
                });
                let _ = reply.send(opened);
            }
        };
        Some(Self { sockets, task: tokio::spawn(relay).abort_handle() })
    }

    /// Where sockets are ordered.
    pub(super) fn sockets(&self) -> CallerSockets {
        self.sockets.clone()
    }
}

impl Drop for CallRelay {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Passes connections on until the socket's owner has ended.
async fn pass_on(listener: UnixListener, path: PathBuf, server: PathBuf, mut closed: oneshot::Receiver<()>) {
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = &mut closed => break,
        };
        let Ok((stream, _)) = accepted else { break };
        let server = server.clone();
        // A connection that breaks is noticed by both ends.
        tokio::spawn(async move { copy(stream, server).await });
    }
    let _ = std::fs::remove_file(&path);
    let _ = path.parent().map(std::fs::remove_dir);
}

async fn copy(mut stream: UnixStream, server: PathBuf) -> io::Result<()> {
    let mut onward = UnixStream::connect(ShortPath::of(&server)?.as_path()).await?;
    copy_bidirectional(&mut stream, &mut onward).await.map(drop)
}
