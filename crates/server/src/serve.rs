//! Ways to reach the API: over connections, or called in the same process.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::http::{Method, StatusCode, Uri};
use axum::middleware;
use axum::routing::get;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto::Builder;
use hyper_util::server::graceful::GracefulShutdown;
use maestro_store::{AnySilent, ExpireSilent, Retain, UndrivenRuns};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tower::ServiceExt as _;
use tower::limit::GlobalConcurrencyLimitLayer;

use crate::api;
use crate::app::App;
use crate::error::ApiError;
use crate::guard;
use crate::mcp;
use crate::metrics;
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
/// How long open requests have when the server is told to end.
const FAREWELL: Duration = Duration::from_secs(5);

/// The whole API as one service. Where clients of the Model Context Protocol are answered too, it is made inside of a
/// runtime.
pub fn router(app: App) -> Router {
    let mcp = app.facts.mcp.as_ref().map(|site| mcp::route(&app, site)).unwrap_or_default();
    api::routes()
        .route("/metrics", get(metrics::metrics))
        .merge(page::routes(&app))
        .merge(api::docs::routes())
        .merge(mcp)
        .fallback(nothing_here)
        .method_not_allowed_fallback(not_this_way)
        .layer(DefaultBodyLimit::max(BODY))
        .layer(GlobalConcurrencyLimitLayer::new(REQUESTS))
        .layer(middleware::from_fn_with_state(app.clone(), guard::guard))
        .with_state(app)
}

async fn nothing_here(uri: Uri) -> ApiError {
    ApiError::not_found(format!("there is nothing at {}", uri.path()))
}

async fn not_this_way(method: Method, uri: Uri) -> ApiError {
    let message = format!("{} cannot be done with {method}", uri.path());
    ApiError::new(StatusCode::METHOD_NOT_ALLOWED, "METHOD_NOT_ALLOWED", message)
}

/// Answers until it is told to end, and then lets open requests finish.
pub async fn serve(listeners: Vec<TcpListener>, app: App, shutdown: impl Future<Output = ()>) {
    let router = router(app.clone());
    let graceful = Arc::new(GracefulShutdown::new());
    let room = Arc::new(Semaphore::new(CONNECTIONS));
    let mut tasks = tokio::task::JoinSet::new();
    for listener in listeners {
        tasks.spawn(accept(listener, router.clone(), Arc::clone(&graceful), Arc::clone(&room)));
    }
    tasks.spawn(run_maintenance(app.clone()));
    tasks.spawn(run_step_sessions(app.clone()));
    shutdown.await;
    tasks.shutdown().await;
    app.closing.send_replace(true);
    if let Ok(graceful) = Arc::try_unwrap(graceful).map_err(|_| ()) {
        // Whoever takes longer is cut off; what was acknowledged is on the disk.
        let _ = tokio::time::timeout(FAREWELL, graceful.shutdown()).await;
    }
}

async fn accept(listener: TcpListener, router: Router, graceful: Arc<GracefulShutdown>, room: Arc<Semaphore>) {
    loop {
        let Ok(permit) = Arc::clone(&room).acquire_owned().await else { return };
        let Ok((stream, _)) = listener.accept().await else {
            // Out of file descriptors, most likely; those in use come back.
            tokio::time::sleep(Duration::from_millis(100)).await;
            continue;
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

/// Starts sessions for steps of runs, and goes on with the runs whose sessions have ended.
async fn run_step_sessions(app: App) {
    const LOOK: Duration = Duration::from_secs(1);
    const GATHER: Duration = Duration::from_millis(10);
    let Some(sessions) = app.step_sessions() else { return };
    let mut bell = app.store.changes();
    loop {
        for run in sessions.reconcile().await {
            app.work_at(run);
        }
        // Changes come in crowds, and one look finds them all; the first of them is not kept waiting.
        tokio::time::sleep(GATHER).await;
        if let Ok(Err(_)) = tokio::time::timeout(LOOK, bell.next()).await {
            return;
        }
    }
}

/// Ends sessions that fell silent, goes on with runs, and forgets what is old; for as long as it is waited for.
pub async fn run_maintenance(app: App) {
    const BEAT: Duration = Duration::from_secs(1);
    const BEATS_AN_HOUR: u64 = 3600;
    let mut beats = tokio::time::interval(BEAT);
    for beat in 0_u64.. {
        beats.tick().await;
        // What fails now is tried again with the next beat.
        if let Ok(true) = app.store.read(AnySilent { now: (app.clock)(), silence: app.store.rules().silence }).await {
            let _ = app.store.write(ExpireSilent).await;
        }
        let _ = app.runs.elapse((app.clock)()).await;
        for id in app.store.read(UndrivenRuns).await.unwrap_or_default() {
            app.work_at(id);
        }
        if beat % BEATS_AN_HOUR == 0 {
            let _ = app.store.write(Retain { events: app.facts.retention }).await;
        }
    }
}
