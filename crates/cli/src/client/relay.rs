//! Relay of the calls that a run's programs make, where a command executes the run beside a server.
//!
//! The programs run below a supervisor and are not the user, so they call on a socket of the run. Their calls go on by the
//! command's own way to the server, with the rights of the run and not the command's.

use std::io;
use std::path::PathBuf;

use maestro_api::{RUN_HEADER, ShortPath};
use maestro_engine::caller_sockets::{CallerSockets, OpenSocket, SocketOrder, SocketOwner};
use maestro_server::bind_private;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, copy_bidirectional};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::oneshot;

use super::CliClient;
use crate::host::world::World;
use crate::server_process::worker_host;

/// The longest answer to the first request of a connection, in bytes.
const LONGEST_ANSWER: usize = 16 * 1024;

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
                    tokio::spawn(pass_on(listener, path.clone(), RunTarget { server: server.clone(), owner }, closed));
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

/// Where calls go, and whose they are.
#[derive(Debug, Clone)]
struct RunTarget {
    server: PathBuf,
    owner: SocketOwner,
}

/// Passes connections on until the socket's owner has ended.
async fn pass_on(listener: UnixListener, path: PathBuf, target: RunTarget, mut closed: oneshot::Receiver<()>) {
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = &mut closed => break,
        };
        let Ok((stream, _)) = accepted else { break };
        let target = target.clone();
        // A connection that breaks is noticed by both ends.
        tokio::spawn(async move { copy(stream, target).await });
    }
    let _ = std::fs::remove_file(&path);
    let _ = path.parent().map(std::fs::remove_dir);
}

async fn copy(mut stream: UnixStream, target: RunTarget) -> io::Result<()> {
    let mut onward = UnixStream::connect(ShortPath::of(&target.server)?.as_path()).await?;
    if let SocketOwner::Run(run) = &target.owner {
        announce(&mut onward, &run.to_string()).await?;
    }
    copy_bidirectional(&mut stream, &mut onward).await.map(drop)
}

/// Says that everything on this connection is called by a run's programs, and reads the answer, which has no body.
async fn announce(server: &mut UnixStream, run: &str) -> io::Result<()> {
    let hello = format!("HEAD /health HTTP/1.1\r\nHost: localhost\r\n{RUN_HEADER}: {run}\r\n\r\n");
    server.write_all(hello.as_bytes()).await?;
    let mut answer = Vec::new();
    while !answer.ends_with(b"\r\n\r\n") {
        if answer.len() > LONGEST_ANSWER {
            return Err(io::ErrorKind::InvalidData.into());
        }
        answer.push(server.read_u8().await?);
    }
    Ok(())
}
