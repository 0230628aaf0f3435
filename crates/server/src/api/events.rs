//! Events over HTTP: as a list, or live.

use axum::body::Body;
use axum::extract::State;
use axum::http::{HeaderMap, HeaderValue, header};
use axum::response::{IntoResponse, Response};
use axum::{Router, routing};
use maestro_api::events::{EventBody, EventQuery};
use maestro_store::{EventFilter, EventPageAfter, EventRow, LastEventSeq, LastEvents};
use utoipa::OpenApi;

use super::{ApiFailures, NEXT};
use crate::app::AppState;
use crate::error::ApiError;
use crate::extract::{LARGEST, UrlQuery, parse_word};
use crate::json_reply::JsonReply;
use crate::live;

/// How many events a list holds by default and at most.
const MOST: i64 = 1000;

pub(super) fn routes() -> Router<AppState> {
    Router::new().route("/api/events", routing::get(events))
}

/// What describes them.
#[derive(OpenApi)]
#[openapi(paths(events))]
pub(super) struct EventsApiDoc;

/// What happened: a list, or with `Accept: text/event-stream` everything as it happens
#[utoipa::path(get, path = "/api/events", tag = "events",
    params(EventQuery, ("Last-Event-ID" = Option<String>, Header, description = "The last `id` a stream has seen")),
    responses((status = 200, content((Vec<EventBody> = "application/json"), (String = "text/event-stream"))), ApiFailures))]
async fn events(
    State(app): State<AppState>,
    headers: HeaderMap,
    UrlQuery(wanted): UrlQuery<EventQuery>,
) -> Result<Response, ApiError> {
    let filter = EventFilter {
        project: parse_word("projectId", wanted.project_id.as_deref())?,
        task: parse_word("taskId", wanted.task_id.as_deref())?,
        session: parse_word("sessionId", wanted.session_id.as_deref())?,
        run: parse_word("runId", wanted.run_id.as_deref())?,
    };
    if wanted.since.is_some_and(|since| !(0..=LARGEST).contains(&since)) {
        return Err(ApiError::field("since", "must be the number of an event"));
    }
    let text = |name| headers.get(name).and_then(|value: &HeaderValue| value.to_str().ok());
    if !text(header::ACCEPT).is_some_and(|accept| accept.contains("text/event-stream")) {
        return list(&app, &wanted, filter).await;
    }
    let seen = text(header::HeaderName::from_static("last-event-id")).and_then(|text| text.trim().parse().ok());
    let last = app.store.read(LastEventSeq).await?;
    // Numbers that are not given out yet are of another database, and would keep a watcher from all that comes.
    let after = seen.or(wanted.since).map_or(last, |after: i64| after.min(last));
    app.store.watch_others()?;
    let subscription = app.feed.subscribe(after, filter);
    let body = Body::from_stream(live::stream(subscription, app.closing.subscribe()));
    Ok(([(header::CONTENT_TYPE, "text/event-stream"), (header::CACHE_CONTROL, "no-store")], body).into_response())
}

async fn list(app: &AppState, wanted: &EventQuery, filter: EventFilter) -> Result<Response, ApiError> {
    if let Some(last) = wanted.last {
        if !(1..=MOST).contains(&last) {
            return Err(ApiError::field("last", format!("must be 1 to {MOST}")));
        }
        let rows = app.store.read(LastEvents { after: wanted.since.unwrap_or(0), limit: last, filter }).await?;
        return Ok(JsonReply(rows.into_iter().map(body).collect::<Vec<_>>()).into_response());
    }
    let limit = wanted.limit.unwrap_or(MOST);
    if !(1..=MOST).contains(&limit) {
        return Err(ApiError::field("limit", format!("must be 1 to {MOST}")));
    }
    let page = app.store.read(EventPageAfter { seq: wanted.since.unwrap_or(0), limit, filter }).await?;
    let next = page.rows.last().filter(|_| page.more).map(|row| row.seq);
    let mut response = JsonReply(page.rows.into_iter().map(body).collect::<Vec<_>>()).into_response();
    if let Some(next) = next {
        response.headers_mut().insert(NEXT, HeaderValue::from(next));
    }
    Ok(response)
}

/// An event as it is sent.
pub(crate) fn body(row: EventRow) -> EventBody {
    EventBody {
        seq: row.seq,
        at: row.at,
        kind: row.kind,
        version: row.version,
        project: row.project,
        task: row.task,
        session: row.session,
        run: row.run,
        payload: row.payload,
    }
}
