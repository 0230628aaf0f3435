//! Start of a task from the task box: the same run that `maestro do` starts.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use axum::Router;
use axum::extract::rejection::FormRejection;
use axum::extract::{Form, State};
use axum::response::Response;
use axum::routing::{get, post};
use maestro_api::runs::NewRun;
use maestro_core::Settings;
use maestro_core::agent::{BudgetLimit, DEMO_AGENT};
use maestro_core::id::ProjectId;
use maestro_engine::git::Git;
use maestro_engine::host::{self, HostError};
use maestro_engine::{Freshness, Host};
use maestro_store::ProjectById;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json, json};

use super::failure;
use super::forms::{redirect_back, return_path};
use crate::api::start_run;
use crate::app::AppState;
use crate::caller::Caller;
use crate::error::ApiError;
use crate::extract::{UrlQuery, parse_word, required};
use crate::json_reply::JsonReply;

/// The workflow that does a task.
const WORKFLOW: &str = "plan-loop";
/// What agents may do without asking, unless a person says otherwise.
const PERMISSION: &str = "edits";
/// How long a task may be.
const LONGEST: usize = 8000;

pub(super) fn routes() -> Router<AppState> {
    Router::new().route("/page/task", get(choices)).route("/page/task/start", post(start))
}

/// Which project is meant.
#[derive(Debug, Deserialize)]
struct TaskBoxQuery {
    project: Option<String>,
}

/// What can be chosen for a task, the default first.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct TaskChoices {
    agents: Vec<String>,
    permission: &'static str,
    /// What it may cost, in dollars.
    limit: Option<f64>,
    /// Why nothing can be started, where that is known.
    problem: Option<String>,
}

/// `GET /page/task`: what a task of a project would be started with.
async fn choices(
    State(app): State<AppState>,
    caller: Caller,
    UrlQuery(wanted): UrlQuery<TaskBoxQuery>,
) -> Result<JsonReply<TaskChoices>, ApiError> {
    caller.require_person("use the page")?;
    let directory = directory(&app, wanted.project.as_deref()).await?;
    let found = host::ask(&app.host, move |host| look(host, &directory)).await;
    found.map(|(_, choices)| JsonReply(choices)).map_err(|error| ApiError::internal(error.to_string()))
}

async fn directory(app: &AppState, project: Option<&str>) -> Result<PathBuf, ApiError> {
    let id: Option<ProjectId> = parse_word("project", project.filter(|id| !id.is_empty()))?;
    let id = id.ok_or_else(|| ApiError::field("project", "choose a project"))?;
    Ok(PathBuf::from(app.store.read(ProjectById(id)).await?.working_dir))
}

/// The settings of a directory, and what can be chosen there.
fn look(host: &dyn Host, directory: &Path) -> Result<(Arc<Settings>, TaskChoices), HostError> {
    let settings = host.skills(Some(directory), Freshness::Kept)?.settings;
    let known = host.agents(directory);
    let is_there = |program: &String| host.find_program(program).is_some();
    let installed = known.all().iter().filter(|agent| {
        let usable = agent.name != DEMO_AGENT || host.allows_demo(directory);
        usable && agent.drivers().any(|(_, launch)| launch.programs.iter().any(is_there))
    });
    let mut agents: Vec<String> = installed.map(|agent| agent.name.clone()).collect();
    agents.sort_by_key(|name| *name != settings.agent.value);
    let problem = problem_with(host, directory, agents.is_empty());
    let choices = TaskChoices { agents, permission: PERMISSION, limit: settings.task_cost.value, problem };
    Ok((settings, choices))
}

/// Why no task can be done in a directory.
fn problem_with(host: &dyn Host, directory: &Path, without_agent: bool) -> Option<String> {
    if without_agent {
        return Some("no coding agent found; install one, or run `maestro demo`".to_owned());
    }
    if let Err(error) = Git::at(directory).check_repository() {
        return Some(error.to_string());
    }
    host.checks(directory).err().map(|error| error.to_string())
}

/// The fields of the task box.
#[derive(Debug, Deserialize)]
struct TaskForm {
    text: Option<String>,
    project: Option<String>,
    agent: Option<String>,
    permission: Option<String>,
    /// What it may cost, in dollars; the setting decides where nothing is said.
    limit: Option<String>,
    back: Option<String>,
}

/// `POST /page/task/start`.
async fn start(State(app): State<AppState>, caller: Caller, filled: Result<Form<TaskForm>, FormRejection>) -> Response {
    let form = match filled {
        Ok(Form(form)) => form,
        Err(rejection) => return failure(&ApiError::invalid(rejection.body_text())),
    };
    let back = return_path(form.back.as_deref());
    redirect_back(back, start_task(&app, caller, form).await)
}

async fn start_task(app: &AppState, caller: Caller, form: TaskForm) -> Result<(), ApiError> {
    caller.require_person("start a task")?;
    let task = required(form.text, "Not started: the task is empty.")?;
    let task = task.split_whitespace().collect::<Vec<_>>().join(" ");
    if task.chars().count() > LONGEST {
        return Err(ApiError::invalid(format!("Not started: the task has more than {LONGEST} characters.")));
    }
    let directory = directory(app, form.project.as_deref()).await?;
    let place = directory.clone();
    let found = host::ask(&app.host, move |host| look(host, &place)).await;
    let (settings, choices) = found.map_err(|error| ApiError::internal(error.to_string()))?;
    if let Some(problem) = choices.problem {
        return Err(ApiError::invalid(format!("Not started: {problem}.")));
    }
    let agent = form.agent.filter(|agent| !agent.is_empty()).or_else(|| choices.agents.first().cloned());
    let agent = agent.filter(|agent| choices.agents.contains(agent));
    let agent = agent.ok_or_else(|| ApiError::field("agent", "this agent is not installed"))?;
    let permission = form.permission.filter(|word| !word.is_empty()).unwrap_or_else(|| PERMISSION.to_owned());
    let limit = match form.limit.as_deref().map(str::trim).filter(|text| !text.is_empty()) {
        Some(text) => Some(read_limit(text)?),
        None => settings.task_cost.value,
    };
    let demo = agent == DEMO_AGENT;
    let run = NewRun {
        workflow: Some(WORKFLOW.to_owned()),
        builtin: Some(true),
        params: Some(params(&task, &agent, &permission, limit, &settings)),
        permission: Some(permission),
        demo: Some(demo),
        project_id: form.project,
        workspace: Some(directory.to_string_lossy().into_owned()),
        ..NewRun::default()
    };
    start_run(app, &caller, run).await?;
    Ok(())
}

fn read_limit(text: &str) -> Result<f64, ApiError> {
    let limit = text.parse::<f64>().ok().filter(|limit| limit.is_finite() && *limit > 0.0);
    limit.ok_or_else(|| ApiError::field("limit", "must be a number of dollars"))
}

/// What `maestro do` would start the run with.
fn params(task: &str, agent: &str, permission: &str, limit: Option<f64>, settings: &Settings) -> Map<String, Json> {
    let budget =
        BudgetLimit { minutes: settings.task_minutes.value, tokens: settings.task_tokens.value, cost_usd: limit };
    let mut params = Map::from_iter(
        [
            ("only", json!(task)),
            ("agent", json!(agent)),
            ("reviewer", json!(agent)),
            ("permission", json!(permission)),
            ("worktree", json!(true)),
            ("checks", json!(!settings.verify.value.is_empty())),
            ("base_checks", json!(true)),
            ("review", json!(true)),
            ("skills", json!("auto")),
        ]
        .map(|(name, value)| (name.to_owned(), value)),
    );
    if settings.merge_when_done.value {
        params.insert("merge".to_owned(), json!("yes"));
    }
    if !budget.is_unlimited() {
        params.insert("task_budget".to_owned(), json!(budget.to_string()));
    }
    params
}
