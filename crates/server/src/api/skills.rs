//! Skills over HTTP: the shapes of the original, and additions.

use std::path::PathBuf;

use axum::extract::{Path, State};
use axum::{Router, routing};
use maestro_api::ErrorBody;
use maestro_api::schemas::{RoleWord, SkillName};
use maestro_api::skill_trials::{TaskTrial, TrialDepth, TrialNotes, TrialQuery};
use maestro_api::skills::{CatalogueQuery, HiddenSkill, SkillBody, SkillDiagnostics, SkillRequest};
use maestro_core::event::Event;
use maestro_core::id::ProjectId;
use maestro_core::plan::skill_hints;
use maestro_core::{RunId, SessionRole, Settings, SkillSelection, StepKind};
use maestro_engine::{Freshness, ProjectSkills, host};
use maestro_skills::render::{BodyPart, ReferenceMode, body};
use maestro_skills::{Catalogue, CatalogueEntry, NameLookup, Skill, SkillSelector, TaskNeeds, skills_for_role};
use maestro_store::{EventScope, ProjectById, RecordEvents};
use serde_json::json;
use utoipa::OpenApi;

use super::ApiFailures;
use crate::app::AppState;
use crate::caller::Caller;
use crate::error::ApiError;
use crate::extract::{JsonBody, UrlQuery, parse_word, required};
use crate::json_reply::JsonReply;

pub(super) fn routes() -> Router<AppState> {
    Router::new()
        .route("/api/skills", routing::get(list))
        .route("/api/skills/{id}", routing::get(get))
        .route("/api/skills/{id}/reload", routing::post(reload))
        .route("/api/skills/role/{role}", routing::get(role_skills))
        .route("/api/skills/diagnostics", routing::get(diagnostics))
        .route("/api/skills/select", routing::post(select))
        .route("/api/skills/try", routing::get(try_task))
}

/// What describes them.
#[derive(OpenApi)]
#[openapi(paths(list, get, reload, role_skills, diagnostics, select, try_task))]
pub(super) struct SkillsApiDoc;

fn skill_body(skill: &Skill) -> SkillBody {
    SkillBody {
        id: skill.id.to_string(),
        name: skill.display_name.clone(),
        description: skill.description.clone(),
        kind: skill.kind.to_string(),
        version: skill.version.clone(),
        skill_id: None,
        owner: None,
        instructions: None,
        reloaded: None,
    }
}

/// The skills there are, sorted by id; none when there are none, whatever is wrong
#[utoipa::path(get, path = "/api/skills", tag = "skills", params(CatalogueQuery),
    responses((status = 200, body = [SkillBody]), ApiFailures))]
async fn list(
    State(app): State<AppState>,
    UrlQuery(whose): UrlQuery<CatalogueQuery>,
) -> Result<JsonReply<Vec<SkillBody>>, ApiError> {
    let directory = directory(&app, whose.project_id.as_deref()).await?;
    // Where no place can be looked at there is nothing; `diagnostics` says why.
    let Ok(shelf) = read_skills(&app, directory, Freshness::Kept).await else { return Ok(JsonReply(Vec::new())) };
    let mut skills: Vec<SkillBody> = shelf.catalogue.skills.iter().map(|entry| skill_body(entry.skill())).collect();
    skills.sort_by(|one, other| one.id.cmp(&other.id));
    Ok(JsonReply(skills))
}

/// The shelf of a project, or of where the server was started.
pub(super) async fn project_skills(
    app: &AppState,
    project: Option<&str>,
    freshness: Freshness,
) -> Result<ProjectSkills, ApiError> {
    let directory = directory(app, project).await?;
    read_skills(app, directory, freshness).await
}

pub(super) async fn directory(app: &AppState, project: Option<&str>) -> Result<Option<PathBuf>, ApiError> {
    Ok(match parse_word::<ProjectId>("projectId", project)? {
        Some(id) => Some(PathBuf::from(app.store.read(ProjectById(id)).await?.working_dir)),
        None => None,
    })
}

pub(super) async fn read_skills(
    app: &AppState,
    directory: Option<PathBuf>,
    freshness: Freshness,
) -> Result<ProjectSkills, ApiError> {
    let found = host::ask(&app.host, move |host| host.skills(directory.as_deref(), freshness)).await;
    found.map_err(|error| ApiError::internal(error.to_string()))
}

/// One skill with its text; by id, directory or a unique display name
#[utoipa::path(get, path = "/api/skills/{id}", tag = "skills", params(("id" = SkillName, Path), CatalogueQuery),
    responses((status = 200, body = SkillBody), ApiFailures,
        (status = 500, description = "The skill is there and cannot be loaded", body = ErrorBody)))]
async fn get(
    State(app): State<AppState>,
    Path(name): Path<String>,
    UrlQuery(whose): UrlQuery<CatalogueQuery>,
) -> Result<JsonReply<SkillBody>, ApiError> {
    find_one(&app, name, whose, Freshness::Kept).await.map(JsonReply)
}

/// Read a skill from the disk again
#[utoipa::path(post, path = "/api/skills/{id}/reload", tag = "skills", params(("id" = SkillName, Path), CatalogueQuery),
    responses((status = 200, body = SkillBody), ApiFailures,
        (status = 500, description = "The skill is there and cannot be loaded", body = ErrorBody),
        (status = 501, description = "Never sent: skills can always be read again", body = ErrorBody)))]
async fn reload(
    State(app): State<AppState>,
    Path(name): Path<String>,
    UrlQuery(whose): UrlQuery<CatalogueQuery>,
) -> Result<JsonReply<SkillBody>, ApiError> {
    let skill = find_one(&app, name, whose, Freshness::Reread).await?;
    Ok(JsonReply(SkillBody { instructions: None, reloaded: Some(true), ..skill }))
}

async fn find_one(
    app: &AppState,
    name: String,
    whose: CatalogueQuery,
    freshness: Freshness,
) -> Result<SkillBody, ApiError> {
    let shelf = project_skills(app, whose.project_id.as_deref(), freshness).await?;
    let read = move || -> Result<SkillBody, ApiError> {
        let skill = find(&shelf.catalogue, &name)?;
        let text = match skill.instructions {
            Some(_) => {
                body(skill, BodyPart::Body, ReferenceMode::Leave, usize::MAX)
                    .map_err(|error| ApiError::internal(format!("the text of `{name}` cannot be read: {error}")))?
                    .text
            }
            None => String::new(),
        };
        let owner = shelf.catalogue.skill(skill.id.as_str()).and_then(CatalogueEntry::owner);
        let owner = owner.map(|owner| owner.label().into_owned());
        Ok(SkillBody { owner, instructions: Some(text), ..skill_body(skill) })
    };
    tokio::task::spawn_blocking(read).await.map_err(|error| ApiError::internal(error.to_string()))?
}

fn find<'a>(catalogue: &'a Catalogue, name: &str) -> Result<&'a Skill, ApiError> {
    match catalogue.find(name) {
        NameLookup::Found(skill) => Ok(skill),
        NameLookup::Broken(broken) => {
            let why: Vec<String> = catalogue.problems_of(&broken.path).map(|problem| problem.message.clone()).collect();
            Err(ApiError::internal(format!("Failed to load skill {name}: {}", why.join("; "))))
        }
        NameLookup::Ambiguous(_) | NameLookup::Missing { .. } => {
            Err(ApiError::not_found(format!("Skill not found: {name}")))
        }
    }
}

/// The skills that a role's sessions get, dependencies first
#[utoipa::path(get, path = "/api/skills/role/{role}", tag = "skills", params(("role" = RoleWord, Path), CatalogueQuery),
    responses((status = 200, body = [SkillBody]), ApiFailures))]
async fn role_skills(
    State(app): State<AppState>,
    Path(role): Path<String>,
    UrlQuery(whose): UrlQuery<CatalogueQuery>,
) -> Result<JsonReply<Vec<SkillBody>>, ApiError> {
    let role: SessionRole =
        role.parse().map_err(|error: maestro_core::role::UnknownRole| ApiError::invalid(error.to_string()))?;
    let shelf = project_skills(&app, whose.project_id.as_deref(), Freshness::Kept).await?;
    let shown = |skill: &&Skill| SkillBody {
        id: skill.display_name.clone(),
        skill_id: Some(skill.id.to_string()),
        ..skill_body(skill)
    };
    Ok(JsonReply(skills_for_role(&shelf.catalogue, role).skills.iter().map(shown).collect()))
}

/// What is wrong with skills, and which are hidden by others
#[utoipa::path(get, path = "/api/skills/diagnostics", tag = "skills", params(CatalogueQuery),
    responses((status = 200, body = SkillDiagnostics), ApiFailures))]
async fn diagnostics(
    State(app): State<AppState>,
    UrlQuery(whose): UrlQuery<CatalogueQuery>,
) -> Result<JsonReply<SkillDiagnostics>, ApiError> {
    let catalogue = project_skills(&app, whose.project_id.as_deref(), Freshness::Kept).await?.catalogue;
    let shadowed = catalogue.shadowed.iter().map(|hidden| HiddenSkill {
        id: hidden.skill.id().to_owned(),
        path: hidden.skill.path().to_string_lossy().into_owned(),
        shadowed_by: hidden.shadowed_by.to_string_lossy().into_owned(),
    });
    Ok(JsonReply(SkillDiagnostics {
        problems: catalogue.problems.iter().map(|problem| json!(problem)).collect(),
        shadowed: shadowed.collect(),
        not_loaded: catalogue.broken.iter().map(|broken| broken.path.to_string_lossy().into_owned()).collect(),
        roots: json!(catalogue.roots),
    }))
}

pub(super) fn requested_task(request: &SkillRequest) -> Result<String, ApiError> {
    required(request.task.clone(), "task is required")
}

/// The kind of step, and how many skills the settings allow it.
pub(super) fn requested_step(request: &SkillRequest, settings: &Settings) -> Result<(StepKind, usize), ApiError> {
    match request.step.as_deref() {
        None | Some("implementation") => Ok((StepKind::Implementation, settings.skills_max_selected_impl.value.into())),
        Some("review") => Ok((StepKind::Review, settings.skills_max_selected_review.value.into())),
        Some(_) => Err(ApiError::field("step", "must be one of implementation, review")),
    }
}

/// Choose the skills for a task
#[utoipa::path(post, path = "/api/skills/select", tag = "skills", request_body = SkillRequest,
    responses((status = 200, body = Object), ApiFailures))]
async fn select(
    State(app): State<AppState>,
    caller: Caller,
    JsonBody { value, .. }: JsonBody<SkillRequest>,
) -> Result<JsonReply<SkillSelection>, ApiError> {
    caller.check_project(parse_word("projectId", value.project_id.as_deref())?.as_ref())?;
    let task = requested_task(&value)?;
    let shelf = project_skills(&app, value.project_id.as_deref(), Freshness::Kept).await?;
    let (step, most) = requested_step(&value, &shelf.settings)?;
    let run = fresh_run();
    let choose = move || choose(&shelf, run, &task, step, most);
    let chosen = tokio::task::spawn_blocking(choose).await.map_err(|error| ApiError::internal(error.to_string()))?;
    record(&app, value.project_id.as_deref(), vec![Event::SkillsSelected(chosen.clone())]).await?;
    Ok(JsonReply(chosen))
}

/// Try a task: the skills that it would get, those that come close, and what decides; nothing is recorded
#[utoipa::path(get, path = "/api/skills/try", tag = "skills", params(TrialQuery),
    responses((status = 200, body = TaskTrial), ApiFailures))]
async fn try_task(
    State(app): State<AppState>,
    caller: Caller,
    UrlQuery(query): UrlQuery<TrialQuery>,
) -> Result<JsonReply<TaskTrial>, ApiError> {
    caller.check_project(parse_word("projectId", query.project_id.as_deref())?.as_ref())?;
    let request = SkillRequest { task: query.task, step: query.step, project_id: query.project_id };
    let task = requested_task(&request)?;
    let shelf = project_skills(&app, request.project_id.as_deref(), Freshness::Kept).await?;
    let (step, most) = requested_step(&request, &shelf.settings)?;
    let explain = move || try_on(&shelf, &task, step, most);
    let trial = tokio::task::spawn_blocking(explain).await.map_err(|error| ApiError::internal(error.to_string()))?;
    Ok(JsonReply(trial))
}

/// The trial of a task on the skills of a shelf; nothing is recorded.
pub(crate) fn try_on(shelf: &ProjectSkills, task: &str, step: StepKind, most: usize) -> TaskTrial {
    let selection = choose(shelf, fresh_run(), task, step, most);
    let selector = SkillSelector::for_task(shelf.catalogue.clone(), task);
    TaskTrial::new(selection, |name, depth| trial_notes(&selector, &shelf.catalogue, task, name, depth))
}

fn trial_notes(
    selector: &SkillSelector,
    catalogue: &Catalogue,
    task: &str,
    name: &str,
    depth: TrialDepth,
) -> TrialNotes {
    let Some(skill) = catalogue.get(name) else { return TrialNotes::default() };
    let phrases = match depth {
        TrialDepth::Brief => Vec::new(),
        TrialDepth::Phrases => selector.nearest_phrases(task, skill),
    };
    TrialNotes { description: skill.description.clone(), phrases }
}

/// An id for a selection that belongs to no run.
pub(crate) fn fresh_run() -> RunId {
    RunId::new(uuid::Uuid::now_v7())
}

/// The skills of a shelf for a task.
pub(crate) fn choose(shelf: &ProjectSkills, run: RunId, task: &str, step: StepKind, most: usize) -> SkillSelection {
    let hints = skill_hints(task);
    let needs = TaskNeeds { label: task, hints: &hints, step, most };
    SkillSelector::for_task(shelf.catalogue.clone(), task).select(run, needs).record
}

/// Appends what happened to skills to the log, and counts it.
pub(super) async fn record(app: &AppState, project: Option<&str>, events: Vec<Event>) -> Result<(), ApiError> {
    for event in &events {
        app.record_skill_events(event);
    }
    let project = parse_word::<ProjectId>("projectId", project)?;
    let scope = project.map(|id| EventScope::project(&id)).unwrap_or_default();
    app.store.write(RecordEvents { scope, events }).await?;
    Ok(())
}
