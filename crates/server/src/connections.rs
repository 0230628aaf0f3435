//! Connections: accepted on every listener, each with the origin that its requests have, and ended when they are silent.

mod idle_stream;
mod strangers;

use std::convert::Infallible;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use hyper::server::conn::http1::Builder;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, UnixListener, UnixStream};
use tokio::sync::{Semaphore, watch};
use tower::ServiceExt as _;

use self::idle_stream::IdleStream;
pub(crate) use self::strangers::StrangerPlace;
use self::strangers::StrangerPool;
use crate::guarded_body::GuardedBody;
use crate::origin::{ConnectionRun, RequestOrigin};

/// How much a request's head may take.
const HEAD: usize = 64 * 1024;
/// How long open requests have when the server stops.
const FAREWELL: Duration = Duration::from_secs(5);
/// The pause after a connection could not be accepted.
const PAUSE: Duration = Duration::from_millis(100);

/// What connections may take.
#[derive(Debug, Clone, Copy)]
pub struct ConnectionLimits {
    /// How many are open at once on a listener; others wait.
    pub connections: usize,
    /// How many of them have not shown who they are; the oldest makes room for the next.
    pub strangers: usize,
    /// How long each of these has to show it before it makes room.
    pub grace: Duration,
    /// How long a request's head may take.
    pub head: Duration,
    /// How long a request's body may take.
    pub body: Duration,
    /// How long a connection may be silent while no request is answered on it.
    pub idle: Duration,
}

impl Default for ConnectionLimits {
    fn default() -> Self {
        Self {
            connections: 4096,
            strangers: 256,
            grace: Duration::from_millis(250),
            head: Duration::from_secs(10),
            body: Duration::from_secs(30),
            idle: Duration::from_mins(1),
        }
    }
}

/// What connections are accepted with. Copies share everything.
#[derive(Clone)]
pub(crate) struct Acceptor {
    router: Router,
    limits: ConnectionLimits,
    /// Whether the server stops. Each connection holds a receiver for as long as it is open.
    stopping: Arc<watch::Sender<bool>>,
    strangers: StrangerPool,
}

/// The requests of one connection that are not answered to their end.
#[derive(Debug, Clone, Default)]
struct OpenRequests(Arc<AtomicUsize>);

/// A request that is not answered to its end.
struct OpenRequest(OpenRequests);

impl OpenRequests {
    fn open(&self) -> OpenRequest {
        self.0.fetch_add(1, Ordering::Relaxed);
        OpenRequest(self.clone())
    }

    fn is_none(&self) -> bool {
        self.0.load(Ordering::Relaxed) == 0
    }
}

impl Drop for OpenRequest {
    fn drop(&mut self) {
        self.0.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Acceptor {
    pub(crate) fn new(router: Router, limits: ConnectionLimits) -> Self {
        Self { router, limits, stopping: Arc::default(), strangers: StrangerPool::new(limits.strangers, limits.grace) }
    }

    /// Accepts connections from the network, forever.
    pub(crate) async fn accept_network(self, listener: TcpListener) {
        let room = Arc::new(Semaphore::new(self.limits.connections));
        loop {
            let Ok(permit) = Arc::clone(&room).acquire_owned().await else { return };
            let Some(stream) = accepted(listener.accept().await).await else { continue };
            // Small answers should not wait for more.
            let _ = stream.set_nodelay(true);
            let place = self.strangers.enter().await;
            let ended = place.ended();
            let connection = self.connection(stream, RequestOrigin::Network, Some(place));
            tokio::spawn(async move {
                tokio::select! {
                    // One that has to make room is asked nothing more.
                    biased;
                    () = ended => {}
                    () = connection => {}
                }
                drop(permit);
            });
        }
    }

    /// Accepts connections on a socket of this machine, forever; the peer decides the origin.
    pub(crate) async fn accept_socket(self, listener: UnixListener, origin: impl Fn(&UnixStream) -> RequestOrigin) {
        let room = Arc::new(Semaphore::new(self.limits.connections));
        loop {
            let Ok(permit) = Arc::clone(&room).acquire_owned().await else { return };
            let Some(stream) = accepted(listener.accept().await).await else { continue };
            let origin = origin(&stream);
            let connection = self.connection(stream, origin, None);
            tokio::spawn(async move {
                connection.await;
                drop(permit);
            });
        }
    }

    /// Serves one connection until its end.
    fn connection<S: AsyncRead + AsyncWrite + Unpin + Send + 'static>(
        &self,
        stream: S,
        origin: RequestOrigin,
        place: Option<StrangerPlace>,
    ) -> impl Future<Output = ()> + use<S> {
        let (router, body_time) = (self.router.clone(), self.limits.body);
        let (requests, run) = (OpenRequests::default(), ConnectionRun::default());
        let stream = IdleStream::new(stream, requests.clone(), self.limits.idle);
        let service = hyper::service::service_fn(move |mut request: hyper::Request<hyper::body::Incoming>| {
            let (router, open) = (router.clone(), requests.open());
            let origin = run.origin(origin.clone(), request.headers());
            request.extensions_mut().insert(origin);
            if let Some(place) = &place {
                request.extensions_mut().insert(place.clone());
            }
            async move {
                let request = request.map(|body| Body::new(GuardedBody::within(body, body_time)));
                let response = router.oneshot(request).await.unwrap_or_else(|never| match never {});
                Ok::<_, Infallible>(response.map(|body| GuardedBody::holding(body, open)))
            }
        });
        let mut builder = Builder::new();
        builder.timer(TokioTimer::new()).header_read_timeout(self.limits.head).max_buf_size(HEAD);
        let connection = builder.serve_connection(TokioIo::new(stream), service).with_upgrades();
        let mut stopping = self.stopping.subscribe();
        async move {
            let mut connection = pin!(connection);
            // A client that goes away in the middle is no failure of ours.
            tokio::select! {
                _ = connection.as_mut() => return,
                _ = stopping.wait_for(|stops| *stops) => connection.as_mut().graceful_shutdown(),
            }
            let _ = connection.await;
        }
    }

    /// Lets open requests finish. All accepting must have ended.
    pub(crate) async fn finish(self) {
        self.stopping.send_replace(true);
        // A request that takes longer is cut off; what was acknowledged is on the disk.
        if tokio::time::timeout(FAREWELL, self.stopping.closed()).await.is_err() {
            tracing::warn!("open requests did not end in time");
        }
    }
}

/// The accepted stream; after a failure nothing, a little later.
async fn accepted<S, A>(accepted: std::io::Result<(S, A)>) -> Option<S> {
    match accepted {
        Ok((stream, _)) => Some(stream),
        Err(error) => {
            // Out of file descriptors, most likely; those in use come back.
            tracing::warn!("a connection could not be accepted: {error}");
            tokio::time::sleep(PAUSE).await;
            None
        }
    }
}
