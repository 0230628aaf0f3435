//! What a session's agent did and asks, and how it is taken into one's own hands, over HTTP.

use axum::extract::{Path, State};
use axum::response::Response;
use axum::{Json, Router, routing};
use maestro_core::agent::ChoiceKind;
use maestro_core::id::{Id as _, SessionId};
use maestro_store::{
    AnswerPermission, Attach, Detach, IssueToken, KeepAttached, Permission, Permissions, Receipts, SessionById, Spawn,
    SpawnOf, SpawnState, Transcript, TranscriptEntry, Which,
};
use serde::{Deserialize, Serialize};
use serde_json::Value as Json_;
use utoipa::{IntoParams, OpenApi, ToSchema};

use super::{Failures, listed};
use crate::app::App;
use crate::caller::Caller;
use crate::error::ApiError;
use crate::extract::{Asked, OneId, Paging, Sent, word};
use crate::wire::words::{ChoiceWord, Id, Text};

/// How long a person who is attached may give no sign, in milliseconds.
const ATTACHED: i64 = 30_000;

pub(super) fn routes() -> Router<App> {
    Router::new()
        .route("/api/sessions/{id}/transcript", routing::get(transcript))
        .route("/api/sessions/{id}/receipts", routing::get(receipts))
        .route("/api/sessions/{id}/spawn", routing::get(of_session))
        .route("/api/sessions/{id}/attach", routing::post(attach))
        .route("/api/sessions/{id}/detach", routing::post(detach))
        .route("/api/permissions", routing::get(permissions))
        .route("/api/sessions/{id}/permissions/{request}", routing::post(answer))
}

/// What describes them.
#[derive(OpenApi)]
#[openapi(paths(transcript, receipts, of_session, attach, detach, permissions, answer))]
pub(super) struct Document;

/// Something an agent did.
#[derive(Debug, Serialize, ToSchema)]
struct TranscriptJson {
    /// Its place; the `Maestro-Next-Cursor` of a list is one.
    ord: i64,
    at: i64,
    #[schema(value_type = Object)]
    event: maestro_core::agent::AgentEvent,
}

impl From<TranscriptEntry> for TranscriptJson {
    fn from(entry: TranscriptEntry) -> Self {
        Self { ord: entry.ord, at: entry.at, event: entry.event }
    }
}

/// What a session's agent did, oldest first
#[utoipa::path(get, path = "/api/sessions/{id}/transcript", tag = "sessions", params(("id" = Id, Path), Paging),
    responses((status = 200, body = [TranscriptJson]), Failures))]
async fn transcript(
    State(app): State<App>,
    OneId(id): OneId<SessionId>,
    Asked(paging): Asked<Paging>,
) -> Result<Response, ApiError> {
    app.store.read(SessionById(id.clone())).await?;
    let page = paging.page()?;
    Ok(listed::<TranscriptEntry, TranscriptJson>(app.store.read(Transcript { session: id, page }).await?))
}

/// A skill's text that reached an agent.
#[derive(Debug, Serialize, ToSchema)]
struct ReceiptJson {
    skill: String,
    hash: String,
    /// handed, opened, read.
    stage: &'static str,
    at: i64,
}

/// Which skill texts reached a session's agent
#[utoipa::path(get, path = "/api/sessions/{id}/receipts", tag = "sessions", params(("id" = Id, Path)),
    responses((status = 200, body = [ReceiptJson]), Failures))]
async fn receipts(State(app): State<App>, OneId(id): OneId<SessionId>) -> Result<Json<Vec<ReceiptJson>>, ApiError> {
    app.store.read(SessionById(id.clone())).await?;
    let found = app.store.read(Receipts(id)).await?;
    let receipt = |receipt: maestro_store::Receipt| ReceiptJson {
        skill: receipt.skill,
        hash: receipt.hash,
        stage: receipt.stage.as_str(),
        at: receipt.at,
    };
    Ok(Json(found.into_iter().map(receipt).collect()))
}

/// How far the start of an agent is.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct SpawnJson {
    /// waiting, claimed, attached, done.
    state: &'static str,
    worker: Option<String>,
    attempt: i64,
    agent_session: Option<String>,
    /// What its programs show, told only to whoever has it in their own hands.
    #[serde(skip_serializing_if = "Option::is_none")]
    token: Option<String>,
    #[schema(value_type = Option<Object>)]
    spec: Json_,
    #[schema(value_type = Option<Object>)]
    outcome: Option<Json_>,
}

/// How far the start of a session's agent is
#[utoipa::path(get, path = "/api/sessions/{id}/spawn", tag = "sessions", params(("id" = Id, Path)),
    responses((status = 200, body = SpawnJson), Failures))]
async fn of_session(State(app): State<App>, OneId(id): OneId<SessionId>) -> Result<Json<SpawnJson>, ApiError> {
    app.store.read(SessionById(id.clone())).await?;
    let Some(spawn) = app.store.read(SpawnOf(id)).await? else {
        return Err(ApiError::not_found("nobody spawned this session"));
    };
    Ok(Json(spawn.into()))
}

impl From<Spawn> for SpawnJson {
    fn from(spawn: Spawn) -> Self {
        Self {
            state: spawn.state.as_str(),
            worker: spawn.worker,
            attempt: spawn.attempt,
            agent_session: spawn.agent_session,
            token: None,
            spec: without_texts(spawn.spec),
            outcome: spawn.outcome.and_then(|outcome| serde_json::to_value(outcome).ok()),
        }
    }
}

/// What was asked for, without the texts of skills: those are had by their hashes.
fn without_texts(mut spec: Json_) -> Json_ {
    for skill in spec["skills"].as_array_mut().into_iter().flatten() {
        if let Some(skill) = skill.as_object_mut() {
            skill.remove("text");
        }
    }
    spec
}

/// Who takes an agent into their own hands.
#[derive(Debug, Deserialize, ToSchema)]
struct AttachBody {
    /// A name that no other process has.
    #[schema(value_type = Text)]
    by: Option<String>,
    /// Whether a token for the session's programs is wanted.
    #[serde(default)]
    token: bool,
}

fn by(value: AttachBody) -> Result<String, ApiError> {
    let by = value.by.filter(|by| !by.trim().is_empty() && by.len() <= 512);
    by.ok_or_else(|| ApiError::field("by", "must be a name of at most 512 bytes"))
}

/// Take a session's agent into one's own hands; ask again until its state is `attached`, and then now and then
#[utoipa::path(post, path = "/api/sessions/{id}/attach", tag = "sessions", params(("id" = Id, Path)),
    request_body = AttachBody, responses((status = 200, body = SpawnJson), Failures))]
async fn attach(
    State(app): State<App>,
    Caller(actor): Caller,
    OneId(session): OneId<SessionId>,
    Sent { value, .. }: Sent<AttachBody>,
) -> Result<Json<SpawnJson>, ApiError> {
    let wants_token = value.token;
    let by = by(value)?;
    let attach = Attach { session: session.clone(), by: by.clone(), lease: ATTACHED, actor };
    let spawn = app.store.write(attach).await?;
    app.store.write(KeepAttached { session: session.clone(), by, lease: ATTACHED }).await?;
    let attached = spawn.state == SpawnState::Attached;
    let mut told = SpawnJson::from(spawn);
    if attached && wants_token {
        told.token = Some(app.store.write(IssueToken { session }).await?);
    }
    Ok(Json(told))
}

/// Give a session's agent back; it goes on unless its session is over
#[utoipa::path(post, path = "/api/sessions/{id}/detach", tag = "sessions", params(("id" = Id, Path)),
    request_body = AttachBody, responses((status = 200, body = SpawnJson), Failures))]
async fn detach(
    State(app): State<App>,
    caller: Caller,
    OneId(session): OneId<SessionId>,
    Sent { value, .. }: Sent<AttachBody>,
) -> Result<Json<SpawnJson>, ApiError> {
    caller.not_a_worker("give an agent back")?;
    Ok(Json(app.store.write(Detach { session, by: by(value)? }).await?.into()))
}

/// Which questions are wanted.
#[derive(Debug, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
struct Whose {
    /// Only this session's.
    #[param(value_type = Option<Id>)]
    session_id: Option<String>,
    /// Also those that were answered.
    all: Option<bool>,
}

/// Something an agent asks before it does it.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct PermissionJson {
    #[schema(value_type = Id)]
    session_id: String,
    request: String,
    title: String,
    detail: String,
    #[schema(value_type = Vec<Object>)]
    options: Vec<maestro_core::agent::Choice>,
    #[schema(value_type = Option<String>)]
    answer: Option<ChoiceKind>,
    created_at: i64,
    expires_at: i64,
}

impl From<Permission> for PermissionJson {
    fn from(permission: Permission) -> Self {
        Self {
            session_id: permission.session.into(),
            request: permission.request,
            title: permission.title,
            detail: permission.detail,
            options: permission.options,
            answer: permission.answer,
            created_at: permission.created_at,
            expires_at: permission.expires_at,
        }
    }
}

/// What agents ask, oldest first
#[utoipa::path(get, path = "/api/permissions", tag = "sessions", params(Whose),
    responses((status = 200, body = [PermissionJson]), Failures))]
async fn permissions(
    State(app): State<App>,
    Asked(whose): Asked<Whose>,
) -> Result<Json<Vec<PermissionJson>>, ApiError> {
    let session = word::<SessionId>("sessionId", whose.session_id.as_deref())?;
    let which = if whose.all == Some(true) { Which::All } else { Which::Open };
    let found = app.store.read(Permissions { session, which }).await?;
    Ok(Json(found.into_iter().map(PermissionJson::from).collect()))
}

/// What somebody answers an agent.
#[derive(Debug, Deserialize, ToSchema)]
struct AnswerBody {
    /// `allow_once`, `allow_always`, `reject_once` or `reject_always`.
    #[schema(value_type = ChoiceWord)]
    answer: Option<String>,
}

/// Answer what an agent asks; the first answer counts
#[utoipa::path(post, path = "/api/sessions/{id}/permissions/{request}", tag = "sessions", request_body = AnswerBody,
    params(("id" = Id, Path), ("request" = crate::wire::words::SkillName, Path)),
    responses((status = 200, body = PermissionJson), Failures))]
async fn answer(
    State(app): State<App>,
    Caller(actor): Caller,
    Path((id, request)): Path<(String, String)>,
    Sent { value, .. }: Sent<AnswerBody>,
) -> Result<Json<PermissionJson>, ApiError> {
    let session = SessionId::parse(&id).map_err(|error| ApiError::field("id", error))?;
    let answer: ChoiceKind = value
        .answer
        .and_then(|word| serde_json::from_value(Json_::String(word)).ok())
        .ok_or_else(|| ApiError::field("answer", "must be allow_once, allow_always, reject_once or reject_always"))?;
    Ok(Json(app.store.write(AnswerPermission { session, request, answer, actor }).await?.into()))
}
