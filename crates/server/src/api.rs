//! Routes of the HTTP API, one file per resource.

mod agent_sessions;
pub(crate) mod docs_page;
mod events;
mod handoffs;
pub(crate) mod health;
pub(crate) mod live;
mod messages;
mod openapi;
mod projects;
mod prompts;
mod queue;
mod reports;
pub(crate) mod rights;
mod runs;
mod scope;
mod sessions;
pub(crate) mod skills;
mod spawn;
mod steering;
mod tasks;
mod tokens;
mod waiting;
mod workflows;

pub use openapi::derive_openapi;

pub(crate) use events::body as event_body;
pub(crate) use runs::{
    RunDecision, RunPath, RunSurroundings, RunWithState, apply_decision, run_error, start_run, with_states,
    workflow_error,
};
pub(crate) use spawn::spawn_session;

use axum::http::{HeaderName, HeaderValue, header};
use axum::response::{IntoResponse, Response};
use axum::{Router, middleware};
use maestro_api::ErrorBody;
use maestro_api::schemas::{IdOrNull, RetryKey, RevisionText, SkillName};
use maestro_store::PageItems;
use serde::Serialize;
use utoipa::OpenApi;

use crate::app::AppState;
use crate::json_reply::JsonReply;

/// The document that the API is described by.
#[derive(OpenApi)]
#[openapi(
    info(
        title = "Maestro",
        description = "Projects, tasks, sessions and events of coding agents. Times are milliseconds since 1970."
    ),
    components(schemas(IdOrNull, RetryKey, RevisionText, SkillName))
)]
struct CommonApiDoc;

/// Every route; callers of one project are held to it.
pub(crate) fn routes(app: &AppState) -> Router<AppState> {
    Router::new()
        .merge(health::routes())
        .merge(projects::routes())
        .merge(tasks::routes())
        .merge(sessions::routes())
        .merge(steering::routes())
        .merge(reports::routes())
        .merge(messages::routes())
        .merge(queue::routes())
        .merge(handoffs::routes())
        .merge(events::routes())
        .merge(skills::routes())
        .merge(prompts::routes())
        .merge(spawn::routes())
        .merge(agent_sessions::routes())
        .merge(workflows::routes())
        .merge(runs::routes())
        .merge(tokens::routes())
        .merge(live::routes())
        .merge(waiting::routes())
        .route_layer(middleware::from_fn_with_state(app.clone(), scope::check))
}

/// The document derived from the handlers.
fn derive_from_handlers() -> utoipa::openapi::OpenApi {
    let mut document = CommonApiDoc::openapi();
    let parts: [fn() -> utoipa::openapi::OpenApi; 19] = [
        health::HealthApiDoc::openapi,
        projects::ProjectsApiDoc::openapi,
        tasks::TasksApiDoc::openapi,
        sessions::SessionsApiDoc::openapi,
        steering::SteeringApiDoc::openapi,
        reports::ReportsApiDoc::openapi,
        messages::MessagesApiDoc::openapi,
        queue::QueueApiDoc::openapi,
        handoffs::HandoffsApiDoc::openapi,
        events::EventsApiDoc::openapi,
        skills::SkillsApiDoc::openapi,
        prompts::PromptsApiDoc::openapi,
        spawn::SpawnApiDoc::openapi,
        agent_sessions::AgentSessionsApiDoc::openapi,
        workflows::WorkflowsApiDoc::openapi,
        runs::RunsApiDoc::openapi,
        tokens::TokensApiDoc::openapi,
        live::LiveApiDoc::openapi,
        waiting::WaitingApiDoc::openapi,
    ];
    for part in parts {
        document.merge(part());
    }
    document
}

/// The ways in which every request can fail.
#[derive(utoipa::IntoResponses)]
#[expect(dead_code, reason = "only describes what is sent")]
pub(crate) enum ApiFailures {
    /// The request makes no sense; a wrong field is named.
    #[response(status = 400)]
    Invalid(#[to_schema] ErrorBody),
    /// A token is needed, or is not known.
    #[response(status = 401)]
    Unauthorized(#[to_schema] ErrorBody),
    /// The caller may not do this, or comes from elsewhere.
    #[response(status = 403)]
    Forbidden(#[to_schema] ErrorBody),
    /// There is no such thing.
    #[response(status = 404)]
    NotFound(#[to_schema] ErrorBody),
    /// It cannot be done as things stand; what can is named.
    #[response(status = 409)]
    Conflict(#[to_schema] ErrorBody),
    /// It has changed since it was read.
    #[response(status = 412)]
    Changed(#[to_schema] ErrorBody),
    /// The body is too large.
    #[response(status = 413)]
    TooLarge(#[to_schema] ErrorBody),
    /// The body is no JSON.
    #[response(status = 415)]
    NoJson(#[to_schema] ErrorBody),
    /// A rule of the domain is in the way.
    #[response(status = 422)]
    Rule(#[to_schema] ErrorBody),
    /// The database cannot be used right now.
    #[response(status = 503)]
    Unavailable(#[to_schema] ErrorBody),
}

/// The header with the cursor of the next part of a list.
const NEXT: HeaderName = HeaderName::from_static("maestro-next-cursor");

/// A list as an array, with the next part's cursor in a header.
fn list_response<T, B: Serialize>(found: PageItems<T>, body: impl Fn(T) -> B) -> Response {
    let items: Vec<B> = found.items.into_iter().map(body).collect();
    let mut response = JsonReply(items).into_response();
    if let Some(next) = found.next {
        response.headers_mut().insert(NEXT, HeaderValue::from(next));
    }
    response
}

/// A thing with its revision as `ETag`.
fn etag_response(revision: i64, thing: impl Serialize) -> Response {
    let mut response = JsonReply(thing).into_response();
    if let Ok(tag) = HeaderValue::from_str(&format!("\"{revision}\"")) {
        response.headers_mut().insert(header::ETAG, tag);
    }
    response
}
