//! Transcript, permission requests and takeover of a session's agent, over HTTP.

use axum::extract::{Path, State};
use axum::response::Response;
use axum::{Router, routing};
use maestro_api::fields::PageQuery;
use maestro_api::schemas::{IdText, SkillName};
use maestro_api::spawns::{
    AttachRequest, PermissionAnswer, PermissionBody, PermissionQuery, ReceiptBody, SpawnBody, TranscriptBody,
};
use maestro_core::agent::PermissionChoiceKind;
use maestro_core::id::{EntityId as _, SessionId};
use maestro_store::{
    AnswerPermission, AttachSession, DetachSession, IssueToken, PermissionFilter, PermissionList, PermissionRequest,
    RenewAttachment, SessionById, SkillDeliveries, SpawnBySession, SpawnRecord, SpawnState, TranscriptEntry,
    TranscriptPage,
};
use serde_json::Value as Json_;
use utoipa::OpenApi;

use super::{ApiFailures, list_response};
use crate::answer_notes::{AnswerWay, AnsweredCard, permission_words};
use crate::app::AppState;
use crate::caller::Caller;
use crate::error::ApiError;
use crate::extract::{JsonBody, PagingParams, PathId, UrlQuery, parse_word};
use crate::json_reply::JsonReply;

/// How long a person who is attached may give no sign, in milliseconds.
const ATTACHED: i64 = 30_000;

pub(super) fn routes() -> Router<AppState> {
    Router::new()
        .route("/api/sessions/{id}/transcript", routing::get(transcript))
        .route("/api/sessions/{id}/receipts", routing::get(receipts))
        .route("/api/sessions/{id}/spawn", routing::get(session_spawn))
        .route("/api/sessions/{id}/attach", routing::post(attach))
        .route("/api/sessions/{id}/detach", routing::post(detach))
        .route("/api/permissions", routing::get(permissions))
        .route("/api/sessions/{id}/permissions/{request}", routing::post(answer))
}

/// What describes them.
#[derive(OpenApi)]
#[openapi(paths(transcript, receipts, session_spawn, attach, detach, permissions, answer))]
pub(super) struct AgentSessionsApiDoc;

fn transcript_body(entry: TranscriptEntry) -> TranscriptBody {
    TranscriptBody { ord: entry.ord, at: entry.at, event: entry.event }
}

/// What a session's agent did, oldest first
#[utoipa::path(get, path = "/api/sessions/{id}/transcript", tag = "sessions", params(("id" = IdText, Path), PageQuery),
    responses((status = 200, body = [TranscriptBody]), ApiFailures))]
async fn transcript(
    State(app): State<AppState>,
    PathId(id): PathId<SessionId>,
    PagingParams(page): PagingParams,
) -> Result<Response, ApiError> {
    app.store.read(SessionById(id.clone())).await?;
    Ok(list_response(app.store.read(TranscriptPage { session: id, page }).await?, transcript_body))
}

/// Which skill texts reached a session's agent
#[utoipa::path(get, path = "/api/sessions/{id}/receipts", tag = "sessions", params(("id" = IdText, Path)),
    responses((status = 200, body = [ReceiptBody]), ApiFailures))]
async fn receipts(
    State(app): State<AppState>,
    PathId(id): PathId<SessionId>,
) -> Result<JsonReply<Vec<ReceiptBody>>, ApiError> {
    app.store.read(SessionById(id.clone())).await?;
    let found = app.store.read(SkillDeliveries(id)).await?;
    let receipt = |receipt: maestro_store::SkillDelivery| ReceiptBody {
        skill: receipt.skill,
        hash: receipt.hash,
        stage: receipt.stage.as_str().to_owned(),
        at: receipt.at,
    };
    Ok(JsonReply(found.into_iter().map(receipt).collect()))
}

/// How far the start of a session's agent is
#[utoipa::path(get, path = "/api/sessions/{id}/spawn", tag = "sessions", params(("id" = IdText, Path)),
    responses((status = 200, body = SpawnBody), ApiFailures))]
async fn session_spawn(
    State(app): State<AppState>,
    PathId(id): PathId<SessionId>,
) -> Result<JsonReply<SpawnBody>, ApiError> {
    app.store.read(SessionById(id.clone())).await?;
    let Some(spawn) = app.store.read(SpawnBySession(id)).await? else {
        return Err(ApiError::not_found("this session was not spawned"));
    };
    Ok(JsonReply(spawn_body(spawn)))
}

fn spawn_body(spawn: SpawnRecord) -> SpawnBody {
    SpawnBody {
        state: spawn.state.as_str().to_owned(),
        worker: spawn.worker,
        attempt: spawn.attempt,
        agent_session: spawn.agent_session,
        token: None,
        spec: without_texts(spawn.spec),
        outcome: spawn.outcome,
    }
}

/// What was asked for, without the texts of skills: those are had by their hashes.
fn without_texts(mut spec: Json_) -> Json_ {
    let skills = spec.get_mut("skills").and_then(Json_::as_array_mut);
    for skill in skills.into_iter().flatten() {
        if let Some(skill) = skill.as_object_mut() {
            skill.remove("text");
        }
    }
    spec
}

fn attach_name(value: AttachRequest) -> Result<String, ApiError> {
    let by = value.by.filter(|by| !by.trim().is_empty() && by.len() <= 512);
    by.ok_or_else(|| ApiError::field("by", "must be a name of at most 512 bytes"))
}

/// Take a session's agent into one's own hands; ask again until its state is `attached`, and then now and then
#[utoipa::path(post, path = "/api/sessions/{id}/attach", tag = "sessions", params(("id" = IdText, Path)),
    request_body = AttachRequest, responses((status = 200, body = SpawnBody), ApiFailures))]
async fn attach(
    State(app): State<AppState>,
    caller: Caller,
    PathId(session): PathId<SessionId>,
    JsonBody { value, .. }: JsonBody<AttachRequest>,
) -> Result<JsonReply<SpawnBody>, ApiError> {
    caller.require_person("attach to an agent")?;
    let (actor, wants_token) = (caller.actor(), value.token);
    let by = attach_name(value)?;
    let attach = AttachSession { session: session.clone(), by: by.clone(), lease: ATTACHED, actor };
    let spawn = app.store.write(attach).await?;
    app.store.write(RenewAttachment { session: session.clone(), by, lease: ATTACHED }).await?;
    let attached = spawn.state == SpawnState::Attached;
    let mut told = spawn_body(spawn);
    if attached && wants_token {
        told.token = Some(app.store.write(IssueToken { session }).await?);
    }
    Ok(JsonReply(told))
}

/// Give a session's agent back; it goes on unless its session is over
#[utoipa::path(post, path = "/api/sessions/{id}/detach", tag = "sessions", params(("id" = IdText, Path)),
    request_body = AttachRequest, responses((status = 200, body = SpawnBody), ApiFailures))]
async fn detach(
    State(app): State<AppState>,
    caller: Caller,
    PathId(session): PathId<SessionId>,
    JsonBody { value, .. }: JsonBody<AttachRequest>,
) -> Result<JsonReply<SpawnBody>, ApiError> {
    caller.refuse_workers("give an agent back")?;
    Ok(JsonReply(spawn_body(app.store.write(DetachSession { session, by: attach_name(value)? }).await?)))
}

fn permission_body(permission: PermissionRequest) -> PermissionBody {
    PermissionBody {
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

/// What agents ask, oldest first
#[utoipa::path(get, path = "/api/permissions", tag = "sessions", params(PermissionQuery),
    responses((status = 200, body = [PermissionBody]), ApiFailures))]
async fn permissions(
    State(app): State<AppState>,
    caller: Caller,
    UrlQuery(whose): UrlQuery<PermissionQuery>,
) -> Result<JsonReply<Vec<PermissionBody>>, ApiError> {
    let session = parse_word::<SessionId>("sessionId", whose.session_id.as_deref())?;
    let filter = if whose.all == Some(true) { PermissionFilter::All } else { PermissionFilter::Open };
    let mut found = Vec::new();
    for permission in app.store.read(PermissionList { session, filter }).await? {
        let is_seen = match caller.project() {
            Some(own) => app.store.read(SessionById(permission.session.clone())).await?.project == *own,
            None => true,
        };
        found.extend(is_seen.then(|| permission_body(permission)));
    }
    Ok(JsonReply(found))
}

/// Answer what an agent asks; the first answer counts
#[utoipa::path(post, path = "/api/sessions/{id}/permissions/{request}", tag = "sessions", request_body = PermissionAnswer,
    params(("id" = IdText, Path), ("request" = SkillName, Path)),
    responses((status = 200, body = PermissionBody), ApiFailures))]
async fn answer(
    State(app): State<AppState>,
    caller: Caller,
    Path((id, request)): Path<(String, String)>,
    JsonBody { value, .. }: JsonBody<PermissionAnswer>,
) -> Result<JsonReply<PermissionBody>, ApiError> {
    caller.refuse_steps("answer what an agent asks")?;
    let session = SessionId::parse(&id).map_err(|error| ApiError::field("id", error))?;
    let answer: PermissionChoiceKind =
        value.answer.and_then(|word| serde_json::from_value(Json_::String(word)).ok()).ok_or_else(|| {
            ApiError::field("answer", "must be allow_once, allow_always, reject_once or reject_always")
        })?;
    let card = AnsweredCard::Permission { session: &session, request: &request };
    app.page.answers.keep(card, permission_words(answer), AnswerWay::Api(caller.in_words()), (app.clock)());
    Ok(JsonReply(permission_body(
        app.store.write(AnswerPermission { session, request, answer, actor: caller.actor() }).await?,
    )))
}
