//! Preview of an agent's prompt for a task, over HTTP.

use axum::extract::State;
use axum::{Router, routing};
use maestro_api::skills::SkillRequest;
use maestro_core::plan::{TaskSelection, skill_hints};
use maestro_engine::Freshness;
use maestro_skills::render::tokens;
use maestro_skills::{SkillSelector, TaskNeeds, TaskPrompt, task_prompt};
use serde_json::{Value as Json_, json};

use utoipa::OpenApi;

use super::ApiFailures;
use super::skills::{fresh_run, project_skills, record, requested_step, requested_task};
use crate::app::AppState;
use crate::caller::Caller;
use crate::error::ApiError;
use crate::extract::{JsonBody, parse_word};
use crate::json_reply::JsonReply;

pub(super) fn routes() -> Router<AppState> {
    Router::new().route("/api/prompts", routing::post(prompt))
}

/// What describes them.
#[derive(OpenApi)]
#[openapi(paths(prompt))]
pub(super) struct PromptsApiDoc;

/// The exact prompt an agent would receive for a task
#[utoipa::path(post, path = "/api/prompts", tag = "skills", request_body = SkillRequest,
    responses((status = 200, body = Object), ApiFailures))]
async fn prompt(
    State(app): State<AppState>,
    caller: Caller,
    JsonBody { value, .. }: JsonBody<SkillRequest>,
) -> Result<JsonReply<Json_>, ApiError> {
    caller.check_project(parse_word("projectId", value.project_id.as_deref())?.as_ref())?;
    let label = requested_task(&value)?.split_whitespace().collect::<Vec<_>>().join(" ");
    let shelf = project_skills(&app, value.project_id.as_deref(), Freshness::Kept).await?;
    let (step, most) = requested_step(&value, &shelf.settings)?;
    let run = fresh_run();
    let make = move || -> TaskPrompt {
        let task = TaskSelection { skill_hints: skill_hints(&label), label, line_number: 1, section: None };
        let needs = TaskNeeds { label: &task.label, hints: &task.skill_hints, step, most };
        let selection = SkillSelector::for_task(shelf.catalogue.clone(), &task.label).select(run, needs);
        task_prompt(&task, None, &selection, &shelf.catalogue, shelf.prompt_limits())
    };
    let prompt = tokio::task::spawn_blocking(make).await.map_err(|error| ApiError::internal(error.to_string()))?;
    let answer = json!({
        "text": prompt.text,
        "tokens": tokens(&prompt.text),
        "events": prompt.events,
        "cut": prompt.cut,
        "left_out": prompt.left_out,
    });
    record(&app, value.project_id.as_deref(), prompt.events).await?;
    Ok(JsonReply(answer))
}
