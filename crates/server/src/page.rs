//! Page for people: rendered on the server, works without scripts, and stays current with them.
//!
//! A page consists of fragments, each an element with an id. The same fragments are sent whole when the page is loaded
//! and one by one when they change, so that the two cannot differ.

mod assets;
mod clock;
mod forms;
mod fragments;
mod health;
mod live;
mod overview;
mod session;
pub(crate) mod sign_in;
mod text;
mod view;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{DefaultBodyLimit, Extension, Request, State};
use axum::http::{HeaderName, StatusCode, header};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::{get, post};
use maestro_core::id::{ProjectId, SessionId};
use maestro_store::LastEventSeq;
use serde::Deserialize;

use crate::api;
use crate::app::AppState;
use crate::caller::Caller;
use crate::error::ApiError;
use crate::extract::{PathId, UrlQuery, parse_word};
use crate::live::ws;
use crate::sign_in_state::PLACE;
use crate::waiting::waiting_items;

use fragments::RenderedScreen;
use live::{LiveScreens, ScreenId};
use overview::OverviewQuery;
use session::{AgentTotals, SessionScreenQuery};

/// The page's routes. They are for people, and not part of the API.
pub(crate) fn routes(app: &AppState) -> Router<AppState> {
    Router::new()
        .route("/", get(home))
        .route("/sessions/{id}", get(one_session))
        .route("/page/live", get(follow))
        .route("/page/sessions/{id}/messages", post(forms::send_message))
        .route("/page/sessions/{id}/pause", post(forms::pause))
        .route("/page/sessions/{id}/resume", post(forms::resume))
        .route("/page/sessions/{id}/cancel", post(forms::cancel))
        .route("/page/sessions/{id}/answer", post(forms::answer))
        .route("/page/tasks/{id}/reopen", post(forms::reopen))
        .route(PLACE, get(sign_in::follow_link).post(sign_in::sign_in).layer(DefaultBodyLimit::max(sign_in::BODY)))
        .route("/assets/{name}", get(assets::asset))
        .layer(Extension(Arc::new(LiveScreens::new(app.clone()))))
}

/// The query of the first page.
#[derive(Debug, Default, Deserialize)]
struct HomeQuery {
    /// Show only this project.
    project: Option<String>,
}

impl HomeQuery {
    /// The project; an empty choice is none.
    fn project(&self) -> Result<Option<ProjectId>, ApiError> {
        parse_word("project", self.project.as_deref().filter(|id| !id.is_empty()))
    }
}

/// `GET /`.
async fn home(State(app): State<AppState>, UrlQuery(wanted): UrlQuery<HomeQuery>, request: Request) -> Response {
    // Old clients open their WebSocket at the page's address.
    if ws::is_upgrade(request.headers()) {
        return api::live::open_socket(State(app), request).await.into_response();
    }
    if let Err(error) = people_only(&request) {
        return failure(&error);
    }
    match now_page(&app, &wanted).await {
        Ok(html) => page(StatusCode::OK, html),
        Err(error) => failure(&error),
    }
}

/// Refuses sessions, and programs that may not see everything.
fn people_only(request: &Request) -> Result<(), ApiError> {
    let caller = request.extensions().get::<Caller>();
    caller.ok_or_else(|| ApiError::unauthorized("unknown caller"))?.require_person("see the page")
}

async fn now_page(app: &AppState, wanted: &HomeQuery) -> Result<String, ApiError> {
    let seen = app.store.read(OverviewQuery { project: wanted.project()?, at: (app.clock)() }).await?;
    let waits = waiting_items(app, wanted.project()?).await?;
    let view = view::OverviewView::new(&seen, &waits);
    let shot = RenderedScreen::of(&view, health::banner(app).as_deref(), None)?;
    Ok(fragments::page(&view, &shot, &app.facts.site)?)
}

/// The query of a session's page.
#[derive(Debug, Deserialize)]
struct TranscriptQuery {
    /// Show what came before this place; otherwise the newest.
    before: Option<i64>,
}

/// `GET /sessions/{id}`.
async fn one_session(
    State(app): State<AppState>,
    caller: Caller,
    id: Result<PathId<SessionId>, ApiError>,
    part: Result<UrlQuery<TranscriptQuery>, ApiError>,
) -> Response {
    let html = async {
        caller.require_person("see the page")?;
        let (PathId(session), UrlQuery(TranscriptQuery { before })) = (id?, part?);
        let look = SessionScreenQuery { session, at: (app.clock)(), before, account: AgentTotals::default() };
        let sight = app.store.read(look).await?;
        let view = view::SessionView::new(&sight);
        let shot = RenderedScreen::of_session(&view, sight.account, health::banner(&app).as_deref(), None)?;
        Ok(fragments::session_page(&view, &shot, &app.facts.site)?)
    };
    match html.await {
        Ok(html) => page(StatusCode::OK, html),
        Err(error) => failure(&error),
    }
}

/// What a live page reports about itself.
#[derive(Debug, Deserialize)]
struct PageStreamQuery {
    project: Option<String>,
    /// The session it shows.
    session: Option<String>,
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
    headers: axum::http::HeaderMap,
    UrlQuery(watching): UrlQuery<PageStreamQuery>,
) -> Result<Response, ApiError> {
    caller.require_person("see the page")?;
    let session = parse_word("session", watching.session.as_deref().filter(|id| !id.is_empty()))?;
    let scene = match session {
        Some(session) => ScreenId::Session(session),
        None => ScreenId::Now(HomeQuery { project: watching.project }.project()?),
    };
    let last = headers.get("last-event-id").and_then(|value| value.to_str().ok()?.trim().parse().ok());
    let seen: Option<i64> = last.or(watching.seen);
    let kind = [(header::CONTENT_TYPE, "text/event-stream"), (header::CACHE_CONTROL, "no-store")];
    // A page never becomes another server's, which may have come to its address.
    if watching.server.as_deref().is_some_and(|server| !server.is_empty() && server != app.facts.site) {
        return Ok((kind, live::FOREIGN).into_response());
    }
    // A page of another build, or with events that do not exist here, has to reload.
    let foreign = watching.build.as_deref() != Some(assets::build());
    if foreign || seen > Some(app.store.read(LastEventSeq).await?) {
        return Ok((kind, live::RELOAD).into_response());
    }
    app.store.watch_others()?;
    let body = Body::from_stream(live::stream(&shots, scene, seen, &app));
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
    let html = fragments::failure(message).unwrap_or_else(|_| "The request failed.".to_owned());
    page(status, html)
}

/// A template that cannot be rendered is a bug.
impl From<minijinja::Error> for ApiError {
    fn from(error: minijinja::Error) -> Self {
        Self::internal(format!("the page cannot be rendered: {error:#}"))
    }
}
