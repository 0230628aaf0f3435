//! Inputs of a run over HTTP: reports, answers, executions, pause and cancel.

use axum::extract::State;
use axum::response::Response;
use axum::{Router, routing};
use maestro_api::fields::EmptyBody;
use maestro_api::runs::{
    ExecutionEnd, ExecutionLoss, ExecutionStart, FinishBody, NoAnswer, RunAnswer, RunBody, RunReport,
};
use maestro_api::words::{RevisionText, RunUuid};
use maestro_core::RunId;
use maestro_core::id::SessionId;
use maestro_core::step_session::StepReport;
use maestro_core::workflow::Outcome;
use maestro_core::workflow::run::{Answer, Finish, Input, Refusal, Seen, Ticket, decide};
use maestro_core::workflow::told::Now;
use maestro_engine::runs::{Hand, RunError};
use maestro_store::{Executing, KeepVerdict, RunById, SeatOf};
use serde_json::{Value as Json, json};
use utoipa::OpenApi;

use super::bodies::{run_body, served_run};
use super::{OneRun, refused};
use crate::api::{Failures, tagged};
use crate::app::App;
use crate::caller::Caller;
use crate::drive::{GRACE, PATIENCE};
use crate::error::ApiError;
use crate::extract::{Expected, Prefer, Sent, Wait, required};

/// The longest time a caller may request, in seconds.
const LONGEST: i64 = 24 * 60 * 60;

pub(super) fn routes() -> Router<App> {
    Router::new()
        .route("/api/runs/{id}/report", routing::post(report))
        .route("/api/runs/{id}/answer", routing::post(answer))
        .route("/api/runs/{id}/started", routing::post(started))
        .route("/api/runs/{id}/finished", routing::post(finished))
        .route("/api/runs/{id}/lost", routing::post(lost))
        .route("/api/runs/{id}/pause", routing::post(pause))
        .route("/api/runs/{id}/resume", routing::post(resume))
        .route("/api/runs/{id}/cancel", routing::post(cancel))
}

/// What describes them.
#[derive(OpenApi)]
#[openapi(paths(report, answer, started, finished, lost, pause, resume, cancel))]
pub(super) struct Document;

async fn give(app: &App, id: RunId, expected: Expected, input: Input, hand: Hand) -> Result<Response, ApiError> {
    give_within(app, id, (expected, Wait(PATIENCE)), input, hand).await
}

/// The same for a caller that says how long it waits for what is executed.
async fn give_within(
    app: &App,
    id: RunId,
    (Expected(expected), Wait(patience)): (Expected, Wait),
    input: Input,
    hand: Hand,
) -> Result<Response, ApiError> {
    let view = app.runs.submit_at(id, expected, input, hand).await.map_err(refused)?;
    let view = app.driven(view, patience).await.map_err(refused)?;
    if let Some(step_sessions) = app.drivers.step_sessions().filter(|_| view.record.run.is_over()) {
        step_sessions.write_summary(id).await;
    }
    Ok(tagged(view.record.revision, served_run(view, app)))
}

fn ticket(text: Option<String>) -> Result<Ticket, ApiError> {
    required(text, "ticket: the ticket of the directive is required").map(Ticket::quoted)
}

/// Report the result of a directive; a repeated report has no effect
#[utoipa::path(post, path = "/api/runs/{id}/report", tag = "runs", request_body = RunReport,
    params(("id" = RunUuid, Path), ("If-Match" = Option<RevisionText>, Header), Prefer),
    responses((status = 200, body = RunBody), Failures))]
async fn report(
    State(app): State<App>,
    caller: Caller,
    OneRun(id): OneRun,
    heeded: (Expected, Wait),
    Sent { value, .. }: Sent<RunReport>,
) -> Result<Response, ApiError> {
    if let Some(session) = caller.0.session()
        && let Some(seat) = app.store.read(SeatOf(session.clone())).await?
        && seat.run == id
    {
        return verdict(&app, session.clone(), id, value).await;
    }
    let input = Input::Report {
        ticket: ticket(value.ticket)?,
        outcome: value.outcome.map(Outcome::new),
        set: value.set.unwrap_or_default(),
        result: value.result.unwrap_or_default(),
        seen: value.seen.unwrap_or_default(),
        now: (app.clock)(),
    };
    give_within(&app, id, heeded, input, Hand::Nobody).await
}

/// Stores the report of the session at a step. It counts when the session has ended: until then it may still change
/// files, and the next step must not start.
async fn verdict(app: &App, session: SessionId, id: RunId, value: RunReport) -> Result<Response, ApiError> {
    let (ticket, now) = (ticket(value.ticket)?, (app.clock)());
    let mut view = app.runs.get(id, now).await.map_err(refused)?;
    let input = Input::Report {
        ticket: ticket.clone(),
        outcome: value.outcome.clone().map(Outcome::new),
        set: value.set.clone().unwrap_or_default(),
        result: value.result.clone().unwrap_or_default(),
        seen: Seen::default(),
        now,
    };
    // An outcome that the step does not declare is refused while the agent can still fix it.
    if let Err(refusal @ Refusal::Outcome(_)) = decide(&view.definition, &view.record.run, input) {
        return Err(refused(RunError::Refused { refusal, view: Box::new(view) }));
    }
    let report = StepReport { outcome: value.outcome.map(Outcome::new), set: value.set, result: value.result };
    app.store.write(KeepVerdict { session, ticket: ticket.as_str().to_owned(), report }).await?;
    // With the same directive again, it would do it again.
    if let Now::Directive { directive } = view.told.now {
        view.told.now = Now::Noted { step: directive.step.id, title: directive.step.title };
    }
    Ok(tagged(view.record.revision, run_body(view)))
}

/// Answer a question; a repeated answer has no effect
#[utoipa::path(post, path = "/api/runs/{id}/answer", tag = "runs", request_body = RunAnswer,
    params(("id" = RunUuid, Path), ("If-Match" = Option<RevisionText>, Header), Prefer),
    responses((status = 200, body = RunBody), Failures))]
async fn answer(
    State(app): State<App>,
    OneRun(id): OneRun,
    heeded: (Expected, Wait),
    Sent { value, .. }: Sent<RunAnswer>,
) -> Result<Response, ApiError> {
    let answer = match (value.value, value.instead) {
        (Some(value), None) => Answer::Value(value),
        (None, Some(NoAnswer::Declined)) => Answer::Declined,
        (None, Some(NoAnswer::Cancelled)) => Answer::Cancelled,
        _ => return Err(ApiError::invalid("value: an answer is required, or `instead` says why there is none")),
    };
    let input = Input::Answer { ticket: ticket(value.ticket)?, answer, now: (app.clock)() };
    give_within(&app, id, heeded, input, Hand::Nobody).await
}

/// Say that something is executed from now on; only one can
#[utoipa::path(post, path = "/api/runs/{id}/started", tag = "runs", request_body = ExecutionStart,
    params(("id" = RunUuid, Path)), responses((status = 200, body = RunBody), Failures))]
async fn started(
    State(app): State<App>,
    OneRun(id): OneRun,
    Sent { value, .. }: Sent<ExecutionStart>,
) -> Result<Response, ApiError> {
    let now = (app.clock)();
    let by = required(value.by, "by: who executes it is required")?;
    let seconds = value.seconds.unwrap_or(0).min(LONGEST);
    if seconds < 0 {
        return Err(ApiError::field("seconds", "must not be negative"));
    }
    let executing = Executing { by, until: now + seconds * 1000 + GRACE };
    let input = Input::Started { ticket: ticket(value.ticket)?, now };
    give(&app, id, Expected(None), input, Hand::Executes(executing)).await
}

fn read_finish(value: Option<Json>) -> Result<Finish, ApiError> {
    let value = value.unwrap_or_default();
    // Of an object only what is known counts, as everywhere.
    let known = ["exited", "failed"].into_iter().filter_map(|name| Some(json!({ name: value.get(name)? })));
    let known: Vec<Json> = known.collect();
    let reads = if known.is_empty() { vec![value] } else { known };
    let mut reads: Vec<Result<FinishBody, _>> = reads.into_iter().map(serde_json::from_value).collect();
    let read = reads.swap_remove(reads.iter().position(Result::is_ok).unwrap_or(0));
    let read = read.map_err(|error| ApiError::field("finish", error))?;
    Ok(match read {
        FinishBody::Exited { code, output } => {
            let code = code.and_then(|code| i32::try_from(code).ok());
            let code =
                code.ok_or_else(|| ApiError::field("finish.exited.code", "must be what a program exits with"))?;
            Finish::Exited { code, output }
        }
        FinishBody::TimedOut => Finish::TimedOut,
        FinishBody::Failed(reason) => Finish::Failed(reason),
    })
}

/// Report the end of an execution; a repeated report has no effect
#[utoipa::path(post, path = "/api/runs/{id}/finished", tag = "runs", request_body = ExecutionEnd,
    params(("id" = RunUuid, Path)), responses((status = 200, body = RunBody), Failures))]
async fn finished(
    State(app): State<App>,
    OneRun(id): OneRun,
    Sent { value, .. }: Sent<ExecutionEnd>,
) -> Result<Response, ApiError> {
    let finish = read_finish(value.finish)?;
    let input = Input::Finished { ticket: ticket(value.ticket)?, finish, now: (app.clock)() };
    give(&app, id, Expected(None), input, Hand::Nobody).await
}

/// Report that the executor is gone
#[utoipa::path(post, path = "/api/runs/{id}/lost", tag = "runs", request_body = ExecutionLoss,
    params(("id" = RunUuid, Path)), responses((status = 200, body = RunBody), Failures))]
async fn lost(
    State(app): State<App>,
    OneRun(id): OneRun,
    Sent { value, .. }: Sent<ExecutionLoss>,
) -> Result<Response, ApiError> {
    let by = required(value.by, "by: who is gone is required")?;
    let executor = app.store.read(RunById(id)).await?.executor;
    if executor.as_ref().is_none_or(|executor| executor.by != by) {
        let message = "another executor has it by now";
        return Err(ApiError::new(axum::http::StatusCode::CONFLICT, "WRONG_TICKET", message));
    }
    let input = Input::Lost { ticket: ticket(value.ticket)?, now: (app.clock)() };
    give(&app, id, Expected(None), input, Hand::Nobody).await
}

/// Refuses a worker that would stop another session's run.
async fn may_steer(app: &App, caller: &Caller, id: RunId) -> Result<(), ApiError> {
    let record = app.store.read(RunById(id)).await?;
    match &record.about.session {
        Some(session) => caller.speaks_for(session),
        None => caller.not_a_worker("steer a run that is not its own"),
    }
}

macro_rules! steering {
    ($($(#[doc = $doc:literal])* $name:ident = $path:literal, $input:expr;)*) => {$(
        $(#[doc = $doc])*
        #[utoipa::path(post, path = $path, tag = "runs",
            params(("id" = RunUuid, Path), ("If-Match" = Option<RevisionText>, Header)),
            responses((status = 200, body = RunBody), Failures))]
        async fn $name(
            State(app): State<App>,
            caller: Caller,
            OneRun(id): OneRun,
            expected: Expected,
            _: Sent<EmptyBody>,
        ) -> Result<Response, ApiError> {
            may_steer(&app, &caller, id).await?;
            give(&app, id, expected, $input, Hand::Nobody).await
        }
    )*};
}

steering! {
    /// Stop a run for a while
    pause = "/api/runs/{id}/pause", Input::Pause;
    /// Let a run go on
    resume = "/api/runs/{id}/resume", Input::Resume;
    /// Stop a run for good
    cancel = "/api/runs/{id}/cancel", Input::Cancel;
}
