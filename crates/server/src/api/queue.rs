//! A session's queue over HTTP.

use axum::extract::State;
use axum::{Json, Router, routing};
use maestro_api::fields::EmptyBody;
use maestro_api::queue::{
    NewQueueItem, QueueBody, QueueEndReply, QueueFailure, QueueItemBody, QueueItemsReply, QueuePushReply, QueueReply,
    QueueStartReply, QueueTopReply,
};
use maestro_api::words::IdText;
use maestro_core::id::{SessionId, TaskId};
use maestro_store::{Once, QueueEnd, QueueOf, QueuePush, QueueStart, QueueStep};
use utoipa::OpenApi;

use super::Failures;
use crate::app::App;
use crate::caller::Caller;
use crate::error::ApiError;
use crate::extract::{OneId, Retry, Sent, word};

const EMPTY: &str = "Queue is empty - all tasks processed";

pub(super) fn routes() -> Router<App> {
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
pub(super) struct Document;

/// A session's queue
#[utoipa::path(get, path = "/api/sessions/{id}/queue", tag = "queue", params(("id" = IdText, Path)),
    responses((status = 200, body = QueueReply), Failures))]
async fn get(State(app): State<App>, OneId(id): OneId<SessionId>) -> Result<Json<QueueReply>, ApiError> {
    let queue = app.store.read(QueueOf(id)).await?;
    Ok(Json(QueueReply { queue: QueueBody::from(&queue), stats: queue.stats().into() }))
}

/// The items of a session's queue
#[utoipa::path(get, path = "/api/sessions/{id}/queue/items", tag = "queue", params(("id" = IdText, Path)),
    responses((status = 200, body = QueueItemsReply), Failures))]
async fn items(State(app): State<App>, OneId(id): OneId<SessionId>) -> Result<Json<QueueItemsReply>, ApiError> {
    let queue = app.store.read(QueueOf(id)).await?;
    let stats = queue.stats().into();
    Ok(Json(QueueItemsReply { items: queue.items.into_iter().map(Into::into).collect(), stats }))
}

/// The item whose turn it is
#[utoipa::path(get, path = "/api/sessions/{id}/queue/top", tag = "queue", params(("id" = IdText, Path)),
    responses((status = 200, body = QueueTopReply), Failures))]
async fn top(State(app): State<App>, OneId(id): OneId<SessionId>) -> Result<Json<QueueTopReply>, ApiError> {
    let queue = app.store.read(QueueOf(id)).await?;
    let item: Option<QueueItemBody> = queue.processing().or_else(|| queue.next()).cloned().map(Into::into);
    Ok(Json(QueueTopReply { has_more: item.is_some(), message: item.is_none().then(|| EMPTY.to_owned()), item }))
}

/// Start the next item
#[utoipa::path(post, path = "/api/sessions/{id}/queue/start", tag = "queue", params(("id" = IdText, Path), Retry),
    responses((status = 200, body = QueueStartReply), Failures))]
async fn start(
    State(app): State<App>,
    Caller(actor): Caller,
    OneId(session): OneId<SessionId>,
    Sent { once, .. }: Sent<EmptyBody>,
) -> Result<Json<QueueStartReply>, ApiError> {
    let item: Option<QueueItemBody> = app.store.write_once(QueueStart { session, actor }, once).await?.map(Into::into);
    let message = item.as_ref().map_or_else(|| EMPTY.to_owned(), |item| format!("Started task {}", item.task_id));
    Ok(Json(QueueStartReply { success: true, empty: item.is_none().then_some(true), item, message }))
}

/// The item being worked on is done
#[utoipa::path(post, path = "/api/sessions/{id}/queue/complete", tag = "queue", params(("id" = IdText, Path), Retry),
    responses((status = 200, body = QueueEndReply), Failures))]
async fn complete(
    State(app): State<App>,
    caller: Caller,
    OneId(id): OneId<SessionId>,
    Sent { once, .. }: Sent<EmptyBody>,
) -> Result<Json<QueueEndReply>, ApiError> {
    end(&app, caller, id, QueueStep::Complete, once).await
}

/// The item being worked on is given up
#[utoipa::path(post, path = "/api/sessions/{id}/queue/fail", tag = "queue", request_body = QueueFailure,
    params(("id" = IdText, Path), Retry), responses((status = 200, body = QueueEndReply), Failures))]
async fn fail(
    State(app): State<App>,
    caller: Caller,
    OneId(id): OneId<SessionId>,
    Sent { value, once }: Sent<QueueFailure>,
) -> Result<Json<QueueEndReply>, ApiError> {
    end(&app, caller, id, QueueStep::Fail(value.reason), once).await
}

/// The item being worked on, or the next one, is left out
#[utoipa::path(post, path = "/api/sessions/{id}/queue/skip", tag = "queue", params(("id" = IdText, Path), Retry),
    responses((status = 200, body = QueueEndReply), Failures))]
async fn skip(
    State(app): State<App>,
    caller: Caller,
    OneId(id): OneId<SessionId>,
    Sent { once, .. }: Sent<EmptyBody>,
) -> Result<Json<QueueEndReply>, ApiError> {
    end(&app, caller, id, QueueStep::Skip, once).await
}

async fn end(
    app: &App,
    Caller(actor): Caller,
    session: SessionId,
    step: QueueStep,
    once: Option<Once>,
) -> Result<Json<QueueEndReply>, ApiError> {
    let stepped = app.store.write_once(QueueEnd { session, step: step.clone(), actor }, once).await?;
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
    Ok(Json(ended))
}

/// Put one more task at the end
#[utoipa::path(post, path = "/api/sessions/{id}/queue/push", tag = "queue", request_body = NewQueueItem,
    params(("id" = IdText, Path), Retry), responses((status = 200, body = QueuePushReply), Failures))]
async fn push(
    State(app): State<App>,
    Caller(actor): Caller,
    OneId(session): OneId<SessionId>,
    Sent { value, once }: Sent<NewQueueItem>,
) -> Result<Json<QueuePushReply>, ApiError> {
    let task = word::<TaskId>("taskId", value.task_id.as_deref())?;
    let task = task.ok_or_else(|| ApiError::invalid("taskId is required"))?;
    let item = app.store.write_once(QueuePush { session, task, actor }, once).await?;
    Ok(Json(QueuePushReply { success: true, item: item.into() }))
}
