//! Export of events as JSON Lines, newest first.

use axum::Router;
use axum::extract::State;
use axum::http::{Uri, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;

use super::ActivityAddress;
use crate::api::event_body;
use crate::app::AppState;
use crate::caller::Caller;
use crate::error::ApiError;

/// How many events an export has at most.
const MOST: i64 = 10_000;

/// The route of the export.
pub(in crate::page) fn routes() -> Router<AppState> {
    Router::new().route("/page/activity.jsonl", get(export))
}

async fn export(State(app): State<AppState>, caller: Caller, uri: Uri) -> Result<Response, ApiError> {
    caller.require_person("see the page")?;
    let found = app.store.read(ActivityAddress::parse(&uri)?.event_search(MOST)?).await?;
    let mut text = String::new();
    for row in found.rows {
        let line = serde_json::to_string(&event_body(row)).map_err(|error| ApiError::internal(error.to_string()))?;
        text.push_str(&line);
        text.push('\n');
    }
    let name = (header::CONTENT_DISPOSITION, "attachment; filename=\"activity.jsonl\"");
    Ok(([(header::CONTENT_TYPE, "application/jsonl"), name, (header::CACHE_CONTROL, "no-store")], text).into_response())
}
