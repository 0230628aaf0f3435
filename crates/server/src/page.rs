//! Page for people: rendered on the server, works without scripts, and stays current with them.
//!
//! A screen consists of fragments, each an element with an id. The same fragments are sent whole when the page is loaded
//! and one by one when they change, so that the two cannot differ. `screens` has one file for each screen, `shell` what
//! is around all of them.

mod address;
mod agent_totals;
mod assets;
mod badge;
mod cards;
mod change_recorder;
mod clock;
mod consent_forms;
mod consents;
mod device_forms;
mod files;
mod forms;
mod fragments;
mod health;
mod links;
mod live;
mod markdown;
pub(crate) mod qr_code;
mod run_forms;
mod run_overview;
pub(crate) mod screens;
mod shell;
pub(crate) mod sign_in;
mod task_start;
mod templates;
mod terminal;
mod text;
mod visits;

#[cfg(test)]
mod tests;

pub(crate) use self::change_recorder::note_change;
pub(crate) use self::screens::run::share::share_run;

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{DefaultBodyLimit, Extension, Request, State};
use axum::http::{HeaderMap, HeaderName, Method, StatusCode, Uri, header};
use axum::response::{Html, IntoResponse, Redirect, Response};
use axum::routing::{get, post};
use maestro_store::LastEventSeq;
use serde::Deserialize;
use tower_http::compression::CompressionLayer;

use crate::api;
use crate::app::AppState;
use crate::caller::Caller;
use crate::error::ApiError;
use crate::extract::UrlQuery;
use crate::live::ws;
use crate::sign_in_state::PLACE;

use live::LiveScreens;
use screens::ScreenId;
use visits::Visit;

/// Where programs call; a browser that goes there is answered as they are.
const PROGRAMS: [&str; 4] = ["/api", "/mcp", "/page", "/assets"];

/// The page's routes. They are for people, and not part of the API.
pub(crate) fn routes(app: &AppState) -> Router<AppState> {
    let screens = ScreenId::ROUTES.into_iter().fold(Router::new(), |router, path| router.route(path, get(show)));
    screens
        .route("/page/live", get(follow))
        .route("/page/sessions/{id}/messages", post(forms::send_message))
        .route("/page/sessions/{id}/pause", post(forms::pause))
        .route("/page/sessions/{id}/resume", post(forms::resume))
        .route("/page/sessions/{id}/cancel", post(forms::cancel))
        .route("/page/sessions/{id}/answer", post(forms::answer))
        .route("/page/tasks/{id}/reopen", post(forms::reopen))
        .merge(screens::work::forms::routes())
        .merge(screens::plan::forms::routes())
        .merge(screens::skills::forms::routes())
        .merge(screens::workflows::forms::routes())
        .merge(screens::activity::export::routes())
        .merge(run_forms::routes())
        .merge(consent_forms::routes())
        .merge(screens::run::landing::routes())
        .merge(screens::run::revise::routes())
        .merge(screens::run::say::routes())
        .merge(screens::run::share::routes())
        .merge(task_start::routes())
        .merge(device_forms::routes())
        .route(PLACE, get(sign_in::follow_link).post(sign_in::sign_in).layer(DefaultBodyLimit::max(sign_in::BODY)))
        .route("/assets/{name}", get(assets::current_asset))
        .route("/assets/{build}/{name}", get(assets::asset))
        .layer(Extension(Arc::new(LiveScreens::new(app.clone()))))
        // Not the stream of changes, which must arrive at once.
        .layer(CompressionLayer::new())
}

/// Shows the screen at the request's address.
async fn show(State(app): State<AppState>, request: Request) -> Response {
    // Old clients open their WebSocket at the page's address.
    if request.uri().path() == "/" && ws::is_upgrade(request.headers()) {
        return api::live::open_socket(State(app), request).await.into_response();
    }
    let visit = Visit::now(request.headers(), &app.facts.cookie, (app.clock)());
    let asked = people_only(&request).and_then(|()| screen_at(request.uri())).map(|screen| screen.since(visit.before));
    let answer = async {
        let asked = asked?;
        let place = asked.path();
        let screen = asked.first_shown(&app).await?;
        if screen.path() != place {
            return Ok(Redirect::to(&screen.address()).into_response());
        }
        let html = screen.render(&app, None).await?.document(&app.facts)?;
        Ok(([(header::SET_COOKIE, visit.cookie)], page(StatusCode::OK, html)).into_response())
    };
    answer.await.unwrap_or_else(|error: ApiError| failure(&error))
}

/// Refuses sessions, and programs that may not see everything.
fn people_only(request: &Request) -> Result<(), ApiError> {
    let caller = request.extensions().get::<Caller>();
    caller.ok_or_else(|| ApiError::unauthorized("unknown caller"))?.require_person("see the page")
}

fn screen_at(uri: &Uri) -> Result<ScreenId, ApiError> {
    ScreenId::parse(uri)?.ok_or_else(|| nothing_at(uri))
}

fn nothing_at(uri: &Uri) -> ApiError {
    ApiError::not_found(format!("there is nothing at {}", uri.path()))
}

/// Whether a person opens an address in a browser, and is answered with a page.
pub(crate) fn is_for_people(method: &Method, uri: &Uri, headers: &HeaderMap) -> bool {
    let accept = headers.get(header::ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let of = |place: &str| uri.path().strip_prefix(place).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    method == Method::GET && accept.contains("text/html") && !PROGRAMS.into_iter().any(of)
}

/// The answer to an address where there is nothing.
pub(crate) async fn not_found(method: Method, uri: Uri, headers: HeaderMap) -> Response {
    let error = nothing_at(&uri);
    if is_for_people(&method, &uri, &headers) { failure(&error) } else { error.into_response() }
}

/// What a live page reports about itself.
#[derive(Debug, Deserialize)]
struct PageStreamQuery {
    /// The address of its screen.
    screen: Option<String>,
    /// The server that rendered it.
    server: Option<String>,
    /// The build that rendered it.
    build: Option<String>,
    /// The last event it shows.
    seen: Option<i64>,
}

/// `GET /page/live`: changes of a page, as they happen.
async fn follow(
    State(app): State<AppState>,
    Extension(shots): Extension<Arc<LiveScreens>>,
    caller: Caller,
    headers: HeaderMap,
    UrlQuery(watching): UrlQuery<PageStreamQuery>,
) -> Result<Response, ApiError> {
    caller.require_person("see the page")?;
    let last = headers.get("last-event-id").and_then(|value| value.to_str().ok()?.trim().parse().ok());
    let seen: Option<i64> = last.or(watching.seen);
    let kind = [(header::CONTENT_TYPE, "text/event-stream"), (header::CACHE_CONTROL, "no-store")];
    // A page never becomes another server's, which may have come to its address.
    if watching.server.as_deref().is_some_and(|server| !server.is_empty() && server != app.facts.site) {
        return Ok((kind, live::FOREIGN).into_response());
    }
    // A page of another build, or with events that do not exist here, has to reload.
    let foreign = watching.build.as_deref() != Some(&*assets::build());
    if foreign || seen > Some(app.store.read(LastEventSeq).await?) {
        return Ok((kind, live::RELOAD).into_response());
    }
    let screen = address::screen(watching.screen.as_deref().unwrap_or("/"))?;
    let screen = screen.ok_or_else(|| ApiError::field("screen", "there is no such screen"))?;
    app.store.watch_others()?;
    let body = Body::from_stream(live::stream(&shots, screen, seen, &app));
    Ok((kind, body).into_response())
}

/// A page. Its own forms must be able to send their origin; other sites never receive it.
fn page(status: StatusCode, html: String) -> Response {
    const POLICY: (HeaderName, &str) = (header::REFERRER_POLICY, "same-origin");
    (status, [POLICY], Html(html)).into_response()
}

/// A page with an error message.
fn failure(error: &ApiError) -> Response {
    let (status, message) = (error.status(), error.message());
    let html =
        shell::failure(status == StatusCode::NOT_FOUND, message).unwrap_or_else(|_| "The request failed.".to_owned());
    page(status, html)
}

/// A template that cannot be rendered is a bug.
impl From<minijinja::Error> for ApiError {
    fn from(error: minijinja::Error) -> Self {
        Self::internal(format!("the page cannot be rendered: {error:#}"))
    }
}
