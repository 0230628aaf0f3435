//! Skills over HTTP: the shapes of the original, and additions.

use std::path::PathBuf;

use axum::extract::{Path, State};
use axum::{Json, Router, routing};
use maestro_api::ErrorBody;
use maestro_api::skills::{CatalogueQuery, HiddenSkill, SkillBody, SkillDiagnostics, SkillRequest};
use maestro_api::words::{RoleWord, SkillName};
use maestro_core::event::Event;
use maestro_core::id::ProjectId;
use maestro_core::plan::skill_hints;
use maestro_core::{Role, RunId, Settings, SkillSelection, StepKind};
use maestro_engine::{Freshness, ProjectSkills, host};
use maestro_skills::render::{Part, References, body};
use maestro_skills::{Catalogue, Lookup, Selector, Skill, TaskNeeds, for_role};
use maestro_store::{ProjectById, Record, Scope};
use serde_json::json;
use utoipa::OpenApi;

use super::Failures;
use crate::app::App;
use crate::error::ApiError;
use crate::extract::{Asked, Sent, required, word};

pub(super) fn routes() -> Router<App> {
    Router::new()
        .route("/api/skills", routing::get(list))
        .route("/api/skills/{id}", routing::get(get))
        .route("/api/skills/{id}/reload", routing::post(reload))
        .route("/api/skills/role/{role}", routing::get(of_role))
        .route("/api/skills/diagnostics", routing::get(diagnostics))
        .route("/api/skills/select", routing::post(select))
}

/// What describes them.
#[derive(OpenApi)]
#[openapi(paths(list, get, reload, of_role, diagnostics, select))]
pub(super) struct Document;

fn skill_body(skill: &Skill) -> SkillBody {
    SkillBody {
        id: skill.id.to_string(),
        name: skill.display_name.clone(),
        description: skill.description.clone(),
        kind: skill.kind.to_string(),
        version: skill.version.clone(),
        skill_id: None,
        instructions: None,
        reloaded: None,
    }
}

/// The skills there are, sorted by id; none when there are none, whatever is wrong
#[utoipa::path(get, path = "/api/skills", tag = "skills", params(CatalogueQuery),
    responses((status = 200, body = [SkillBody]), Failures))]
async fn list(State(app): State<App>, Asked(whose): Asked<CatalogueQuery>) -> Result<Json<Vec<SkillBody>>, ApiError> {
    let directory = directory(&app, whose.project_id.as_deref()).await?;
    // Where no place can be looked at there is nothing; `diagnostics` says why.
    let Ok(shelf) = look(&app, directory, Freshness::Kept).await else { return Ok(Json(Vec::new())) };
    let mut skills: Vec<SkillBody> = shelf.catalogue.skills.iter().map(|entry| skill_body(entry.skill())).collect();
    skills.sort_by(|one, other| one.id.cmp(&other.id));
    Ok(Json(skills))
}

/// The shelf of a project, or of where the server was started.
pub(super) async fn shelf(app: &App, project: Option<&str>, freshness: Freshness) -> Result<ProjectSkills, ApiError> {
    let directory = directory(app, project).await?;
    look(app, directory, freshness).await
}

pub(super) async fn directory(app: &App, project: Option<&str>) -> Result<Option<PathBuf>, ApiError> {
    Ok(match word::<ProjectId>("projectId", project)? {
        Some(id) => Some(PathBuf::from(app.store.read(ProjectById(id)).await?.working_dir)),
        None => None,
    })
}

pub(super) async fn look(
    app: &App,
    directory: Option<PathBuf>,
    freshness: Freshness,
) -> Result<ProjectSkills, ApiError> {
    let found = host::ask(&app.host, move |host| host.skills(directory.as_deref(), freshness)).await;
    found.map_err(|error| ApiError::internal(error.to_string()))
}

/// One skill with its text; by id, directory or a unique display name
#[utoipa::path(get, path = "/api/skills/{id}", tag = "skills", params(("id" = SkillName, Path), CatalogueQuery),
    responses((status = 200, body = SkillBody), Failures,
        (status = 500, description = "The skill is there and cannot be loaded", body = ErrorBody)))]
async fn get(
    State(app): State<App>,
    Path(name): Path<String>,
    Asked(whose): Asked<CatalogueQuery>,
) -> Result<Json<SkillBody>, ApiError> {
    one(&app, name, whose, Freshness::Kept).await.map(Json)
}

/// Read a skill from the disk again
#[utoipa::path(post, path = "/api/skills/{id}/reload", tag = "skills", params(("id" = SkillName, Path), CatalogueQuery),
    responses((status = 200, body = SkillBody), Failures,
        (status = 500, description = "The skill is there and cannot be loaded", body = ErrorBody),
        (status = 501, description = "Never sent: skills can always be read again", body = ErrorBody)))]
async fn reload(
    State(app): State<App>,
    Path(name): Path<String>,
    Asked(whose): Asked<CatalogueQuery>,
) -> Result<Json<SkillBody>, ApiError> {
    let skill = one(&app, name, whose, Freshness::Reread).await?;
    Ok(Json(SkillBody { instructions: None, reloaded: Some(true), ..skill }))
}

async fn one(app: &App, name: String, whose: CatalogueQuery, freshness: Freshness) -> Result<SkillBody, ApiError> {
    let shelf = shelf(app, whose.project_id.as_deref(), freshness).await?;
    let read = move || -> Result<SkillBody, ApiError> {
        let skill = find(&shelf.catalogue, &name)?;
        let text = match skill.instructions {
            Some(_) => {
                body(skill, Part::Body, References::Leave, usize::MAX)
                    .map_err(|error| ApiError::internal(format!("the text of `{name}` cannot be read: {error}")))?
                    .text
            }
            None => String::new(),
        };
        Ok(SkillBody { instructions: Some(text), ..skill_body(skill) })
    };
    tokio::task::spawn_blocking(read).await.map_err(|error| ApiError::internal(error.to_string()))?
}

fn find<'a>(catalogue: &'a Catalogue, name: &str) -> Result<&'a Skill, ApiError> {
    match catalogue.find(name) {
        Lookup::Found(skill) => Ok(skill),
        Lookup::Broken(broken) => {
            let why: Vec<String> = catalogue.problems_of(&broken.path).map(|problem| problem.message.clone()).collect();
            Err(ApiError::internal(format!("Failed to load skill {name}: {}", why.join("; "))))
        }
        Lookup::Ambiguous(_) | Lookup::Missing { .. } => Err(ApiError::not_found(format!("Skill not found: {name}"))),
    }
}

/// The skills that a role's sessions get, dependencies first
#[utoipa::path(get, path = "/api/skills/role/{role}", tag = "skills", params(("role" = RoleWord, Path), CatalogueQuery),
    responses((status = 200, body = [SkillBody]), Failures))]
async fn of_role(
    State(app): State<App>,
    Path(role): Path<String>,
    Asked(whose): Asked<CatalogueQuery>,
) -> Result<Json<Vec<SkillBody>>, ApiError> {
    let role: Role =
        role.parse().map_err(|error: maestro_core::role::UnknownRole| ApiError::invalid(error.to_string()))?;
    let shelf = shelf(&app, whose.project_id.as_deref(), Freshness::Kept).await?;
    let shown = |skill: &&Skill| SkillBody {
        id: skill.display_name.clone(),
        skill_id: Some(skill.id.to_string()),
        ..skill_body(skill)
    };
    Ok(Json(for_role(&shelf.catalogue, role).skills.iter().map(shown).collect()))
}

/// What is wrong with skills, and which are hidden by others
#[utoipa::path(get, path = "/api/skills/diagnostics", tag = "skills", params(CatalogueQuery),
    responses((status = 200, body = SkillDiagnostics), Failures))]
async fn diagnostics(
    State(app): State<App>,
    Asked(whose): Asked<CatalogueQuery>,
) -> Result<Json<SkillDiagnostics>, ApiError> {
    let catalogue = shelf(&app, whose.project_id.as_deref(), Freshness::Kept).await?.catalogue;
    let shadowed = catalogue.shadowed.iter().map(|hidden| HiddenSkill {
        id: hidden.skill.id().to_owned(),
        path: hidden.skill.path().to_string_lossy().into_owned(),
        shadowed_by: hidden.shadowed_by.to_string_lossy().into_owned(),
    });
    Ok(Json(SkillDiagnostics {
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
    responses((status = 200, body = Object), Failures))]
async fn select(
    State(app): State<App>,
    Sent { value, .. }: Sent<SkillRequest>,
) -> Result<Json<SkillSelection>, ApiError> {
    let task = requested_task(&value)?;
    let shelf = shelf(&app, value.project_id.as_deref(), Freshness::Kept).await?;
    let (step, most) = requested_step(&value, &shelf.settings)?;
    let run = fresh_run();
    let choose = move || choose(&shelf, run, &task, step, most);
    let chosen = tokio::task::spawn_blocking(choose).await.map_err(|error| ApiError::internal(error.to_string()))?;
    record(&app, value.project_id.as_deref(), vec![Event::SkillsSelected(chosen.clone())]).await?;
    Ok(Json(chosen))
}

/// An id for a selection that belongs to no run.
pub(crate) fn fresh_run() -> RunId {
    RunId::new(uuid::Uuid::now_v7())
}

/// The skills of a shelf for a task.
pub(crate) fn choose(shelf: &ProjectSkills, run: RunId, task: &str, step: StepKind, most: usize) -> SkillSelection {
    let hints = skill_hints(task);
    let needs = TaskNeeds { label: task, hints: &hints, step, most };
    Selector::for_task(shelf.catalogue.clone(), task).select(run, needs).record
}

/// Appends what happened to skills to the log, and counts it.
pub(super) async fn record(app: &App, project: Option<&str>, events: Vec<Event>) -> Result<(), ApiError> {
    for event in &events {
        app.heard(event);
    }
    let project = word::<ProjectId>("projectId", project)?;
    let scope = project.map(|id| Scope::project(&id)).unwrap_or_default();
    app.store.write(Record { scope, events }).await?;
    Ok(())
}
