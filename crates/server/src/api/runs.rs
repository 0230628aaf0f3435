//! Runs of workflows over HTTP: start, input, cancel, read.

mod bodies;
mod inputs;
mod seen_files;
mod workspaces;

use std::path::PathBuf;
use std::time::Duration;

use axum::extract::{DefaultBodyLimit, Extension, FromRequestParts, Path, State};
use axum::http::StatusCode;
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};
use axum::{Router, routing};
use maestro_api::events::RunLogEntry;
use maestro_api::fields::PageQuery;
use maestro_api::runs::{
    NewRun, ParentTicket, RunBody, RunLogQuery, RunQuery, RunStateBody, RunStateQuery, RunSummary, SharedRunBody,
};
use maestro_api::schemas::RunUuid;
use maestro_core::RunId;
use maestro_core::id::{ProjectId, TaskId};
use maestro_core::workflow::definition::BuiltinCommand;
use maestro_core::workflow::pinned_definition::{MAX_PINNED, PinnedDefinition};
use maestro_core::workflow::run::Ticket;
use maestro_engine::host::{self, HostError};
use maestro_engine::runs::{RunError, RunStart, RunView};
use maestro_engine::workflow_lookup::{LookupError, WorkflowPlace, pin_named};
use maestro_engine::workflows::DefinitionError;
use maestro_store::{Driver, RunList, RunLog, RunState};
use serde_json::{Map, Value, json};
use utoipa::OpenApi;

use super::{ApiFailures, etag_response, list_response, rights};
use crate::app::AppState;
use crate::caller::Caller;
use crate::error::ApiError;
use crate::extract::{IdempotencyHeader, JsonBody, PagingParams, PreferHeader, UrlQuery, WaitTime, parse_word};
use crate::json_reply::JsonReply;
use crate::run_sharing::RunSharer;

pub(crate) use self::bodies::{RunSurroundings, RunWithState, with_states};
use self::bodies::{run_body, run_state, served_run};
pub(crate) use self::inputs::{RunDecision, apply_decision};

/// The largest body that starts a run: it includes the inputs, and JSON makes texts longer.
const BODY: usize = 4 * MAX_PINNED;

pub(super) fn routes() -> Router<AppState> {
    Router::new()
        .route("/api/runs", routing::get(list).post(start).layer(DefaultBodyLimit::max(BODY)))
        .route("/api/runs/{id}", routing::get(get))
        .route("/api/runs/{id}/state", routing::get(state))
        .route("/api/runs/{id}/log", routing::get(log))
        .route("/api/runs/{id}/share", routing::get(share))
        .merge(inputs::routes())
}

/// What describes them.
#[derive(OpenApi)]
#[openapi(paths(list, start, get, state, log, share))]
struct RunRoutesApiDoc;

/// What describes all of them.
pub(super) struct RunsApiDoc;

impl OpenApi for RunsApiDoc {
    fn openapi() -> utoipa::openapi::OpenApi {
        let mut document = RunRoutesApiDoc::openapi();
        document.merge(inputs::RunInputsApiDoc::openapi());
        document
    }
}

/// The run that a path names.
pub(crate) struct RunPath(pub(crate) RunId);

impl<S: Send + Sync> FromRequestParts<S> for RunPath {
    type Rejection = ApiError;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, ApiError> {
        let Path(text) = Path::<String>::from_request_parts(parts, state)
            .await
            .map_err(|rejection| ApiError::invalid(rejection.to_string()))?;
        text.parse().map(Self).map_err(|_| ApiError::field("id", "must be the id of a run (a UUID)"))
    }
}

/// Runs, oldest first
#[utoipa::path(get, path = "/api/runs", tag = "runs", params(RunQuery, PageQuery),
    responses((status = 200, body = [RunSummary]), ApiFailures))]
async fn list(
    State(app): State<AppState>,
    UrlQuery(wanted): UrlQuery<RunQuery>,
    PagingParams(page): PagingParams,
) -> Result<Response, ApiError> {
    let status = match wanted.status.as_deref() {
        None => None,
        Some(word) => Some(RunState::from_word(word).ok_or_else(|| {
            ApiError::field("status", format!("must be one of {}", RunState::ALL.map(RunState::as_str).join(", ")))
        })?),
    };
    let runs = RunList {
        project: parse_word::<ProjectId>("projectId", wanted.project_id.as_deref())?,
        workflow: wanted.workflow,
        status,
        page,
    };
    let found = app.store.read(runs).await?;
    let mut around = RunSurroundings::load(&app).await?;
    around.add_questions(&app, &found.items).await;
    let not_allowed = |id| app.drivers.not_allowed(id);
    Ok(list_response(found, |run| {
        let refused = not_allowed(run.id);
        around.summary(run, refused.as_deref())
    }))
}

/// Start a run
#[utoipa::path(post, path = "/api/runs", tag = "runs", request_body = NewRun, params(IdempotencyHeader, PreferHeader),
    responses((status = 201, body = RunBody), ApiFailures))]
async fn start(
    State(app): State<AppState>,
    caller: Caller,
    WaitTime(patience): WaitTime,
    JsonBody { value, once }: JsonBody<NewRun>,
) -> Result<Response, ApiError> {
    let now = (app.clock)();
    let view = if let Some(parent) = &value.parent {
        start_child(&app, &caller, parent, now).await?
    } else {
        let order = run_start(&app, &caller, value).await?;
        app.runs.start(order, now, once).await.map_err(run_error)?
    };
    let view = app.drive_within(view, patience).await.map_err(run_error)?;
    Ok((StatusCode::CREATED, JsonReply(served_run(view, &app).await?)).into_response())
}

/// Starts a run for a person on the page, which does not wait for it.
pub(crate) async fn start_run(app: &AppState, caller: &Caller, value: NewRun) -> Result<RunId, ApiError> {
    let order = run_start(app, caller, value).await?;
    let view = app.runs.start(order, (app.clock)(), None).await.map_err(run_error)?;
    let view = app.drive_within(view, Duration::ZERO).await.map_err(run_error)?;
    Ok(view.record.id)
}

async fn start_child(app: &AppState, caller: &Caller, parent: &ParentTicket, now: i64) -> Result<RunView, ApiError> {
    let run = parent.run.parse().map_err(|_| ApiError::field("parent.run", "must be the id of a run (a UUID)"))?;
    let limit = rights::limit_of(app, caller).await?;
    let ticket = Ticket::quoted(parent.ticket.as_str());
    app.runs.start_child(run, &ticket, limit, now).await.map_err(run_error)
}

/// The run that a request names.
async fn run_start(app: &AppState, caller: &Caller, value: NewRun) -> Result<RunStart, ApiError> {
    let rights = rights::of_run(app, caller, &value).await?;
    let project = caller.list_project(parse_word::<ProjectId>("projectId", value.project_id.as_deref())?)?;
    let driver = match value.driver.as_deref() {
        None => Driver::Server,
        Some(word) => Driver::from_word(word).ok_or_else(|| ApiError::field("driver", "must be server or caller"))?,
    };
    if value.agent.is_some() {
        caller.require_person("choose the agent of a run")?;
        if value.by_model == Some(true) || driver != Driver::Server {
            return Err(ApiError::field("agent", "only a person names one, for a run that the server executes"));
        }
    }
    let workspace = workspaces::of_run(app, &value, project.as_ref()).await?;
    workspaces::check(app, caller, &workspace).await?;
    let pinned = match (value.pinned, value.workflow) {
        (Some(pinned), _) if pinned.size() > MAX_PINNED => {
            return Err(ApiError::field("pinned", format!("has more than {MAX_PINNED} bytes")));
        }
        (Some(pinned), _) => pinned,
        (None, Some(name)) => {
            let place = if value.builtin == Some(true) { WorkflowPlace::Builtin } else { WorkflowPlace::Catalogue };
            let pinned = pin_named(&app.host, PathBuf::from(&workspace), name, place).await;
            pinned.map_err(|error| lookup_error(&error))?
        }
        (None, None) => return Err(ApiError::invalid("workflow: the name of a workflow is required")),
    };
    let mut params = value.params.unwrap_or_default();
    if driver == Driver::Server {
        require_checks(app, &pinned, &params, &workspace).await?;
    }
    if value.by_model == Some(true) {
        let definition = pinned.definition().map_err(|error| run_error(error.into()))?;
        rights::check_model(app, &workspace, &definition, &mut params, rights).await?;
    }
    Ok(RunStart {
        pinned,
        params,
        workspace,
        tool: value.tool.unwrap_or_default(),
        project,
        task: parse_word::<TaskId>("taskId", value.task_id.as_deref())?,
        session: caller.actor().session().cloned(),
        driver,
        rights,
        agent: value.agent,
    })
}

/// Refuses a run whose checks are not allowed, before any work starts: what no check can judge would be done in vain.
async fn require_checks(
    app: &AppState,
    pinned: &PinnedDefinition,
    params: &Map<String, Value>,
    workspace: &str,
) -> Result<(), ApiError> {
    let definition = pinned.definition().map_err(|error| run_error(error.into()))?;
    // Who starts without checks needs none.
    if !definition.executes(BuiltinCommand::Verify) || params.get("checks") == Some(&Value::Bool(false)) {
        return Ok(());
    }
    let place = PathBuf::from(workspace);
    match host::ask(&app.host, move |host| host.checks(&place)).await {
        Err(error @ (HostError::NotTrusted { .. } | HostError::Changed { .. })) => Err(ApiError::forbidden(format!(
            "`{}` runs this project's checks: {error}; `maestro trust --config` shows and allows them",
            pinned.main
        ))),
        // What else is wrong with them is said when they run.
        Ok(_) | Err(_) => Ok(()),
    }
}

fn lookup_error(error: &LookupError) -> ApiError {
    match error {
        LookupError::Definition(error) => workflow_error(error),
        LookupError::Host(error) => ApiError::internal(error.to_string()),
    }
}

pub(crate) fn workflow_error(error: &DefinitionError) -> ApiError {
    match error {
        DefinitionError::NotFound { close: Some(close), .. } => {
            ApiError::not_found(format!("{error}; did you mean `{close}`?"))
        }
        DefinitionError::NotFound { .. } | DefinitionError::NoneAt(_) => ApiError::not_found(error.to_string()),
        DefinitionError::Unsound { path, .. } => {
            let message = format!("{error}; `maestro workflow check {}` shows them", path.display());
            ApiError::new(StatusCode::UNPROCESSABLE_ENTITY, "BUSINESS_RULE_ERROR", message)
        }
        DefinitionError::Unreadable { .. } | DefinitionError::NotText(_) | DefinitionError::TooLarge { .. } => {
            ApiError::new(StatusCode::UNPROCESSABLE_ENTITY, "BUSINESS_RULE_ERROR", error.to_string())
        }
    }
}

/// Why a run does not continue, as it is sent, with the state of the run.
pub(crate) fn run_error(error: RunError) -> ApiError {
    use maestro_core::workflow::run::InputRefusal;
    let message = error.to_string();
    match error {
        RunError::Refused { refusal, view } => {
            let (status, code) = match refusal {
                InputRefusal::Ticket(_) | InputRefusal::NotAwaited(..) => (StatusCode::CONFLICT, "WRONG_TICKET"),
                InputRefusal::Over | InputRefusal::NothingToRepeat => (StatusCode::CONFLICT, "RUN_OVER"),
                InputRefusal::Paused
                | InputRefusal::NotPaused
                | InputRefusal::NotStarted
                | InputRefusal::NotOver
                | InputRefusal::AlreadyStarted => (StatusCode::CONFLICT, "RUN_STATE"),
                InputRefusal::Outcome(_)
                | InputRefusal::Value { .. }
                | InputRefusal::Result(_)
                | InputRefusal::Several(_)
                | InputRefusal::HasOwnRun(_) => (StatusCode::UNPROCESSABLE_ENTITY, "UNFIT_REPORT"),
                InputRefusal::UsersDecision => (StatusCode::FORBIDDEN, "FORBIDDEN"),
                InputRefusal::OtherDefinition => (StatusCode::INTERNAL_SERVER_ERROR, "INTERNAL_ERROR"),
            };
            ApiError::new(status, code, message).with(json!({ "run": run_body(*view) }))
        }
        RunError::CannotStart(_) | RunError::NoProject(_) => ApiError::invalid(message),
        RunError::NeverVisited(_) => ApiError::field("at", message),
        RunError::IsPart(_) | RunError::HistoryGone | RunError::Landed(_) => {
            ApiError::new(StatusCode::CONFLICT, "RUN_OVER", message)
        }
        RunError::Unfit { parent, .. } => {
            let next = format!("{message} with `maestro workflow next {parent}`");
            ApiError::new(StatusCode::UNPROCESSABLE_ENTITY, "UNFIT_REPORT", next)
        }
        RunError::NotAChild(_) => ApiError::new(StatusCode::CONFLICT, "WRONG_TICKET", message),
        RunError::Unsound(_) => ApiError::new(StatusCode::UNPROCESSABLE_ENTITY, "BUSINESS_RULE_ERROR", message),
        RunError::Store(error) => error.into(),
    }
}

/// A run: where it stands, and what is to be done now
#[utoipa::path(get, path = "/api/runs/{id}", tag = "runs", params(("id" = RunUuid, Path)),
    responses((status = 200, body = RunBody), ApiFailures))]
async fn get(State(app): State<AppState>, RunPath(id): RunPath) -> Result<Response, ApiError> {
    let view = app.runs.load_view(id, (app.clock)()).await.map_err(run_error)?;
    Ok(etag_response(view.record.revision, served_run(view, &app).await?))
}

/// A run's whole state, for its executor
#[utoipa::path(get, path = "/api/runs/{id}/state", tag = "runs", params(("id" = RunUuid, Path), RunStateQuery),
    responses((status = 200, body = RunStateBody), ApiFailures))]
async fn state(
    State(app): State<AppState>,
    RunPath(id): RunPath,
    UrlQuery(wanted): UrlQuery<RunStateQuery>,
) -> Result<Response, ApiError> {
    let view = app.runs.get(id, (app.clock)()).await.map_err(run_error)?;
    let pinned = match wanted.pinned {
        Some(true) => Some(app.runs.pinned(&view.record).await.map_err(run_error)?),
        _ => None,
    };
    Ok(etag_response(view.record.revision, run_state(view.record, pinned)))
}

/// What happened to a run, oldest first
#[utoipa::path(get, path = "/api/runs/{id}/log", tag = "runs", params(("id" = RunUuid, Path), RunLogQuery),
    responses((status = 200, body = [RunLogEntry]), ApiFailures))]
async fn log(
    State(app): State<AppState>,
    RunPath(id): RunPath,
    UrlQuery(part): UrlQuery<RunLogQuery>,
) -> Result<JsonReply<Vec<RunLogEntry>>, ApiError> {
    let PagingParams(page) = PagingParams::of(PageQuery { limit: part.limit, cursor: part.after })?;
    // A run that does not exist is reported as such.
    app.store.read(maestro_store::RunById(id)).await?;
    let rows = app.store.read(RunLog { id, after: page.after, limit: page.limit }).await?;
    let entry =
        |row: maestro_store::EventRow| RunLogEntry { seq: row.seq, at: row.at, kind: row.kind, payload: row.payload };
    Ok(JsonReply(rows.into_iter().map(entry).collect()))
}

/// A copy of a run for others: one page that needs nothing else, with secrets masked
#[utoipa::path(get, path = "/api/runs/{id}/share", tag = "runs", params(("id" = RunUuid, Path)),
    responses((status = 200, body = SharedRunBody), ApiFailures))]
async fn share(
    State(app): State<AppState>,
    Extension(RunSharer(share)): Extension<RunSharer>,
    caller: Caller,
    RunPath(id): RunPath,
) -> Result<JsonReply<SharedRunBody>, ApiError> {
    caller.require_person("share a run")?;
    let (file, html) = share(app, id).await?;
    Ok(JsonReply(SharedRunBody { file, html }))
}
