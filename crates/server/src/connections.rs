//! Connections: accepted on every listener, each with the origin that its requests have, and ended when they are silent.

mod idle_stream;
mod strangers;

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::server::graceful::GracefulShutdown;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, UnixListener, UnixStream};
use tokio::sync::Semaphore;
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
/// How often the end of all accepting is awaited.
const RELEASES: usize = 1000;
/// The pause after a connection could not be accepted.
const PAUSE: Duration = Duration::from_millis(100);

/// What connections may take.
#[derive(Debug, Clone, Copy)]
pub struct ConnectionLimits {
    /// How many are open at once on a listener; others wait.
    pub connections: usize,
    /// How many of them have not shown who they are; the oldest makes room for the next.
    pub strangers: usize,
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
    graceful: Arc<GracefulShutdown>,
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
        Self { router, limits, graceful: Arc::default(), strangers: StrangerPool::new(limits.strangers) }
    }

    /// Accepts connections from the network, forever.
    pub(crate) async fn accept_network(self, listener: TcpListener) {
        let room = Arc::new(Semaphore::new(self.limits.connections));
        loop {
            let Ok(permit) = Arc::clone(&room).acquire_owned().await else { return };
            let Some(stream) = accepted(listener.accept().await).await else { continue };
            // Small answers should not wait for more.
            let _ = stream.set_nodelay(true);
            let place = self.strangers.enter();
            let ended = place.ended();
            let connection = self.connection(stream, RequestOrigin::Network, Some(place));
            tokio::spawn(async move {
                tokio::select! {
                    () = connection => {}
                    () = ended => {}
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
        let mut builder = Builder::new(TokioExecutor::new()).http1_only();
        builder.http1().timer(TokioTimer::new()).header_read_timeout(self.limits.head).max_buf_size(HEAD);
        let connection = builder.serve_connection_with_upgrades(TokioIo::new(stream), service).into_owned();
        let watched = self.graceful.watch(connection);
        async move {
            // A client that goes away in the middle is no failure of ours.
            let _ = watched.await;
        }
    }

    /// Lets open requests finish. All accepting must have ended.
    pub(crate) async fn finish(self) {
        let mut shared = self.graceful;
        for _ in 0..RELEASES {
            match Arc::try_unwrap(shared) {
                Ok(graceful) => {
                    // A request that takes longer is cut off; what was acknowledged is on the disk.
                    if tokio::time::timeout(FAREWELL, graceful.shutdown()).await.is_err() {
                        tracing::warn!("open requests did not end in time");
                    }
                    return;
                }
                // The tasks of sockets were told to end, and are about to.
                Err(still_shared) => shared = still_shared,
            }
            tokio::task::yield_now().await;
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
