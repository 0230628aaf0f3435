//! A session's queue over HTTP.

use axum::Json;
use axum::extract::State;
use maestro_core::id::{SessionId, TaskId};
use maestro_core::queue::{Queue, QueueItem};
use maestro_store::{Once, QueueEnd, QueueOf, QueuePush, QueueStart, QueueStep};
use serde::Deserialize;
use serde_json::{Value as Json_, json};
use utoipa::ToSchema;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::Failures;
use crate::app::App;
use crate::caller::Caller;
use crate::error::ApiError;
use crate::extract::{Nothing, OneId, Sent, word};

const EMPTY: &str = "Queue is empty - all tasks processed";

pub(super) fn routes() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(get))
        .routes(routes!(items))
        .routes(routes!(top))
        .routes(routes!(start))
        .routes(routes!(complete))
        .routes(routes!(fail))
        .routes(routes!(skip))
        .routes(routes!(push))
}

fn whole(queue: &Queue) -> Json_ {
    json!({
        "sessionId": queue.session_id, "strategy": "queue", "currentIndex": queue.current_index,
        "createdAt": queue.created_at, "updatedAt": queue.updated_at, "items": queue.items,
    })
}

/// A session's queue
#[utoipa::path(get, path = "/api/sessions/{id}/queue", tag = "queue", params(("id" = String, Path)),
    responses((status = 200, body = Object), Failures))]
async fn get(State(app): State<App>, OneId(id): OneId<SessionId>) -> Result<Json<Json_>, ApiError> {
    let queue = app.store.read(QueueOf(id)).await?;
    Ok(Json(json!({ "queue": whole(&queue), "stats": queue.stats() })))
}

/// The items of a session's queue
#[utoipa::path(get, path = "/api/sessions/{id}/queue/items", tag = "queue", params(("id" = String, Path)),
    responses((status = 200, body = Object), Failures))]
async fn items(State(app): State<App>, OneId(id): OneId<SessionId>) -> Result<Json<Json_>, ApiError> {
    let queue = app.store.read(QueueOf(id)).await?;
    Ok(Json(json!({ "items": queue.items, "stats": queue.stats() })))
}

/// The item whose turn it is
#[utoipa::path(get, path = "/api/sessions/{id}/queue/top", tag = "queue", params(("id" = String, Path)),
    responses((status = 200, body = Object), Failures))]
async fn top(State(app): State<App>, OneId(id): OneId<SessionId>) -> Result<Json<Json_>, ApiError> {
    let queue = app.store.read(QueueOf(id)).await?;
    Ok(Json(match queue.processing().or_else(|| queue.next()) {
        Some(item) => json!({ "hasMore": true, "item": item }),
        None => json!({ "hasMore": false, "item": null, "message": EMPTY }),
    }))
}

/// Begin the next item
#[utoipa::path(post, path = "/api/sessions/{id}/queue/start", tag = "queue", params(("id" = String, Path)),
    responses((status = 200, body = Object), Failures))]
async fn start(
    State(app): State<App>,
    Caller(actor): Caller,
    OneId(session): OneId<SessionId>,
    Sent { once, .. }: Sent<Nothing>,
) -> Result<Json<Json_>, ApiError> {
    let started = app.store.write_once(QueueStart { session, actor }, once).await?;
    Ok(Json(match started {
        Some(item) => json!({ "success": true, "message": format!("Started task {}", item.task_id), "item": item }),
        None => json!({ "success": true, "item": null, "empty": true, "message": EMPTY }),
    }))
}

/// The item being worked on is done
#[utoipa::path(post, path = "/api/sessions/{id}/queue/complete", tag = "queue", params(("id" = String, Path)),
    responses((status = 200, body = Object), Failures))]
async fn complete(
    State(app): State<App>,
    caller: Caller,
    OneId(id): OneId<SessionId>,
    Sent { once, .. }: Sent<Nothing>,
) -> Result<Json<Json_>, ApiError> {
    end(&app, caller, id, QueueStep::Complete, once).await
}

/// Why an item was given up.
#[derive(Debug, Deserialize, ToSchema)]
struct Failure {
    reason: Option<String>,
}

/// The item being worked on is given up
#[utoipa::path(post, path = "/api/sessions/{id}/queue/fail", tag = "queue", request_body = Failure,
    params(("id" = String, Path)), responses((status = 200, body = Object), Failures))]
async fn fail(
    State(app): State<App>,
    caller: Caller,
    OneId(id): OneId<SessionId>,
    Sent { value, once }: Sent<Failure>,
) -> Result<Json<Json_>, ApiError> {
    end(&app, caller, id, QueueStep::Fail(value.reason), once).await
}

/// The item being worked on, or the next one, is left out
#[utoipa::path(post, path = "/api/sessions/{id}/queue/skip", tag = "queue", params(("id" = String, Path)),
    responses((status = 200, body = Object), Failures))]
async fn skip(
    State(app): State<App>,
    caller: Caller,
    OneId(id): OneId<SessionId>,
    Sent { once, .. }: Sent<Nothing>,
) -> Result<Json<Json_>, ApiError> {
    end(&app, caller, id, QueueStep::Skip, once).await
}

async fn end(
    app: &App,
    Caller(actor): Caller,
    session: SessionId,
    step: QueueStep,
    once: Option<Once>,
) -> Result<Json<Json_>, ApiError> {
    let (key, verb) = match step {
        QueueStep::Complete => ("completedItem", "Completed"),
        QueueStep::Fail(_) => ("failedItem", "Failed"),
        QueueStep::Skip => ("skippedItem", "Skipped"),
    };
    let stepped = app.store.write_once(QueueEnd { session, step, actor }, once).await?;
    let message = format!("{verb} task {}", stepped.ended.task_id);
    let next: Option<QueueItem> = stepped.next;
    let mut answer = json!({ "success": true });
    answer[key] = json!(stepped.ended);
    answer["hasMore"] = next.is_some().into();
    answer["nextItem"] = json!(next);
    answer["message"] = message.into();
    Ok(Json(answer))
}

/// A task for a queue.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct Pushed {
    #[schema(required = true)]
    task_id: Option<String>,
}

/// Put one more task at the end
#[utoipa::path(post, path = "/api/sessions/{id}/queue/push", tag = "queue", request_body = Pushed,
    params(("id" = String, Path)), responses((status = 200, body = Object), Failures))]
async fn push(
    State(app): State<App>,
    Caller(actor): Caller,
    OneId(session): OneId<SessionId>,
    Sent { value, once }: Sent<Pushed>,
) -> Result<Json<Json_>, ApiError> {
    let task = word::<TaskId>("taskId", value.task_id.as_deref())?;
    let task = task.ok_or_else(|| ApiError::invalid("taskId is required"))?;
    let item = app.store.write_once(QueuePush { session, task, actor }, once).await?;
    Ok(Json(json!({ "success": true, "item": item })))
}
