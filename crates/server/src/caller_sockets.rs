//! Sockets of sessions and runs: bound on demand, each for one owner, and gone when the owner's program has ended.

use std::io;
use std::path::PathBuf;

use maestro_engine::caller_sockets::{OpenSocket, SocketOrder, SocketOwner};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{mpsc, oneshot};
use tokio::task::{JoinSet, spawn_blocking};

use crate::connections::Acceptor;
use crate::origin::RequestOrigin;
use crate::peer::{self, PeerRefusal, PeerStanding};
use crate::private_socket::{self, SocketIdentity};

/// Opens sockets as they are ordered, and serves them.
pub(crate) async fn serve_orders(mut orders: mpsc::Receiver<SocketOrder>, sessions: PathBuf, acceptor: Acceptor) {
    let mut served = JoinSet::new();
    while let Some(SocketOrder { owner, reply }) = orders.recv().await {
        while served.try_join_next().is_some() {}
        let opened = bind(owner.socket_path(&sessions)).await.map(|bound| {
            let (guard, closed) = oneshot::channel();
            let path = bound.path.clone();
            served.spawn(serve_one(bound, origin(owner), acceptor.clone(), closed));
            OpenSocket { path, guard }
        });
        // One that does not wait any more has dropped its guard, too.
        let _ = reply.send(opened);
    }
}

fn origin(owner: SocketOwner) -> RequestOrigin {
    match owner {
        SocketOwner::Session(id) => RequestOrigin::SessionSocket(id),
        SocketOwner::Run(id) => RequestOrigin::RunSocket(id),
    }
}

/// The owner's origin, for processes of our user; others have no business here.
fn origin_of(stream: &UnixStream, owner: &RequestOrigin) -> RequestOrigin {
    if peer::is_our_user(stream) {
        owner.clone()
    } else {
        RequestOrigin::UserSocket(PeerStanding::Refused(PeerRefusal::OtherUser))
    }
}

async fn serve_one(bound: BoundSocket, origin: RequestOrigin, acceptor: Acceptor, closed: oneshot::Receiver<()>) {
    let BoundSocket { listener, path, identity } = bound;
    tokio::select! {
        () = acceptor.accept_socket(listener, |stream| origin_of(stream, &origin)) => {}
        _ = closed => {}
    }
    let _ = spawn_blocking(move || private_socket::remove(&path, identity)).await;
}

/// A socket that listens, and which file it is.
struct BoundSocket {
    listener: UnixListener,
    path: PathBuf,
    identity: Option<SocketIdentity>,
}

/// Binds a socket, on a thread that may wait for files.
async fn bind(path: PathBuf) -> io::Result<BoundSocket> {
    let bound = spawn_blocking(move || {
        let listener = private_socket::bind_private(&path)?;
        let identity = private_socket::identity(&path);
        Ok(BoundSocket { listener, path, identity })
    });
    bound.await.map_err(io::Error::other)?
}
