//! Forms for what a run or a session left: merge it, propose it, throw it away.

use std::path::PathBuf;

use axum::Router;
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::Response;
use axum::routing::post;
use maestro_core::RunId;
use maestro_core::id::SessionId;
use maestro_core::landing::LandingKind;
use maestro_engine::ExecutionEnv;
use maestro_engine::branches::{BranchError, RunBranch};
use maestro_engine::checked_merge::{self, CheckPolicy, CheckedMergeError};
use maestro_engine::pull_request::{self, PullRequestError};
use maestro_store::{ProjectById, RecordLanding, RunById, SessionById, SpawnBySession, SpawnState};

use super::super::work::forms::{FilledPairs, FormPairs};
use crate::api::RunPath;
use crate::app::AppState;
use crate::caller::Caller;
use crate::error::ApiError;
use crate::extract::PathId;
use crate::page::failure;
use crate::page::forms::redirect_back;
use crate::page::run_overview::read_runs;

/// The routes of these forms.
pub(in crate::page) fn routes() -> Router<AppState> {
    Router::new()
        .route("/page/runs/{id}/merge", post(merge_run))
        .route("/page/runs/{id}/discard", post(discard_run))
        .route("/page/runs/{id}/propose", post(propose_run))
        .route("/page/sessions/{id}/merge", post(merge_session))
        .route("/page/sessions/{id}/discard", post(discard_session))
        .route("/page/sessions/{id}/propose", post(propose_session))
}

/// What a person decides about what was left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum LandingOrder {
    /// Merge it into the branch that is checked out.
    Merge,
    /// Make a pull request of it.
    Propose,
    /// Throw it away.
    Discard,
}

/// Whose work it is.
struct WorkLeft {
    /// The name that its branch ends with.
    id: String,
    workspace: PathBuf,
    /// The runs that are recorded as landed.
    runs: Vec<RunId>,
    /// Whether its last commit passed the checks, if this run made it.
    runs_checks: bool,
}

macro_rules! orders {
    ($($of_run:ident, $of_session:ident = $order:expr;)*) => {$(
        async fn $of_run(State(app): State<AppState>, caller: Caller, RunPath(id): RunPath, filled: FilledPairs) -> Response {
            let left = async { of_run(&app, id).await };
            land(&app, &caller, left, filled, $order).await
        }

        async fn $of_session(
            State(app): State<AppState>,
            caller: Caller,
            PathId(id): PathId<SessionId>,
            filled: FilledPairs,
        ) -> Response {
            let left = async { of_session(&app, id).await };
            land(&app, &caller, left, filled, $order).await
        }
    )*};
}

orders! {
    merge_run, merge_session = LandingOrder::Merge;
    propose_run, propose_session = LandingOrder::Propose;
    discard_run, discard_session = LandingOrder::Discard;
}

async fn land(
    app: &AppState,
    caller: &Caller,
    left: impl Future<Output = Result<WorkLeft, ApiError>>,
    filled: FilledPairs,
    order: LandingOrder,
) -> Response {
    let fields = match FormPairs::of(filled) {
        Ok(fields) => fields,
        Err(error) => return failure(&error),
    };
    let done = async {
        caller.require_person("use the page")?;
        let left = left.await?;
        app.page.forget_changes(&left.id);
        let done = match order {
            LandingOrder::Merge => merge(app, &left, fields.get("all").is_some()).await,
            LandingOrder::Propose => propose(app, &left).await,
            LandingOrder::Discard => discard(app, &left).await,
        };
        app.page.forget_changes(&left.id);
        done
    };
    redirect_back(fields.back(), done.await)
}

fn refused(why: impl std::fmt::Display) -> ApiError {
    ApiError::new(StatusCode::CONFLICT, "REFUSED", why.to_string())
}

/// What a run left, once it is over.
async fn of_run(app: &AppState, id: RunId) -> Result<WorkLeft, ApiError> {
    let record = app.store.read(RunById(id)).await?;
    let run = read_runs(app, vec![record]).await?.pop().ok_or_else(|| ApiError::not_found("there is no such run"))?;
    if !run.record.run.is_over() {
        return Err(refused("The run is still active. Wait until it ends, or cancel it."));
    }
    if run.is_shared() {
        return Err(refused(format!("Several runs worked on this branch. In a terminal: `maestro merge {id}`.")));
    }
    let owner = run.branch_owner();
    let runs = [Some(id), owner.parse().ok().filter(|owner| *owner != id)];
    Ok(WorkLeft {
        runs_checks: run.runs_checks(),
        workspace: PathBuf::from(&run.summary.workspace),
        runs: runs.into_iter().flatten().collect(),
        id: owner,
    })
}

/// What a session left, once it is over.
async fn of_session(app: &AppState, id: SessionId) -> Result<WorkLeft, ApiError> {
    let session = app.store.read(SessionById(id.clone())).await?;
    let spawn = app.store.read(SpawnBySession(id.clone())).await?;
    if !session.status.is_over() || spawn.is_some_and(|spawn| spawn.state != SpawnState::Done) {
        return Err(refused("The session is still active. Wait until it ends, or cancel it."));
    }
    let workspace = PathBuf::from(app.store.read(ProjectById(session.project)).await?.working_dir);
    Ok(WorkLeft { id: id.to_string(), workspace, runs: Vec::new(), runs_checks: false })
}

/// Waits for git on a thread that may.
async fn with_branch<T: Send + 'static>(
    left: &WorkLeft,
    act: impl FnOnce(RunBranch) -> Result<T, BranchError> + Send + 'static,
) -> Result<T, ApiError> {
    let (workspace, id) = (left.workspace.clone(), left.id.clone());
    let done = tokio::task::spawn_blocking(move || act(RunBranch::of_run(&workspace, &id)?)).await;
    done.map_err(|error| ApiError::internal(error.to_string()))?.map_err(|error| branch_error(&error, &left.id))
}

/// Why it was not done, and the way on.
fn branch_error(error: &BranchError, id: &str) -> ApiError {
    let hint = match error {
        BranchError::Conflict { .. } | BranchError::RedMerge { .. } => {
            format!("Nothing was merged. In a terminal: `maestro merge {id} --fix`.")
        }
        BranchError::Dirty { .. } => "Nothing was merged. Commit or stash these changes, then merge again.".to_owned(),
        _ => "Nothing was changed.".to_owned(),
    };
    refused(format!("{error}. {hint}"))
}

async fn merge(app: &AppState, left: &WorkLeft, with_rest: bool) -> Result<(), ApiError> {
    let (host, place, id) = (app.host.clone(), left.workspace.clone(), left.id.clone());
    let runs_checks = left.runs_checks;
    let find = move |mut branch: RunBranch| {
        let signing = host.git_programs(&place).map(|programs| programs.signing).unwrap_or_default();
        if with_rest {
            branch = branch.commit_rest(&format!("Work of {id} that was not committed"), signing)?;
        }
        let by_us = branch.last_ticket().is_some_and(|ticket| ticket.split('/').next() == Some(&id));
        let policy = if runs_checks && by_us { CheckPolicy::UnlessPassedBefore } else { CheckPolicy::Run };
        Ok((branch, signing, policy))
    };
    let (branch, signing, policy) = with_branch(left, find).await?;
    let env = || check_env(app, left).ok_or_else(|| "this server executes nothing".to_owned());
    let (merge, _) = checked_merge::prepare(&branch, signing, policy, env).await.map_err(|error| match error {
        CheckedMergeError::Branch(error) => branch_error(&error, &left.id),
        CheckedMergeError::NoExecution(why) => {
            refused(format!("Nothing was merged: {why}. In a terminal: `maestro merge {}`.", left.id))
        }
    })?;
    let into = merge.into.clone();
    let done = tokio::task::spawn_blocking(move || branch.finish_merge(&merge)).await;
    done.map_err(|error| ApiError::internal(error.to_string()))?.map_err(|error| branch_error(&error, &left.id))?;
    record(app, left, LandingKind::Merged, Some(into)).await
}

/// Where the project's checks run.
fn check_env(app: &AppState, left: &WorkLeft) -> Option<ExecutionEnv> {
    Some(ExecutionEnv {
        machine: app.execution.clone()?,
        workspace: left.workspace.clone(),
        folders: Vec::new(),
        run: left.id.clone(),
        socket: None,
    })
}

async fn propose(app: &AppState, left: &WorkLeft) -> Result<(), ApiError> {
    let host = app.host.clone();
    let gh = tokio::task::spawn_blocking(move || host.find_program("gh")).await;
    let gh = gh.map_err(|error| ApiError::internal(error.to_string()))?;
    let gh = gh.ok_or_else(|| {
        let how = format!("In a terminal, `maestro pr {}` prints a text to copy.", left.id);
        refused(format!("No pull request: `gh` is not installed. {how}"))
    })?;
    let run = left.id.clone();
    let make = move |branch: RunBranch| Ok(pull_request::create(&branch, &gh, &run));
    with_branch(left, make).await?.map(drop).map_err(|error| match error {
        PullRequestError::Branch(error) => branch_error(&error, &left.id),
        other => refused(other),
    })
}

async fn discard(app: &AppState, left: &WorkLeft) -> Result<(), ApiError> {
    with_branch(left, |branch| branch.discard()).await?;
    record(app, left, LandingKind::Discarded, None).await
}

async fn record(app: &AppState, left: &WorkLeft, how: LandingKind, into: Option<String>) -> Result<(), ApiError> {
    for id in &left.runs {
        app.store.write(RecordLanding { id: *id, how, into: into.clone() }).await?;
    }
    Ok(())
}
