//! What waits for a person, and the ids of all records, over HTTP.

use axum::extract::State;
use axum::{Router, routing};
use maestro_api::ids::{IdBody, IdQuery};
use maestro_api::waiting::{WaitingBody, WaitingQuery};
use maestro_core::id::ProjectId;
use maestro_store::{RecordIds, RecordKind};
use utoipa::OpenApi;

use super::ApiFailures;
use crate::app::AppState;
use crate::caller::Caller;
use crate::error::ApiError;
use crate::extract::{UrlQuery, parse_word};
use crate::json_reply::JsonReply;
use crate::waiting::waiting_items;

/// How many ids of each kind are sent.
const MOST_IDS: i64 = 500;

pub(super) fn routes() -> Router<AppState> {
    Router::new().route("/api/waiting", routing::get(waiting)).route("/api/ids", routing::get(ids))
}

/// What describes them.
#[derive(OpenApi)]
#[openapi(paths(waiting, ids))]
pub(super) struct WaitingApiDoc;

/// What waits for a person, oldest first
#[utoipa::path(get, path = "/api/waiting", tag = "waiting", params(WaitingQuery),
    responses((status = 200, body = [WaitingBody]), ApiFailures))]
async fn waiting(
    State(app): State<AppState>,
    caller: Caller,
    UrlQuery(wanted): UrlQuery<WaitingQuery>,
) -> Result<JsonReply<Vec<WaitingBody>>, ApiError> {
    let project = caller.list_project(parse_word::<ProjectId>("projectId", wanted.project_id.as_deref())?)?;
    Ok(JsonReply(waiting_items(&app, project).await?))
}

/// The newest ids of projects, tasks, sessions and runs
#[utoipa::path(get, path = "/api/ids", tag = "waiting", params(IdQuery),
    responses((status = 200, body = [IdBody]), ApiFailures))]
async fn ids(
    State(app): State<AppState>,
    caller: Caller,
    UrlQuery(wanted): UrlQuery<IdQuery>,
) -> Result<JsonReply<Vec<IdBody>>, ApiError> {
    let project = caller.list_project(parse_word::<ProjectId>("projectId", wanted.project_id.as_deref())?)?;
    let found = app.store.read(RecordIds { project, limit: MOST_IDS }).await?;
    let body = |(kind, id): (RecordKind, String)| IdBody { kind: kind.as_str().to_lowercase(), id };
    Ok(JsonReply(found.into_iter().map(body).collect()))
}
