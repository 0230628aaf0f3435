//! A session's queue over HTTP.

use axum::extract::State;
use axum::{Router, routing};
use maestro_api::fields::EmptyBody;
use maestro_api::queue::{
    NewQueueItem, QueueBody, QueueEndReply, QueueFailure, QueueItemBody, QueueItemsReply, QueuePushReply, QueueReply,
    QueueStartReply, QueueTopReply,
};
use maestro_api::schemas::IdText;
use maestro_core::id::{SessionId, TaskId};
use maestro_store::{IdempotencyKey, QueueEnd, QueuePush, QueueStart, QueueStep, SessionQueue};
use utoipa::OpenApi;

use super::ApiFailures;
use crate::app::AppState;
use crate::caller::{Caller, CallingActor};
use crate::error::ApiError;
use crate::extract::{IdempotencyHeader, JsonBody, PathId, parse_word};
use crate::json_reply::JsonReply;

const EMPTY: &str = "Queue is empty - all tasks processed";

pub(super) fn routes() -> Router<AppState> {
    Router::new()
        .route("/api/sessions/{id}/queue", routing::get(get))
        .route("/api/sessions/{id}/queue/items", routing::get(items))
        .route("/api/sessions/{id}/queue/top", routing::get(top))
        .route("/api/sessions/{id}/queue/start", routing::post(start))
        .route("/api/sessions/{id}/queue/complete", routing::post(complete))
        .route("/api/sessions/{id}/queue/fail", routing::post(fail))
        .route("/api/sessions/{id}/queue/skip", routing::post(skip))
        .route("/api/sessions/{id}/queue/push", routing::post(push))
}

/// What describes them.
#[derive(OpenApi)]
#[openapi(paths(get, items, top, start, complete, fail, skip, push))]
pub(super) struct QueueApiDoc;

/// A session's queue
#[utoipa::path(get, path = "/api/sessions/{id}/queue", tag = "queue", params(("id" = IdText, Path)),
    responses((status = 200, body = QueueReply), ApiFailures))]
async fn get(State(app): State<AppState>, PathId(id): PathId<SessionId>) -> Result<JsonReply<QueueReply>, ApiError> {
    let queue = app.store.read(SessionQueue(id)).await?;
    Ok(JsonReply(QueueReply { queue: QueueBody::from(&queue), stats: queue.stats().into() }))
}

/// The items of a session's queue
#[utoipa::path(get, path = "/api/sessions/{id}/queue/items", tag = "queue", params(("id" = IdText, Path)),
    responses((status = 200, body = QueueItemsReply), ApiFailures))]
async fn items(
    State(app): State<AppState>,
    PathId(id): PathId<SessionId>,
) -> Result<JsonReply<QueueItemsReply>, ApiError> {
    let queue = app.store.read(SessionQueue(id)).await?;
    let stats = queue.stats().into();
    Ok(JsonReply(QueueItemsReply { items: queue.items.into_iter().map(Into::into).collect(), stats }))
}

/// The item whose turn it is
#[utoipa::path(get, path = "/api/sessions/{id}/queue/top", tag = "queue", params(("id" = IdText, Path)),
    responses((status = 200, body = QueueTopReply), ApiFailures))]
async fn top(State(app): State<AppState>, PathId(id): PathId<SessionId>) -> Result<JsonReply<QueueTopReply>, ApiError> {
    let queue = app.store.read(SessionQueue(id)).await?;
    let item: Option<QueueItemBody> = queue.processing().or_else(|| queue.next()).cloned().map(Into::into);
    Ok(JsonReply(QueueTopReply { has_more: item.is_some(), message: item.is_none().then(|| EMPTY.to_owned()), item }))
}

/// Start the next item
#[utoipa::path(post, path = "/api/sessions/{id}/queue/start", tag = "queue", params(("id" = IdText, Path), IdempotencyHeader),
    responses((status = 200, body = QueueStartReply), ApiFailures))]
async fn start(
    State(app): State<AppState>,
    CallingActor(actor): CallingActor,
    PathId(session): PathId<SessionId>,
    JsonBody { once, .. }: JsonBody<EmptyBody>,
) -> Result<JsonReply<QueueStartReply>, ApiError> {
    let item: Option<QueueItemBody> = app.store.write_once(QueueStart { session, actor }, once).await?.map(Into::into);
    let message = item.as_ref().map_or_else(|| EMPTY.to_owned(), |item| format!("Started task {}", item.task_id));
    Ok(JsonReply(QueueStartReply { success: true, empty: item.is_none().then_some(true), item, message }))
}

/// The item being worked on is done
#[utoipa::path(post, path = "/api/sessions/{id}/queue/complete", tag = "queue", params(("id" = IdText, Path), IdempotencyHeader),
    responses((status = 200, body = QueueEndReply), ApiFailures))]
async fn complete(
    State(app): State<AppState>,
    caller: Caller,
    PathId(id): PathId<SessionId>,
    JsonBody { once, .. }: JsonBody<EmptyBody>,
) -> Result<JsonReply<QueueEndReply>, ApiError> {
    end_item(&app, caller, id, QueueStep::Complete, once).await
}

/// The item being worked on is given up
#[utoipa::path(post, path = "/api/sessions/{id}/queue/fail", tag = "queue", request_body = QueueFailure,
    params(("id" = IdText, Path), IdempotencyHeader), responses((status = 200, body = QueueEndReply), ApiFailures))]
async fn fail(
    State(app): State<AppState>,
    caller: Caller,
    PathId(id): PathId<SessionId>,
    JsonBody { value, once }: JsonBody<QueueFailure>,
) -> Result<JsonReply<QueueEndReply>, ApiError> {
    end_item(&app, caller, id, QueueStep::Fail(value.reason), once).await
}

/// The item being worked on, or the next one, is left out
#[utoipa::path(post, path = "/api/sessions/{id}/queue/skip", tag = "queue", params(("id" = IdText, Path), IdempotencyHeader),
    responses((status = 200, body = QueueEndReply), ApiFailures))]
async fn skip(
    State(app): State<AppState>,
    caller: Caller,
    PathId(id): PathId<SessionId>,
    JsonBody { once, .. }: JsonBody<EmptyBody>,
) -> Result<JsonReply<QueueEndReply>, ApiError> {
    end_item(&app, caller, id, QueueStep::Skip, once).await
}

async fn end_item(
    app: &AppState,
    caller: Caller,
    session: SessionId,
    step: QueueStep,
    once: Option<IdempotencyKey>,
) -> Result<JsonReply<QueueEndReply>, ApiError> {
    let stepped = app.store.write_once(QueueEnd { session, step: step.clone(), actor: caller.actor() }, once).await?;
    let verb = match step {
        QueueStep::Complete => "Completed",
        QueueStep::Fail(_) => "Failed",
        QueueStep::Skip => "Skipped",
    };
    let mut ended = QueueEndReply {
        success: true,
        completed_item: None,
        failed_item: None,
        skipped_item: None,
        has_more: stepped.next.is_some(),
        next_item: stepped.next.map(Into::into),
        message: format!("{verb} task {}", stepped.ended.task_id),
    };
    let item = Some(stepped.ended.into());
    match step {
        QueueStep::Complete => ended.completed_item = item,
        QueueStep::Fail(_) => ended.failed_item = item,
        QueueStep::Skip => ended.skipped_item = item,
    }
    Ok(JsonReply(ended))
}

/// Put one more task at the end
#[utoipa::path(post, path = "/api/sessions/{id}/queue/push", tag = "queue", request_body = NewQueueItem,
    params(("id" = IdText, Path), IdempotencyHeader), responses((status = 200, body = QueuePushReply), ApiFailures))]
async fn push(
    State(app): State<AppState>,
    CallingActor(actor): CallingActor,
    PathId(session): PathId<SessionId>,
    JsonBody { value, once }: JsonBody<NewQueueItem>,
) -> Result<JsonReply<QueuePushReply>, ApiError> {
    let task = parse_word::<TaskId>("taskId", value.task_id.as_deref())?;
    let task = task.ok_or_else(|| ApiError::invalid("taskId is required"))?;
    let item = app.store.write_once(QueuePush { session, task, actor }, once).await?;
    Ok(JsonReply(QueuePushReply { success: true, item: item.into() }))
}
