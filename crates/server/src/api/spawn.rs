//! Requests to start agents, over HTTP.

use std::str::FromStr;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::{Router, routing};
use maestro_api::spawns::{NewSpawn, SkillProblem, SpawnBudget, SpawnReply};
use maestro_core::agent::spawn::SessionLimits;
use maestro_core::agent::{DEMO_AGENT, DemoAgentUse, Permission, RunRights};
use maestro_core::id::{EntityId as _, ProjectId, SessionId, TaskId};
use maestro_engine::briefing::MissingSkill;
use maestro_engine::spawning::{SessionSpawner, SpawnOrder, SpawnPlace, SpawnRefusal, SpawnSource, SpawnedSession};
use maestro_store::{ClaimPolicy, IdempotencyKey, StoreError};
use serde_json::{Value as Json_, json};
use utoipa::OpenApi;

use super::{ApiFailures, rights};
use crate::app::AppState;
use crate::caller::Caller;
use crate::error::ApiError;
use crate::extract::{IdempotencyHeader, JsonBody, parse_word};
use crate::full_session::FullSession;
use crate::json_reply::JsonReply;

/// How often an agent may be started at most.
const MOST_STARTS: u32 = 1000;
/// How many skills may be asked for.
const MOST_SKILLS: usize = 100;

pub(super) fn routes() -> Router<AppState> {
    Router::new().route("/api/sessions/spawn", routing::post(spawn))
}

/// What describes them.
#[derive(OpenApi)]
#[openapi(paths(spawn))]
pub(super) struct SpawnApiDoc;

/// Start an agent for tasks
#[utoipa::path(post, path = "/api/sessions/spawn", tag = "sessions", request_body = NewSpawn, params(IdempotencyHeader),
    responses((status = 201, body = SpawnReply), ApiFailures))]
async fn spawn(
    State(app): State<AppState>,
    caller: Caller,
    JsonBody { value, once }: JsonBody<NewSpawn>,
) -> Result<Response, ApiError> {
    let (spawned, claim_policy) = spawn_session(&app, &caller, value, once).await?;
    let reply = SpawnReply {
        success: true,
        session_id: spawned.session.id.to_string(),
        manifest_path: spawned.manifest_path,
        message: message(claim_policy).to_owned(),
        skill_problems: spawned.missing.into_iter().map(skill_problem).collect(),
        worktree: spawned.worktree.map(|path| path.display().to_string()),
        notice: spawned.notice,
        session: app.store.read(FullSession(spawned.session.id)).await?,
    };
    Ok((StatusCode::CREATED, JsonReply(reply)).into_response())
}

/// Starts an agent for tasks, as a caller asks for it.
pub(crate) async fn spawn_session(
    app: &AppState,
    caller: &Caller,
    value: NewSpawn,
    once: Option<IdempotencyKey>,
) -> Result<(SpawnedSession, ClaimPolicy), ApiError> {
    caller.refuse_workers("start agents")?;
    let rights = spawn_rights(app, caller, &value).await?;
    let order = spawn_order(caller, value, rights)?;
    let claim_policy = order.claim_policy;
    let spawned = spawner(app).spawn(order, once).await.map_err(refused)?;
    Ok((spawned, claim_policy))
}

fn spawner(app: &AppState) -> SessionSpawner {
    let observed = app.clone();
    SessionSpawner {
        store: app.store.clone(),
        host: app.host.clone(),
        endpoints: app.facts.endpoints.clone(),
        hostname: app.facts.hostname.clone(),
        observer: std::sync::Arc::new(move |event| observed.record_skill_events(event)),
    }
}

/// What a request asks for; each mistake has the code of the original.
fn spawn_order(caller: &Caller, value: NewSpawn, rights: RunRights) -> Result<SpawnOrder, ApiError> {
    let project = value.project_id.as_deref().filter(|id| !id.is_empty());
    let project = project.ok_or_else(|| bad_request("missing_project_id", "projectId is required"))?;
    let tasks = value.task_ids.as_deref().unwrap_or_default();
    if tasks.is_empty() {
        return Err(bad_request("invalid_task_ids", "taskIds must be a non-empty array"));
    }
    let (source, parent) = starter(caller, &value)?;
    let task = |id: &String| TaskId::parse(id).map_err(|error| ApiError::field("taskIds", error));
    let tasks = tasks.iter().map(task).collect::<Result<Vec<_>, _>>()?;
    let project = ProjectId::parse(project).map_err(|error| ApiError::field("projectId", error))?;
    caller.check_project(Some(&project))?;
    let skills = value.skills.unwrap_or_default();
    if skills.len() > MOST_SKILLS {
        return Err(ApiError::field("skills", format!("must be at most {MOST_SKILLS}")));
    }
    Ok(SpawnOrder {
        actor: caller.actor(),
        project,
        tasks,
        role: value.role,
        strategy: value.strategy,
        source,
        parent,
        name: value.session_name,
        skills,
        context: value.context.unwrap_or_default(),
        agent: value.agent,
        driver: known_word("driver", value.driver.as_deref(), "json, acp or text")?,
        model: value.model,
        prompt: value.prompt,
        rights,
        budget: budget(value.budget)?,
        claim_policy: match value.spawn_mode.as_deref() {
            None | Some("worker") => ClaimPolicy::AnyWorker,
            Some("ui") => ClaimPolicy::SpecificSession,
            Some(_) => return Err(ApiError::field("spawnMode", "must be worker or ui")),
        },
        place: if value.worktree.unwrap_or(true) { SpawnPlace::Worktree } else { SpawnPlace::Checkout },
    })
}

/// Who starts it: a person or a session, and which.
fn starter(caller: &Caller, value: &NewSpawn) -> Result<(SpawnSource, Option<SessionId>), ApiError> {
    let source = match value.spawn_source.as_deref() {
        None | Some("ui") => SpawnSource::Ui,
        Some("session") => SpawnSource::Session,
        Some(_) => return Err(bad_request("invalid_spawn_source", "spawnSource must be \"ui\" or \"session\"")),
    };
    let named = value.session_id.as_deref().filter(|id| !id.is_empty());
    if source == SpawnSource::Session && named.is_none() && caller.session_id().is_none() {
        return Err(bad_request("missing_session_id", "sessionId is required when spawnSource is \"session\""));
    }
    let parent = match (named, caller.session_id()) {
        (Some(id), _) if source == SpawnSource::Session => parse_word::<SessionId>("sessionId", Some(id))?,
        (_, session) => session.cloned(),
    };
    Ok((source, parent))
}

/// A word of the request, as what it stands for.
fn known_word<T: FromStr>(field: &'static str, value: Option<&str>, known: &str) -> Result<Option<T>, ApiError> {
    let parsed = value.map(|value| value.parse().map_err(|_| ApiError::field(field, format!("must be {known}"))));
    parsed.transpose()
}

/// A budget that something can be done within.
fn budget(value: Option<Json_>) -> Result<Option<SessionLimits>, ApiError> {
    let wanted = value.map(serde_json::from_value::<SpawnBudget>).transpose();
    let Some(wanted) = wanted.map_err(|error| ApiError::field("budget", error))? else { return Ok(None) };
    let usual = SessionLimits::default();
    // What is out of range is refused below, as nothing is.
    let count = |number: i64| u64::try_from(number).unwrap_or(0);
    let starts = |number: &i64| u32::try_from(*number).ok().filter(|starts| *starts <= MOST_STARTS).unwrap_or(0);
    let budget = SessionLimits {
        minutes: wanted.minutes.unwrap_or(usual.minutes),
        idle_minutes: wanted.idle_minutes.unwrap_or(usual.idle_minutes),
        question_minutes: wanted.question_minutes.unwrap_or(usual.question_minutes),
        tokens: wanted.tokens.map(count),
        cost_usd: wanted.cost_usd,
        more_cost_usd: None,
        more_tokens: None,
        turns: wanted.turns.map(count),
        starts: wanted.starts.as_ref().map_or(usual.starts, starts),
        ..usual
    };
    match budget.find_invalid() {
        Some((field, must)) => Err(ApiError::field("budget", format!("{field} must be {must}"))),
        None => Ok(Some(budget)),
    }
}

/// What the agent may do: what the caller says, and at most what the caller may do.
async fn spawn_rights(app: &AppState, caller: &Caller, value: &NewSpawn) -> Result<RunRights, ApiError> {
    let asked: Option<Permission> = known_word("permission", value.permission.as_deref(), "ask, edits or all")?;
    let usual = RunRights::default();
    let is_demo = value.agent.as_deref() == Some(DEMO_AGENT);
    let demo = if is_demo { DemoAgentUse::Named } else { usual.demo };
    let wanted = RunRights { permission: asked.unwrap_or(usual.permission), demo };
    rights::within_limit(app, caller, wanted, asked.is_some()).await
}

/// The answer to a request that was refused.
fn refused(refusal: SpawnRefusal) -> ApiError {
    let message = refusal.to_string();
    let not_found = |code, details| ApiError::new(StatusCode::NOT_FOUND, code, message.clone()).with(details);
    match refusal {
        SpawnRefusal::NoParent { id, .. } => not_found("parent_session_not_found", json!({ "sessionId": id.as_str() })),
        SpawnRefusal::NoTask { id, .. } => not_found("task_not_found", json!({ "taskId": id.as_str() })),
        SpawnRefusal::NoProject { id, .. } => not_found("project_not_found", json!({ "projectId": id.as_str() })),
        SpawnRefusal::InvalidRole => bad_request("invalid_role", &message),
        SpawnRefusal::InvalidStrategy => bad_request("invalid_strategy", &message),
        SpawnRefusal::NotParent(_) => ApiError::forbidden(message),
        SpawnRefusal::ForeignTask(_) => StoreError::Rule(message).into(),
        SpawnRefusal::Manifest(_) => {
            ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, "manifest_generation_failed", message)
        }
        SpawnRefusal::Store(error) => error.into(),
        SpawnRefusal::Failed(_) => ApiError::internal(message),
    }
}

fn bad_request(code: &'static str, message: &str) -> ApiError {
    ApiError::new(StatusCode::BAD_REQUEST, code, message)
}

fn message(starter: ClaimPolicy) -> &'static str {
    match starter {
        ClaimPolicy::AnyWorker => "A worker starts the agent as soon as it is free",
        ClaimPolicy::SpecificSession => "Spawn request sent to Agents UI",
    }
}

fn skill_problem(MissingSkill { name, reason }: MissingSkill) -> SkillProblem {
    SkillProblem { name, reason }
}
