//! Ways to reach the API: over connections, or called in the same process.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::{DefaultBodyLimit, State};
use axum::http::{Method, StatusCode, Uri, header};
use axum::middleware;
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::server::graceful::GracefulShutdown;
use maestro_engine::worker::AgentWorker;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tower::ServiceExt as _;
use tower::limit::GlobalConcurrencyLimitLayer;

use crate::api;
use crate::app::AppState;
use crate::error::ApiError;
use crate::guard;
use crate::mcp;
use crate::metrics::ProcessCounts;
use crate::page;

/// How large a body may be.
const BODY: usize = 1024 * 1024;
/// How much a request's head may take.
const HEAD: usize = 64 * 1024;
/// How long a request's head may take.
const HEAD_TIME: Duration = Duration::from_secs(10);
/// How many requests are worked on at once; others wait.
const REQUESTS: usize = 512;
/// How many connections are open at once; others wait.
const CONNECTIONS: usize = 4096;
/// How long open requests have when the server stops.
const FAREWELL: Duration = Duration::from_secs(5);

/// The whole API as one service. Where clients of the Model Context Protocol are answered too, it is made inside of a
/// runtime.
pub fn router(app: AppState) -> Router {
    let mcp = app.facts.mcp.as_ref().map(|site| mcp::route(&app, site)).unwrap_or_default();
    api::routes()
        .route("/metrics", get(metrics))
        .merge(page::routes(&app))
        .merge(api::docs_page::routes())
        .merge(mcp)
        .fallback(not_found)
        .method_not_allowed_fallback(method_not_allowed)
        .layer(DefaultBodyLimit::max(BODY))
        .layer(GlobalConcurrencyLimitLayer::new(REQUESTS))
        .layer(middleware::from_fn_with_state(app.clone(), guard::guard))
        .with_state(app)
}

/// The metrics of this process.
async fn metrics(State(app): State<AppState>) -> Response {
    let (commits, changes) = app.store.commits();
    let (watchers, uptime) = (app.feed.watchers(), app.facts.started.elapsed());
    let text = app.metrics.to_text(&ProcessCounts { commits, changes, watchers, uptime });
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4")], text).into_response()
}

async fn not_found(uri: Uri) -> ApiError {
    ApiError::not_found(format!("there is nothing at {}", uri.path()))
}

async fn method_not_allowed(method: Method, uri: Uri) -> ApiError {
    let message = format!("{} cannot be done with {method}", uri.path());
    ApiError::new(StatusCode::METHOD_NOT_ALLOWED, "METHOD_NOT_ALLOWED", message)
}

/// Answers requests and runs the daemon until `shutdown` ends, and then lets open requests finish.
pub async fn serve(
    listeners: Vec<TcpListener>,
    app: AppState,
    worker: Option<AgentWorker>,
    shutdown: impl Future<Output = ()>,
) {
    let router = router(app.clone());
    let graceful = Arc::new(GracefulShutdown::new());
    let room = Arc::new(Semaphore::new(CONNECTIONS));
    let mut tasks = tokio::task::JoinSet::new();
    for listener in listeners {
        tasks.spawn(accept(listener, router.clone(), Arc::clone(&graceful), Arc::clone(&room)));
    }
    // Its agents end with it, and continue when there is a worker again.
    tasks.spawn(app.daemon(worker).run());
    shutdown.await;
    tasks.shutdown().await;
    app.closing.send_replace(true);
    if let Ok(graceful) = Arc::try_unwrap(graceful).map_err(|_| ()) {
        // A request that takes longer is cut off; what was acknowledged is on the disk.
        if tokio::time::timeout(FAREWELL, graceful.shutdown()).await.is_err() {
            tracing::warn!("open requests did not end in time");
        }
    }
}

async fn accept(listener: TcpListener, router: Router, graceful: Arc<GracefulShutdown>, room: Arc<Semaphore>) {
    loop {
        let Ok(permit) = Arc::clone(&room).acquire_owned().await else { return };
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            Err(error) => {
                // Out of file descriptors, most likely; those in use come back.
                tracing::warn!("a connection could not be accepted: {error}");
                tokio::time::sleep(Duration::from_millis(100)).await;
                continue;
            }
        };
        let watched = connection(stream, router.clone(), &graceful);
        tokio::spawn(async move {
            watched.await;
            drop(permit);
        });
    }
}

fn connection(stream: TcpStream, router: Router, graceful: &GracefulShutdown) -> impl Future<Output = ()> + use<> {
    // Small answers should not wait for more.
    let _ = stream.set_nodelay(true);
    let service = hyper::service::service_fn(move |request: hyper::Request<hyper::body::Incoming>| {
        let router = router.clone();
        async move {
            Ok::<_, Infallible>(
                router.oneshot(request.map(axum::body::Body::new)).await.unwrap_or_else(|never| match never {}),
            )
        }
    });
    let mut builder = Builder::new(TokioExecutor::new()).http1_only();
    builder.http1().timer(TokioTimer::new()).header_read_timeout(HEAD_TIME).max_buf_size(HEAD);
    let connection = builder.serve_connection_with_upgrades(TokioIo::new(stream), service).into_owned();
    let watched = graceful.watch(connection);
    async move {
        // A client that goes away in the middle is no failure of ours.
        let _ = watched.await;
    }
}
