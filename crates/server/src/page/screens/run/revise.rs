//! Forms that let a run go on: try again, perhaps with another agent, and more work on what a run left.

use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::post;
use maestro_api::runs::NewRun;
use maestro_core::agent::DEMO_AGENT;
use maestro_core::excerpt;
use maestro_core::{RunId, WorkState};
use maestro_engine::branches::RunBranch;
use maestro_engine::runs::ResumeOrder;
use maestro_store::RunById;
use serde_json::{Map, Value as Json, json};

use super::super::work::forms::{FilledPairs, FormPairs};
use crate::api::{RunDecision, RunPath, apply_decision, start_run};
use crate::app::AppState;
use crate::caller::Caller;
use crate::error::ApiError;
use crate::extract::required;
use crate::page::failure;
use crate::page::forms::redirect_back;
use crate::page::run_overview::read_runs;

/// How much of a person's words becomes the name of the task, and so the message of its commit.
const TASK_CHARS: usize = 500;
/// How many commits are named to the agent.
const COMMITS: usize = 50;

/// The routes of these forms.
pub(in crate::page) fn routes() -> Router<AppState> {
    Router::new().route("/page/runs/{id}/retry", post(retry)).route("/page/runs/{id}/revise", post(revise))
}

async fn retry(State(app): State<AppState>, caller: Caller, RunPath(id): RunPath, filled: FilledPairs) -> Response {
    let fields = match FormPairs::of(filled) {
        Ok(fields) => fields,
        Err(error) => return failure(&error),
    };
    let done = async {
        caller.require_person("use the page")?;
        let mut params = Map::new();
        if let Some(agent) = fields.filled("agent") {
            params.insert("agent".to_owned(), json!(agent));
            // A model belongs to its agent: another one decides for itself.
            if names_model(&app, id).await? {
                params.insert("model".to_owned(), json!(""));
            }
        }
        let order = ResumeOrder { params, note: fields.filled("note") };
        apply_decision(&app, id, RunDecision::Retry(order)).await
    };
    redirect_back(fields.back(), done.await)
}

async fn names_model(app: &AppState, id: RunId) -> Result<bool, ApiError> {
    let record = app.store.read(RunById(id)).await?;
    Ok(read_runs(app, vec![record]).await?.iter().any(|run| !run.models().0.is_empty()))
}

async fn revise(State(app): State<AppState>, caller: Caller, RunPath(id): RunPath, filled: FilledPairs) -> Response {
    let fields = match FormPairs::of(filled) {
        Ok(fields) => fields,
        Err(error) => return failure(&error),
    };
    let made = async {
        caller.require_person("use the page")?;
        let words = required(fields.get("text"), "Not sent: the text is empty.")?;
        start_revision(&app, &caller, id, &words).await
    };
    match made.await {
        Ok(run) => Redirect::to(&format!("/runs/{run}")).into_response(),
        Err(error) => failure(&error),
    }
}

/// Starts a run that goes on with the branch of one that is over, with a person's words as what to fix first.
pub(super) async fn start_revision(app: &AppState, caller: &Caller, id: RunId, words: &str) -> Result<RunId, ApiError> {
    let record = app.store.read(RunById(id)).await?;
    let run = read_runs(app, vec![record]).await?.pop().ok_or_else(|| ApiError::not_found("there is no such run"))?;
    let refused = |why: String| ApiError::new(StatusCode::CONFLICT, "REFUSED", why);
    if !run.record.run.is_over() {
        return Err(refused("The run is still active.".to_owned()));
    }
    let owner = run.branch_owner();
    let (workspace, name) = (std::path::PathBuf::from(&run.summary.workspace), owner.clone());
    let read = move || RunBranch::of_run(&workspace, &name).and_then(|branch| branch.commits());
    let commits = tokio::task::spawn_blocking(read).await.map_err(|error| ApiError::internal(error.to_string()))?;
    let commits = commits.map_err(|error| refused(format!("Not started: {error}.")))?;
    let agent = run.agent().unwrap_or_default().to_owned();
    let (reviewer, permission) = run.review_params();
    let (model, reviewer_model) = run.models();
    let permission = if permission.is_empty() { "edits" } else { permission };
    let is_demo = [agent.as_str(), reviewer].contains(&DEMO_AGENT);
    let items = format!("{words}\n{}", work_so_far(&commits));
    let task = excerpt::ellipsize(&excerpt::one_line(words), TASK_CHARS);
    let mut params = params_of(&json!({
        "continues": owner, "items": items, "agent": agent, "reviewer": reviewer, "permission": permission,
        "model": model, "reviewer_model": reviewer_model,
        "worktree": true, "review": true, "skills": "auto", "checks": run.runs_checks(),
    }));
    // What stopped goes on with its plan or its task; what is done gets another task.
    let stopped = run.summary.state == WorkState::Stopped;
    match run.plan_place().filter(|_| stopped) {
        Some((plan, _)) => drop(params.insert("plan".to_owned(), json!(plan))),
        None => drop(params.insert("only".to_owned(), json!(task))),
    }
    let order = NewRun {
        workflow: Some("plan-loop".to_owned()),
        builtin: Some(true),
        params: Some(params),
        project_id: run.record.about.project.as_ref().map(ToString::to_string),
        workspace: Some(run.summary.workspace.clone()),
        driver: Some("server".to_owned()),
        permission: Some(permission.to_owned()),
        demo: Some(is_demo),
        ..NewRun::default()
    };
    start_run(app, caller, order).await
}

fn params_of(value: &Json) -> Map<String, Json> {
    value.as_object().cloned().unwrap_or_default()
}

/// What the agent should know of the branch.
fn work_so_far(commits: &[String]) -> String {
    let shown: Vec<String> = commits.iter().rev().take(COMMITS).map(|commit| format!("- {commit}")).collect();
    if shown.is_empty() {
        return String::new();
    }
    format!("This is about the work on this branch. Its commits, newest first:\n{}", shown.join("\n"))
}
