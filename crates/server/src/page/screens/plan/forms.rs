//! Forms of a plan's screen: edit, add, put off a task, and start a loop.

use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use axum::Router;
use axum::extract::{self, State};
use axum::http::StatusCode;
use axum::response::Response;
use axum::routing::post;
use maestro_api::runs::NewRun;
use maestro_core::agent::{BudgetLimit, DEMO_AGENT};
use maestro_core::id::ProjectId;
use maestro_core::plan::PlanEdit;
use maestro_core::workflow::run::RunInput;
use maestro_core::{RunId, Settings};
use maestro_engine::Freshness;
use maestro_engine::git::Git;
use maestro_engine::plan_files::{edit_plan_file, read_plan};
use maestro_engine::runs::{ExecutionClaim, ResumeOrder};
use maestro_store::ProjectById;
use serde_json::{Map, Value as Json, json};

use super::super::work::forms::{FilledPairs, FormPairs};
use super::query::PlanScreenQuery;
use super::{PlanHistory, place_of, plan_error};
use crate::api::{run_error, start_run, with_states};
use crate::app::AppState;
use crate::caller::Caller;
use crate::error::ApiError;
use crate::extract::required;
use crate::page::failure;
use crate::page::forms::redirect_back;

/// The most runs that work on a plan at once.
const MOST_JOBS: u32 = 8;

/// The routes of these forms.
pub(in crate::page) fn routes() -> Router<AppState> {
    Router::new()
        .route("/page/plans/edit", post(edit))
        .route("/page/plans/start", post(start))
        .route("/page/plans/runs/{id}/{order}", post(steer))
}

async fn steer(
    State(app): State<AppState>,
    caller: Caller,
    extract::Path((id, order)): extract::Path<(String, String)>,
    filled: FilledPairs,
) -> Response {
    let fields = match FormPairs::of(filled) {
        Ok(fields) => fields,
        Err(error) => return failure(&error),
    };
    redirect_back(fields.back(), steer_run(&app, &caller, &id, &order, &fields).await)
}

async fn steer_run(app: &AppState, caller: &Caller, id: &str, order: &str, fields: &FormPairs) -> Result<(), ApiError> {
    caller.require_person("use the page")?;
    let id: RunId = id.parse().map_err(|error| ApiError::field("id", error))?;
    let view = match order {
        "pause" => app.runs.submit(id, RunInput::Pause, ExecutionClaim::None).await,
        "cancel" => app.runs.cancel(id, None, (app.clock)()).await,
        "resume" => {
            // Another agent for the next attempt, where one was chosen.
            let agent = fields.filled("agent").map(|agent| ("agent".to_owned(), json!(agent)));
            let order = ResumeOrder { params: agent.into_iter().collect(), note: fields.filled("note") };
            app.runs.resume(id, None, order, (app.clock)()).await
        }
        _ => return Err(ApiError::not_found("there is no such order")),
    };
    let view = view.map_err(run_error)?;
    app.drive_within(view, Duration::ZERO).await.map_err(run_error)?;
    Ok(())
}

async fn edit(State(app): State<AppState>, caller: Caller, filled: FilledPairs) -> Response {
    let fields = match FormPairs::of(filled) {
        Ok(fields) => fields,
        Err(error) => return failure(&error),
    };
    redirect_back(fields.back(), edit_file(&app, &caller, &fields).await)
}

async fn edit_file(app: &AppState, caller: &Caller, fields: &FormPairs) -> Result<(), ApiError> {
    caller.require_person("use the page")?;
    let (project, path) = plan_fields(fields)?;
    let line = |name: &str| fields.filled(name).map(|text| text.parse::<usize>()).transpose();
    let line = line("line").map_err(|error| ApiError::field("line", error))?;
    let needed = || line.ok_or_else(|| ApiError::field("line", "is required"));
    let label = || required(fields.get("label"), "The task is empty.");
    let change = match fields.get("change").as_deref() {
        Some("rename") => PlanEdit::Rename { line: needed()?, label: label()? },
        Some("add") => PlanEdit::Add { after: line, label: label()? },
        Some("defer") => PlanEdit::Defer { line: needed()? },
        Some("reopen") => PlanEdit::Reopen { line: needed()? },
        _ => return Err(ApiError::field("change", "must be rename, add, defer or reopen")),
    };
    let version = fields.get("version").unwrap_or_default();
    let query = PlanScreenQuery { project, path: path.clone(), at: (app.clock)(), history: PlanHistory::default() };
    let seen = app.store.read(query).await?;
    let runs = with_states(app, seen.runs.clone()).await?;
    let (place, project) = (place_of(&seen, &runs), PathBuf::from(&seen.project.working_dir));
    let write = move || {
        // The same file that was shown.
        let place = if read_plan(&place, &path).is_ok() { place } else { project };
        edit_plan_file(&place, &path, &version, &change).map_err(|error| plan_error(&error))
    };
    tokio::task::spawn_blocking(write).await.map_err(|error| ApiError::internal(error.to_string()))??;
    Ok(())
}

fn plan_fields(fields: &FormPairs) -> Result<(ProjectId, String), ApiError> {
    let project = required(fields.get("project"), "project: is required")?;
    let project = project.parse().map_err(|error| ApiError::field("project", error))?;
    Ok((project, required(fields.get("path"), "path: is required")?))
}

async fn start(State(app): State<AppState>, caller: Caller, filled: FilledPairs) -> Response {
    let fields = match FormPairs::of(filled) {
        Ok(fields) => fields,
        Err(error) => return failure(&error),
    };
    redirect_back(fields.back(), start_loop(&app, &caller, &fields).await)
}

async fn start_loop(app: &AppState, caller: &Caller, fields: &FormPairs) -> Result<(), ApiError> {
    caller.require_person("use the page")?;
    let (project, path) = plan_fields(fields)?;
    let directory = PathBuf::from(app.store.read(ProjectById(project.clone())).await?.working_dir);
    let jobs: u32 = number(fields, "jobs")?.unwrap_or(1).clamp(1, MOST_JOBS);
    let limits = LoopLimits::read(fields)?;
    let (host, place, plan) = (app.host.clone(), directory.clone(), path.clone());
    let read = move || -> Result<(bool, Map<String, Json>), ApiError> {
        let tracked = check_plan(&place, &plan)?;
        let skills =
            host.skills(Some(&place), Freshness::Kept).map_err(|error| ApiError::internal(error.to_string()))?;
        Ok((tracked, limits.params(&skills.settings, jobs)))
    };
    let (tracked, mut params) =
        tokio::task::spawn_blocking(read).await.map_err(|error| ApiError::internal(error.to_string()))??;
    let agent = required(fields.get("agent"), "Choose an agent.")?;
    let reviewer = fields.filled("reviewer").unwrap_or_else(|| agent.clone());
    let model = fields.filled("model");
    let reviewer_model = fields.filled("reviewer_model").or_else(|| model.clone().filter(|_| reviewer == agent));
    let fallback = fields.filled("fallback");
    let permission = fields.filled("permission").unwrap_or_else(|| "edits".to_owned());
    let is_demo =
        [Some(&agent), Some(&reviewer), fallback.as_ref()].into_iter().flatten().any(|name| name == DEMO_AGENT);
    let skills = fields.filled("skills").map_or_else(|| "auto".to_owned(), |names| names.replace(' ', ""));
    let more = json!({
        "plan": path, "tracked": tracked, "agent": agent, "reviewer": reviewer, "permission": permission,
        "worktree": true, "review": fields.get("no_review").is_none(), "skills": skills, "shared": jobs > 1,
        "keep_going": fields.get("keep_going").is_some(), "base_checks": true,
    });
    params.extend(more.as_object().cloned().unwrap_or_default());
    let named = [("fallback", fallback), ("model", model), ("reviewer_model", reviewer_model)];
    params.extend(named.into_iter().filter_map(|(name, value)| Some((name.to_owned(), json!(value?)))));
    if fields.get("merge").is_some() {
        params.insert("merge".to_owned(), json!("yes"));
    }
    let order = NewRun {
        workflow: Some("plan-loop".to_owned()),
        builtin: Some(true),
        params: Some(params),
        project_id: Some(project.to_string()),
        driver: Some("server".to_owned()),
        permission: Some(permission),
        demo: Some(is_demo),
        ..NewRun::default()
    };
    let lead = start_run(app, caller, order.clone()).await?;
    for _ in 1..jobs {
        let mut lane = order.clone();
        lane.params.get_or_insert_default().insert("lead".to_owned(), json!(lead.to_string()));
        start_run(app, caller, lane).await?;
    }
    Ok(())
}

/// The limits of a loop that a person set in the form; for the others the settings decide.
struct LoopLimits {
    most: Option<u64>,
    wait: Option<u64>,
    task_cost: Option<f64>,
    plan_cost: Option<f64>,
}

impl LoopLimits {
    fn read(fields: &FormPairs) -> Result<Self, ApiError> {
        Ok(Self {
            most: number(fields, "most")?,
            wait: number(fields, "wait")?,
            task_cost: dollars(fields, "task_cost")?,
            plan_cost: dollars(fields, "plan_cost")?,
        })
    }

    /// The parameters of each of so many runs.
    fn params(&self, settings: &Settings, jobs: u32) -> Map<String, Json> {
        let task = BudgetLimit {
            minutes: settings.task_minutes.value,
            tokens: settings.task_tokens.value,
            cost_usd: self.task_cost.or(settings.task_cost.value),
        };
        let plan = BudgetLimit {
            minutes: settings.plan_minutes.value,
            tokens: settings.plan_tokens.value,
            cost_usd: self.plan_cost.or(settings.plan_cost.value),
        };
        let budget = |limit: BudgetLimit| {
            Some(limit).filter(|limit| !limit.is_unlimited()).map(|limit| json!(limit.to_string()))
        };
        let params = [
            ("checks", Some(json!(!settings.verify.value.is_empty()))),
            ("merge", settings.merge_when_done.value.then(|| json!("yes"))),
            ("most", self.most.map(|most| json!(most))),
            ("wait", self.wait.map(|minutes| json!(minutes.to_string()))),
            ("task_budget", budget(task)),
            ("plan_budget", budget(plan.share(jobs))),
        ];
        params.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
    }
}

/// A number that a form may leave out.
fn number<N: FromStr<Err: std::fmt::Display>>(fields: &FormPairs, name: &'static str) -> Result<Option<N>, ApiError> {
    let read = |text: String| text.trim().parse::<N>().map_err(|error| ApiError::field(name, error.to_string()));
    fields.filled(name).map(read).transpose()
}

/// An amount that a form may leave out.
fn dollars(fields: &FormPairs, name: &'static str) -> Result<Option<f64>, ApiError> {
    let amount: Option<f64> = number(fields, name)?;
    match amount {
        Some(amount) if !amount.is_finite() || amount <= 0.0 => {
            Err(ApiError::field(name, "must be a number of dollars"))
        }
        amount => Ok(amount),
    }
}

/// Makes sure that a worktree would have the plan as it is shown. Returns whether git tracks it.
fn check_plan(directory: &Path, path: &str) -> Result<bool, ApiError> {
    read_plan(directory, path).map_err(|error| plan_error(&error))?;
    let git = Git::at(directory);
    let refused = |why: &str| ApiError::new(StatusCode::CONFLICT, "REFUSED", format!("Not started: {why}"));
    git.check_repository().map_err(|_| refused("this is not a git repository, and a loop commits its work."))?;
    let tracked = git.is_tracked(path);
    if tracked && !git.is_unchanged(path) {
        return Err(refused("the plan has changes that are not committed. Commit it first."));
    }
    Ok(tracked)
}
