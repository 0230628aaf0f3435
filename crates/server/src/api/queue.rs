//! A session's queue over HTTP.

use axum::extract::State;
use axum::{Json, Router, routing};
use maestro_core::id::{SessionId, TaskId};
use maestro_store::{Once, QueueEnd, QueueOf, QueuePush, QueueStart, QueueStep};
use serde::{Deserialize, Serialize};
use utoipa::{OpenApi, ToSchema};

use super::Failures;
use crate::app::App;
use crate::caller::Caller;
use crate::error::ApiError;
use crate::extract::{Nothing, OneId, Retry, Sent, word};
use crate::wire::words::Id;
use crate::wire::{ItemJson, QueueJson, StatsJson};

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

/// A queue and how far it is.
#[derive(Serialize, ToSchema)]
struct WholeQueue {
    queue: QueueJson,
    stats: StatsJson,
}

/// A session's queue
#[utoipa::path(get, path = "/api/sessions/{id}/queue", tag = "queue", params(("id" = Id, Path)),
    responses((status = 200, body = WholeQueue), Failures))]
async fn get(State(app): State<App>, OneId(id): OneId<SessionId>) -> Result<Json<WholeQueue>, ApiError> {
    let queue = app.store.read(QueueOf(id)).await?;
    Ok(Json(WholeQueue { queue: QueueJson::from(&queue), stats: queue.stats().into() }))
}

/// The items of a queue and how far it is.
#[derive(Serialize, ToSchema)]
struct QueueItems {
    items: Vec<ItemJson>,
    stats: StatsJson,
}

/// The items of a session's queue
#[utoipa::path(get, path = "/api/sessions/{id}/queue/items", tag = "queue", params(("id" = Id, Path)),
    responses((status = 200, body = QueueItems), Failures))]
async fn items(State(app): State<App>, OneId(id): OneId<SessionId>) -> Result<Json<QueueItems>, ApiError> {
    let queue = app.store.read(QueueOf(id)).await?;
    let stats = queue.stats().into();
    Ok(Json(QueueItems { items: queue.items.into_iter().map(Into::into).collect(), stats }))
}

/// The item whose turn it is.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct Top {
    /// Whether there is one.
    has_more: bool,
    item: Option<ItemJson>,
    #[serde(skip_serializing_if = "Option::is_none")]
    message: Option<&'static str>,
}

/// The item whose turn it is
#[utoipa::path(get, path = "/api/sessions/{id}/queue/top", tag = "queue", params(("id" = Id, Path)),
    responses((status = 200, body = Top), Failures))]
async fn top(State(app): State<App>, OneId(id): OneId<SessionId>) -> Result<Json<Top>, ApiError> {
    let queue = app.store.read(QueueOf(id)).await?;
    let item: Option<ItemJson> = queue.processing().or_else(|| queue.next()).cloned().map(Into::into);
    Ok(Json(Top { has_more: item.is_some(), message: item.is_none().then_some(EMPTY), item }))
}

/// The item that was begun.
#[derive(Serialize, ToSchema)]
struct Started {
    /// Always true.
    success: bool,
    item: Option<ItemJson>,
    /// True when there was none left.
    #[serde(skip_serializing_if = "Option::is_none")]
    empty: Option<bool>,
    message: String,
}

/// Begin the next item
#[utoipa::path(post, path = "/api/sessions/{id}/queue/start", tag = "queue", params(("id" = Id, Path), Retry),
    responses((status = 200, body = Started), Failures))]
async fn start(
    State(app): State<App>,
    Caller(actor): Caller,
    OneId(session): OneId<SessionId>,
    Sent { once, .. }: Sent<Nothing>,
) -> Result<Json<Started>, ApiError> {
    let item: Option<ItemJson> = app.store.write_once(QueueStart { session, actor }, once).await?.map(Into::into);
    let message = item.as_ref().map_or_else(|| EMPTY.to_owned(), |item| format!("Started task {}", item.task_id));
    Ok(Json(Started { success: true, empty: item.is_none().then_some(true), item, message }))
}

/// The item that ended, under the name of how it ended, and the next one.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct Ended {
    /// Always true.
    success: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    completed_item: Option<ItemJson>,
    #[serde(skip_serializing_if = "Option::is_none")]
    failed_item: Option<ItemJson>,
    #[serde(skip_serializing_if = "Option::is_none")]
    skipped_item: Option<ItemJson>,
    next_item: Option<ItemJson>,
    /// Whether there is a next one.
    has_more: bool,
    message: String,
}

/// The item being worked on is done
#[utoipa::path(post, path = "/api/sessions/{id}/queue/complete", tag = "queue", params(("id" = Id, Path), Retry),
    responses((status = 200, body = Ended), Failures))]
async fn complete(
    State(app): State<App>,
    caller: Caller,
    OneId(id): OneId<SessionId>,
    Sent { once, .. }: Sent<Nothing>,
) -> Result<Json<Ended>, ApiError> {
    end(&app, caller, id, QueueStep::Complete, once).await
}

/// Why an item was given up.
#[derive(Debug, Deserialize, ToSchema)]
struct Failure {
    reason: Option<String>,
}

/// The item being worked on is given up
#[utoipa::path(post, path = "/api/sessions/{id}/queue/fail", tag = "queue", request_body = Failure,
    params(("id" = Id, Path), Retry), responses((status = 200, body = Ended), Failures))]
async fn fail(
    State(app): State<App>,
    caller: Caller,
    OneId(id): OneId<SessionId>,
    Sent { value, once }: Sent<Failure>,
) -> Result<Json<Ended>, ApiError> {
    end(&app, caller, id, QueueStep::Fail(value.reason), once).await
}

/// The item being worked on, or the next one, is left out
#[utoipa::path(post, path = "/api/sessions/{id}/queue/skip", tag = "queue", params(("id" = Id, Path), Retry),
    responses((status = 200, body = Ended), Failures))]
async fn skip(
    State(app): State<App>,
    caller: Caller,
    OneId(id): OneId<SessionId>,
    Sent { once, .. }: Sent<Nothing>,
) -> Result<Json<Ended>, ApiError> {
    end(&app, caller, id, QueueStep::Skip, once).await
}

async fn end(
    app: &App,
    Caller(actor): Caller,
    session: SessionId,
    step: QueueStep,
    once: Option<Once>,
) -> Result<Json<Ended>, ApiError> {
    let stepped = app.store.write_once(QueueEnd { session, step: step.clone(), actor }, once).await?;
    let verb = match step {
        QueueStep::Complete => "Completed",
        QueueStep::Fail(_) => "Failed",
        QueueStep::Skip => "Skipped",
    };
    let mut ended = Ended {
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

/// A task for a queue.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct NewItem {
    #[schema(value_type = Id)]
    task_id: Option<String>,
}

/// That a task is in the queue.
#[derive(Serialize, ToSchema)]
struct Pushed {
    /// Always true.
    success: bool,
    item: ItemJson,
}

/// Put one more task at the end
#[utoipa::path(post, path = "/api/sessions/{id}/queue/push", tag = "queue", request_body = NewItem,
    params(("id" = Id, Path), Retry), responses((status = 200, body = Pushed), Failures))]
async fn push(
    State(app): State<App>,
    Caller(actor): Caller,
    OneId(session): OneId<SessionId>,
    Sent { value, once }: Sent<NewItem>,
) -> Result<Json<Pushed>, ApiError> {
    let task = word::<TaskId>("taskId", value.task_id.as_deref())?;
    let task = task.ok_or_else(|| ApiError::invalid("taskId is required"))?;
    let item = app.store.write_once(QueuePush { session, task, actor }, once).await?;
    Ok(Json(Pushed { success: true, item: item.into() }))
}
