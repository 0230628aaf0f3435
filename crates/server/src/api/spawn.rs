//! Agents that are started, over HTTP: asked for, watched, answered.

use std::path::PathBuf;

use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::{Json, Router, routing};
use maestro_core::Role;
use maestro_core::agent::ChoiceKind;
use maestro_core::agent::spawn::{Budget, PermissionMode, SpawnSpec};
use maestro_core::id::{Id as _, ProjectId, SessionId, TaskId};
use maestro_core::session::{Approach, SessionStatus};
use maestro_skills::Lookup;
use maestro_store::{
    Actor, AnswerPermission, CreateSession, LivingChildren, Permission, Permissions, ProjectById, Receipts,
    RequestSpawn, SessionById, SpawnOf, StoreError, TaskById, Transcript, TranscriptEntry, Which,
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json_, json};
use utoipa::{IntoParams, OpenApi, ToSchema};

use super::{Failures, listed};
use crate::app::App;
use crate::caller::Caller;
use crate::error::ApiError;
use crate::extract::{Asked, OneId, Paging, Retry, Sent, word};
use crate::shelves::{Freshness, Shelf};
use crate::wire::words::{Id, Part as RolePart, Strategy, Text};
use crate::wire::{FullSession, SessionJson};

pub(super) fn routes() -> Router<App> {
    Router::new()
        .route("/api/sessions/spawn", routing::post(spawn))
        .route("/api/sessions/{id}/transcript", routing::get(transcript))
        .route("/api/sessions/{id}/receipts", routing::get(receipts))
        .route("/api/sessions/{id}/spawn", routing::get(of_session))
        .route("/api/permissions", routing::get(permissions))
        .route("/api/sessions/{id}/permissions/{request}", routing::post(answer))
}

/// What describes them.
#[derive(OpenApi)]
#[openapi(paths(spawn, transcript, receipts, of_session, permissions, answer))]
pub(super) struct Document;

/// What an agent is started for.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct NewSpawn {
    #[schema(value_type = Id)]
    project_id: Option<String>,
    /// Its tasks, the main one first; at least one.
    #[schema(value_type = Vec<Id>)]
    task_ids: Option<Vec<String>>,
    #[schema(value_type = Option<RolePart>)]
    role: Option<String>,
    #[schema(value_type = Option<Strategy>)]
    strategy: Option<String>,
    /// `ui` or `session`.
    spawn_source: Option<String>,
    /// The session that starts it, where one does.
    #[schema(value_type = Option<Id>)]
    session_id: Option<String>,
    session_name: Option<String>,
    /// Skills beside those of its role.
    skills: Option<Vec<String>>,
    /// What the starter wants to be written down.
    #[schema(value_type = Option<Object>)]
    context: Option<Map<String, Json_>>,
    /// Which agent; the one that the settings name, unless said otherwise.
    agent: Option<String>,
    /// Which model.
    model: Option<String>,
    /// `ask`, `edits` or `all`: what it may do without asking.
    permission: Option<String>,
    /// What it is told beside its tasks.
    prompt: Option<String>,
    /// How much it may use up.
    #[schema(value_type = Option<Object>)]
    budget: Option<Budget>,
}

fn refused(code: &'static str, message: impl Into<String>) -> ApiError {
    ApiError::new(StatusCode::BAD_REQUEST, code, message)
}

fn missing(code: &'static str, error: StoreError, details: Json_) -> ApiError {
    match error {
        StoreError::NotFound { .. } => ApiError::new(StatusCode::NOT_FOUND, code, error.to_string()).with(details),
        other => other.into(),
    }
}

/// What was asked for, made sure of in the order of the original.
struct Wanted {
    project: maestro_core::project::Project,
    tasks: Vec<TaskId>,
    role: Role,
    strategy: Approach,
    source: &'static str,
    parent: Option<SessionId>,
}

async fn wanted(app: &App, caller: &Caller, value: &NewSpawn) -> Result<Wanted, ApiError> {
    let project = value.project_id.as_deref().filter(|id| !id.is_empty());
    let project = project.ok_or_else(|| refused("missing_project_id", "projectId is required"))?;
    let tasks = value.task_ids.as_deref().unwrap_or_default();
    if tasks.is_empty() {
        return Err(refused("invalid_task_ids", "taskIds must be a non-empty array"));
    }
    let source = match value.spawn_source.as_deref() {
        None | Some("ui") => "ui",
        Some("session") => "session",
        Some(_) => return Err(refused("invalid_spawn_source", "spawnSource must be \"ui\" or \"session\"")),
    };
    let named = value.session_id.as_deref().filter(|id| !id.is_empty());
    if source == "session" && named.is_none() && caller.0.session().is_none() {
        return Err(refused("missing_session_id", "sessionId is required when spawnSource is \"session\""));
    }
    let parent = match (named, caller.0.session()) {
        (Some(id), _) if source == "session" => Some(word::<SessionId>("sessionId", Some(id))?),
        (_, session) => session.cloned().map(Some),
    };
    let parent = parent.flatten();
    if let Some(parent) = &parent {
        let found = app.store.read(SessionById(parent.clone())).await;
        found.map_err(|error| missing("parent_session_not_found", error, json!({ "sessionId": parent.as_str() })))?;
    }
    let role = match value.role.as_deref() {
        None => Role::Worker,
        Some(role) => {
            role.parse().map_err(|_| refused("invalid_role", "role must be \"worker\" or \"orchestrator\""))?
        }
    };
    let mut found = Vec::new();
    for id in tasks {
        let task = TaskId::parse(id).map_err(|error| ApiError::field("taskIds", error))?;
        let read = app.store.read(TaskById(task.clone())).await;
        read.map_err(|error| missing("task_not_found", error, json!({ "taskId": id })))?;
        found.push(task);
    }
    let id = ProjectId::parse(project).map_err(|error| ApiError::field("projectId", error))?;
    let read = app.store.read(ProjectById(id)).await;
    let project = read.map_err(|error| missing("project_not_found", error, json!({ "projectId": project })))?;
    let strategy = match value.strategy.as_deref() {
        None => Approach::Simple,
        Some(word) => {
            word.parse().map_err(|_| refused("invalid_strategy", "strategy must be simple, queue or tree"))?
        }
    };
    Ok(Wanted { project, tasks: found, role, strategy, source, parent })
}

/// Start an agent for tasks
#[utoipa::path(post, path = "/api/sessions/spawn", tag = "sessions", request_body = NewSpawn, params(Retry),
    responses((status = 201, body = Spawned), Failures))]
async fn spawn(
    State(app): State<App>,
    caller: Caller,
    Sent { value, once }: Sent<NewSpawn>,
) -> Result<Response, ApiError> {
    caller.not_a_worker("start agents")?;
    let wanted = wanted(&app, &caller, &value).await?;
    within_limits(&app, &caller, &wanted).await?;
    let permission = match value.permission.as_deref() {
        None => PermissionMode::default(),
        Some(word) => {
            PermissionMode::from_word(word).ok_or_else(|| ApiError::field("permission", "must be ask, edits or all"))?
        }
    };
    let skills = value.skills.clone().unwrap_or_default();
    let agent = match value.agent {
        Some(agent) => agent,
        None => usual_agent(&app, &wanted.project.working_dir).await,
    };
    let spec = SpawnSpec {
        agent: agent.clone(),
        model: value.model,
        workspace: wanted.project.working_dir.clone(),
        skills: skills.clone(),
        prompt: value.prompt,
        permission,
        budget: value.budget.unwrap_or_default(),
    };
    let metadata = json!({
        "skills": skills,
        "spawnedBy": wanted.parent.as_ref().map(|id| id.as_str()),
        "spawnSource": wanted.source,
        "role": wanted.role,
        "strategy": wanted.strategy.as_str(),
        "context": value.context.unwrap_or_default(),
    });
    let Json_::Object(metadata) = metadata else { return Err(ApiError::internal("metadata is an object")) };
    let session = CreateSession {
        id: None,
        project: wanted.project.id.clone(),
        tasks: wanted.tasks,
        name: value.session_name,
        role: wanted.role,
        agent: Some(agent),
        strategy: wanted.strategy,
        status: SessionStatus::Spawning,
        env: Map::new(),
        metadata,
        parent: wanted.parent,
        hostname: app.facts.hostname.clone(),
        platform: std::env::consts::OS.to_owned(),
    };
    let spec = serde_json::to_value(spec).map_err(|error| ApiError::internal(error.to_string()))?;
    let session = app.store.write_once(RequestSpawn { session, spec }, once).await?;
    let id = session.id.to_string();
    let session = app.store.read(FullSession(session.id)).await?;
    let spawned = Spawned {
        success: true,
        manifest_path: format!("~/.maestro/sessions/{id}/manifest.json"),
        session_id: id,
        message: "A worker starts the agent as soon as it is free".to_owned(),
        session,
    };
    Ok((StatusCode::CREATED, Json(spawned)).into_response())
}

/// That an agent will be started.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct Spawned {
    success: bool,
    #[schema(value_type = Id)]
    session_id: String,
    manifest_path: String,
    message: String,
    session: SessionJson,
}

/// Refuses an orchestrator more agents than its skill allows.
async fn within_limits(app: &App, caller: &Caller, wanted: &Wanted) -> Result<(), ApiError> {
    let Actor::Session { id, role: Role::Orchestrator } = &caller.0 else { return Ok(()) };
    let living = app.store.read(LivingChildren(id.clone())).await?;
    for (name, most) in limits(app, &wanted.project.working_dir).await {
        if living >= most {
            let message = format!("{name} is {most}, and {living} agents of session '{id}' have not ended");
            let details = json!({ "limit": name, "most": most, "living": living });
            return Err(ApiError::new(StatusCode::CONFLICT, "LIMIT_REACHED", message).with(details));
        }
    }
    Ok(())
}

/// The skills and settings of a directory, if they can be had.
async fn shelf(app: &App, directory: &str) -> Option<Shelf> {
    let (shelves, directory) = (app.shelves.clone(), PathBuf::from(directory));
    let found = tokio::task::spawn_blocking(move || shelves(Some(&directory), Freshness::Kept)).await;
    found.ok()?.ok()
}

/// The agent that the settings name; whoever starts it chooses where they name none.
async fn usual_agent(app: &App, directory: &str) -> String {
    shelf(app, directory).await.map(|shelf| shelf.settings.agent.value.clone()).unwrap_or_default()
}

/// How many agents an orchestrator may have at once, by what its skill says.
async fn limits(app: &App, directory: &str) -> Vec<(&'static str, i64)> {
    let Some(shelf) = shelf(app, directory).await else { return Vec::new() };
    let Lookup::Found(skill) = shelf.catalogue.find("maestro-orchestrator") else { return Vec::new() };
    let number = |name: &'static str| Some((name, skill.config.get(name)?.as_i64()?));
    let alone = skill.config.get("parallelExecution").and_then(Json_::as_bool) == Some(false);
    let mut limits: Vec<(&'static str, i64)> =
        ["maxWorkers", "maxConcurrentTasks"].into_iter().filter_map(number).collect();
    limits.extend(alone.then_some(("parallelExecution", 1)));
    limits
}

/// Something an agent did.
#[derive(Debug, Serialize, ToSchema)]
struct Entry {
    /// Its place; the `Maestro-Next-Cursor` of a list is one.
    ord: i64,
    at: i64,
    #[schema(value_type = Object)]
    event: maestro_core::agent::AgentEvent,
}

impl From<TranscriptEntry> for Entry {
    fn from(entry: TranscriptEntry) -> Self {
        Self { ord: entry.ord, at: entry.at, event: entry.event }
    }
}

/// What a session's agent did, oldest first
#[utoipa::path(get, path = "/api/sessions/{id}/transcript", tag = "sessions", params(("id" = Id, Path), Paging),
    responses((status = 200, body = [Entry]), Failures))]
async fn transcript(
    State(app): State<App>,
    OneId(id): OneId<SessionId>,
    Asked(paging): Asked<Paging>,
) -> Result<Response, ApiError> {
    app.store.read(SessionById(id.clone())).await?;
    let page = paging.page()?;
    Ok(listed::<TranscriptEntry, Entry>(app.store.read(Transcript { session: id, page }).await?))
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
    /// waiting, claimed, done; nothing for a session that nobody spawned.
    state: Option<String>,
    worker: Option<String>,
    attempt: i64,
    agent_session: Option<String>,
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
    Ok(Json(SpawnJson {
        state: serde_json::to_value(spawn.state).ok().and_then(|word| word.as_str().map(str::to_owned)),
        worker: spawn.worker,
        attempt: spawn.attempt,
        agent_session: spawn.agent_session,
        spec: spawn.spec,
        outcome: spawn.outcome,
    }))
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
    #[schema(value_type = Text)]
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
