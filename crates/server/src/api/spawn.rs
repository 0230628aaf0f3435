//! Requests to start agents, over HTTP.

use std::path::PathBuf;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::{Json, Router, routing};
use maestro_api::spawns::{NewSpawn, SkillProblem, SpawnReply};
use maestro_core::agent::spawn::{SessionLimits, SpawnSpec};
use maestro_core::agent::{DEMO_AGENT, DemoAgentUse, Driver, PROMPT_MAX_CHARS, Permission, RunRights};
use maestro_core::id::{EntityId as _, ProjectId, SessionId, TaskId};
use maestro_core::session::{Approach, Session, SessionStatus};
use maestro_core::task::Task;
use maestro_core::{Project, SessionRole};
use maestro_engine::briefing::{self, DeliveredSkills, MissingSkill, SkillTextLimit};
use maestro_engine::{Freshness, ProjectSkills, host};
use maestro_skills::NameLookup;
use maestro_store::{
    Actor, ClaimPolicy, CreateSession, ProjectById, RequestSpawn, SessionById, SessionHasToken, StoreError, TaskById,
    UpdateSession,
};
use serde_json::{Map, Value as Json_, json};
use utoipa::OpenApi;

use super::skills::{fresh_run, record};
use super::{ApiFailures, rights};
use crate::app::AppState;
use crate::caller::Caller;
use crate::error::ApiError;
use crate::extract::{IdempotencyHeader, JsonBody, parse_word};
use crate::full_session::FullSession;

/// How many skills may be asked for.
const MOST_SKILLS: usize = 100;

pub(super) fn routes() -> Router<AppState> {
    Router::new().route("/api/sessions/spawn", routing::post(spawn))
}

/// What describes them.
#[derive(OpenApi)]
#[openapi(paths(spawn))]
pub(super) struct SpawnApiDoc;

fn spawn_refused(code: &'static str, message: impl Into<String>) -> ApiError {
    ApiError::new(StatusCode::BAD_REQUEST, code, message)
}

fn missing_field(code: &'static str, error: StoreError, details: Json_) -> ApiError {
    match error {
        StoreError::NotFound { .. } => ApiError::new(StatusCode::NOT_FOUND, code, error.to_string()).with(details),
        other => other.into(),
    }
}

/// What was asked for, made sure of in the order of the original.
struct SpawnRequest {
    project: Project,
    tasks: Vec<Task>,
    role: SessionRole,
    strategy: Approach,
    source: &'static str,
    parent: Option<SessionId>,
}

async fn validate(app: &AppState, caller: &Caller, value: &NewSpawn) -> Result<SpawnRequest, ApiError> {
    let project = value.project_id.as_deref().filter(|id| !id.is_empty());
    let project = project.ok_or_else(|| spawn_refused("missing_project_id", "projectId is required"))?;
    let tasks = value.task_ids.as_deref().unwrap_or_default();
    if tasks.is_empty() {
        return Err(spawn_refused("invalid_task_ids", "taskIds must be a non-empty array"));
    }
    let source = match value.spawn_source.as_deref() {
        None | Some("ui") => "ui",
        Some("session") => "session",
        Some(_) => return Err(spawn_refused("invalid_spawn_source", "spawnSource must be \"ui\" or \"session\"")),
    };
    let named = value.session_id.as_deref().filter(|id| !id.is_empty());
    if source == "session" && named.is_none() && caller.session_id().is_none() {
        return Err(spawn_refused("missing_session_id", "sessionId is required when spawnSource is \"session\""));
    }
    let parent = match (named, caller.session_id()) {
        (Some(id), _) if source == "session" => Some(parse_word::<SessionId>("sessionId", Some(id))?),
        (_, session) => session.cloned().map(Some),
    };
    let parent = parent.flatten();
    if let Some(parent) = &parent {
        let found = app.store.read(SessionById(parent.clone())).await;
        found.map_err(|error| {
            missing_field("parent_session_not_found", error, json!({ "sessionId": parent.as_str() }))
        })?;
        if caller.session_id() != Some(parent) && app.store.read(SessionHasToken(parent.clone())).await? {
            return Err(ApiError::forbidden(format!(
                "only session '{parent}' itself, by its token, starts agents for it"
            )));
        }
    }
    let role = match value.role.as_deref() {
        None => SessionRole::Worker,
        Some(role) => {
            role.parse().map_err(|_| spawn_refused("invalid_role", "role must be \"worker\" or \"orchestrator\""))?
        }
    };
    let mut found = Vec::new();
    for id in tasks {
        let task = TaskId::parse(id).map_err(|error| ApiError::field("taskIds", error))?;
        let read = app.store.read(TaskById(task)).await;
        found.push(read.map_err(|error| missing_field("task_not_found", error, json!({ "taskId": id })))?);
    }
    let id = ProjectId::parse(project).map_err(|error| ApiError::field("projectId", error))?;
    caller.check_project(Some(&id))?;
    let read = app.store.read(ProjectById(id)).await;
    let project = read.map_err(|error| missing_field("project_not_found", error, json!({ "projectId": project })))?;
    let strategy = match value.strategy.as_deref() {
        None => Approach::Simple,
        Some(word) => {
            word.parse().map_err(|_| spawn_refused("invalid_strategy", "strategy must be simple, queue or tree"))?
        }
    };
    if let Some(task) = found.iter().find(|task| task.project != project.id) {
        return Err(ApiError::field("taskIds", format!("task '{}' belongs to another project", task.id)));
    }
    Ok(SpawnRequest { project, tasks: found, role, strategy, source, parent })
}

/// A word of the request, as what it stands for.
fn parse_known_word<T: std::str::FromStr>(
    field: &'static str,
    value: Option<&str>,
    known: &str,
) -> Result<Option<T>, ApiError> {
    let parsed = value.map(|value| value.parse().map_err(|_| ApiError::field(field, format!("must be {known}"))));
    parsed.transpose()
}

/// Start an agent for tasks
#[utoipa::path(post, path = "/api/sessions/spawn", tag = "sessions", request_body = NewSpawn, params(IdempotencyHeader),
    responses((status = 201, body = SpawnReply), ApiFailures))]
async fn spawn(
    State(app): State<AppState>,
    caller: Caller,
    JsonBody { value, once }: JsonBody<NewSpawn>,
) -> Result<Response, ApiError> {
    caller.refuse_workers("start agents")?;
    let wanted = validate(&app, &caller, &value).await?;
    let shelf = project_skills(&app, &wanted.project.working_dir).await;
    let asked = value.skills.clone().unwrap_or_default();
    if asked.len() > MOST_SKILLS {
        return Err(ApiError::field("skills", format!("must be at most {MOST_SKILLS}")));
    }
    let handed = deliver_skills(shelf.clone(), &wanted, asked.clone()).await?;
    let rights = spawn_rights(&app, &caller, &value).await?;
    let spec = spec(&value, &wanted, rights, shelf.as_ref().ok(), &handed)?;
    let claim_policy = match value.spawn_mode.as_deref() {
        None | Some("worker") => ClaimPolicy::AnyWorker,
        Some("ui") => ClaimPolicy::SpecificSession,
        Some(_) => return Err(ApiError::field("spawnMode", "must be worker or ui")),
    };
    let session = session(&app, &wanted, &value, &asked, &handed)?;
    let request = RequestSpawn {
        session: briefing::compose_environment(session, app.store.make_id()?, &app.facts.endpoints),
        spec: serde_json::to_value(&spec).map_err(|error| ApiError::internal(error.to_string()))?,
        claim_policy,
        limits: limits(&caller, shelf.as_ref().ok()),
    };
    let session = app.store.write_once(request, once).await?;
    write_manifest(&app, &session, &wanted).await?;
    let max_chars = shelf.as_ref().map_or(0, |shelf| shelf.settings.skills_max_body_chars.value);
    record(&app, Some(session.project.as_str()), handed.events(fresh_run(), max_chars)).await?;
    let spawned = SpawnReply {
        success: true,
        session_id: session.id.to_string(),
        manifest_path: app.facts.endpoints.manifest_path(&session.id),
        message: message(claim_policy).to_owned(),
        skill_problems: handed.missing.into_iter().map(skill_problem).collect(),
        session: app.store.read(FullSession(session.id)).await?,
    };
    Ok((StatusCode::CREATED, Json(spawned)).into_response())
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

/// What the agent may do: what the caller says, and at most what the caller may do.
async fn spawn_rights(app: &AppState, caller: &Caller, value: &NewSpawn) -> Result<RunRights, ApiError> {
    let asked: Option<Permission> = parse_known_word("permission", value.permission.as_deref(), "ask, edits or all")?;
    let usual = RunRights::default();
    let is_demo = value.agent.as_deref() == Some(DEMO_AGENT);
    let demo = if is_demo { DemoAgentUse::Named } else { usual.demo };
    let wanted = RunRights { permission: asked.unwrap_or(usual.permission), demo };
    rights::within_limit(app, caller, wanted, asked.is_some()).await
}

/// What is needed to start it.
fn spec(
    value: &NewSpawn,
    wanted: &SpawnRequest,
    rights: RunRights,
    shelf: Option<&ProjectSkills>,
    handed: &DeliveredSkills,
) -> Result<SpawnSpec, ApiError> {
    let usual = || shelf.map(|shelf| shelf.settings.agent.value.clone()).filter(|agent| !agent.is_empty());
    let budget = value.budget.clone().map(serde_json::from_value::<SessionLimits>).transpose();
    let model = wanted.tasks.iter().find_map(|task| task.model.clone());
    Ok(SpawnSpec {
        agent: value.agent.clone().filter(|agent| !agent.is_empty()).or_else(usual),
        driver: parse_known_word::<Driver>("driver", value.driver.as_deref(), "json, acp or text")?,
        model: value.model.clone().or(model),
        workspace: wanted.project.working_dir.clone(),
        skills: handed.skills.clone(),
        prompt: value.prompt.clone(),
        whole: None,
        continues: None,
        prompt_max_chars: shelf.map_or(PROMPT_MAX_CHARS, |shelf| {
            usize::try_from(shelf.settings.prompt_max_chars.value).unwrap_or(PROMPT_MAX_CHARS)
        }),
        permission: rights.permission,
        demo: rights.demo,
        budget: validate_budget(budget.map_err(|error| ApiError::field("budget", error))?.unwrap_or_default())?,
    })
}

/// A budget that something can be done within.
fn validate_budget(budget: SessionLimits) -> Result<SessionLimits, ApiError> {
    match budget.find_invalid() {
        Some((field, must)) => Err(ApiError::field("budget", format!("{field} must be {must}"))),
        None => Ok(budget),
    }
}

/// The session that it is started for.
fn session(
    app: &AppState,
    wanted: &SpawnRequest,
    value: &NewSpawn,
    asked: &[String],
    handed: &DeliveredSkills,
) -> Result<CreateSession, ApiError> {
    let loaded: Vec<&str> = handed.skills.iter().map(|skill| skill.id.as_str()).collect();
    let metadata = json!({
        "skills": asked,
        "loadedSkills": loaded,
        "spawnedBy": wanted.parent.as_ref().map(SessionId::as_str),
        "spawnSource": wanted.source,
        "role": wanted.role,
        "strategy": wanted.strategy.as_str(),
        "context": value.context.clone().unwrap_or_default(),
    });
    let Json_::Object(metadata) = metadata else { return Err(ApiError::internal("metadata is an object")) };
    Ok(CreateSession {
        id: None,
        project: wanted.project.id.clone(),
        tasks: wanted.tasks.iter().map(|task| task.id.clone()).collect(),
        name: value.session_name.clone().filter(|name| !name.trim().is_empty()),
        role: wanted.role,
        agent: value.agent.clone(),
        strategy: wanted.strategy,
        status: SessionStatus::Spawning,
        env: Map::new(),
        metadata,
        parent: wanted.parent.clone(),
        hostname: app.facts.hostname.clone(),
        platform: std::env::consts::OS.to_owned(),
    })
}

/// Writes the file about a session. A session without it is ended at once: its agent would not know what to do.
async fn write_manifest(app: &AppState, session: &Session, wanted: &SpawnRequest) -> Result<(), ApiError> {
    let path = PathBuf::from(app.facts.endpoints.manifest_path(&session.id));
    // The tasks name the session by now; what was read before it was stored does not.
    let mut tasks = Vec::new();
    for task in &session.tasks {
        tasks.push(app.store.read(TaskById(task.clone())).await?);
    }
    let manifest = briefing::session_manifest(session, &wanted.project, &tasks);
    let written = tokio::task::spawn_blocking(move || briefing::write_manifest(&path, &manifest)).await;
    let Err(error) = written.map_err(std::io::Error::other).flatten() else { return Ok(()) };
    let failed =
        UpdateSession { status: Some(SessionStatus::Failed), ..UpdateSession::of(session.id.clone(), Actor::Daemon) };
    app.store.write(failed).await?;
    let message = format!("the file about the session cannot be written: {error}");
    Err(ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, "manifest_generation_failed", message))
}

/// The skills and settings of a directory as they are now, or why they cannot be had: what was written a moment ago
/// counts.
async fn project_skills(app: &AppState, directory: &str) -> Result<ProjectSkills, String> {
    let directory = PathBuf::from(directory);
    let found = host::ask(&app.host, move |host| host.skills(Some(&directory), Freshness::Reread)).await;
    found.map_err(|error| error.to_string())
}

/// The skills that it is handed: those of its role, those that were asked for, those that its tasks name.
async fn deliver_skills(
    shelf: Result<ProjectSkills, String>,
    wanted: &SpawnRequest,
    mut asked: Vec<String>,
) -> Result<DeliveredSkills, ApiError> {
    let shelf = match shelf {
        Ok(shelf) => shelf,
        Err(reason) => {
            let missing = vec![MissingSkill { name: "skills".to_owned(), reason }];
            return Ok(DeliveredSkills { missing, ..DeliveredSkills::default() });
        }
    };
    let role = wanted.role;
    asked.extend(wanted.tasks.iter().flat_map(|task| task.skills.clone()));
    let read = move || {
        let most_chars = shelf.settings.skills_max_body_chars.value;
        let measure = SkillTextLimit { references: shelf.references(), most_chars };
        briefing::skills(&shelf.catalogue, role, &asked, measure)
    };
    tokio::task::spawn_blocking(read).await.map_err(|error| ApiError::internal(error.to_string()))
}

/// How many agents an orchestrator may have at once, by what its skill says.
fn limits(caller: &Caller, shelf: Option<&ProjectSkills>) -> Vec<(String, i64)> {
    let (Actor::Session { role: SessionRole::Orchestrator, .. }, Some(shelf)) = (caller.actor(), shelf) else {
        return Vec::new();
    };
    let NameLookup::Found(skill) = shelf.catalogue.find("maestro-orchestrator") else { return Vec::new() };
    let number = |name: &str| Some((name.to_owned(), skill.config.get(name)?.as_i64()?));
    let alone = skill.config.get("parallelExecution").and_then(Json_::as_bool) == Some(false);
    let alone = alone.then(|| ("parallelExecution".to_owned(), 1));
    alone.into_iter().chain(["maxWorkers", "maxConcurrentTasks"].into_iter().filter_map(number)).collect()
}
