//! Inputs of a run over HTTP: reports, answers, executions, pause and cancel.

use std::time::Duration;

use axum::extract::State;
use axum::response::Response;
use axum::{Router, routing};
use maestro_api::fields::EmptyBody;
use maestro_api::runs::{
    ExecutionEnd, ExecutionLoss, ExecutionStart, FinishBody, NoAnswer, ResumeBody, RunAnswer, RunBody, RunComment,
    RunLandingBody, RunReopening, RunReport,
};
use maestro_api::schemas::{RevisionText, RunUuid};
use maestro_core::RunId;
use maestro_core::landing::LandingKind;
use maestro_core::step_session::{StepReport, StepSession};
use maestro_core::workflow::StepOutcome;
use maestro_core::workflow::run::{
    AnswerAuthor, BranchPoint, CommandExit, PersonComment, PersonItemKind, RunInput, Ticket, UserAnswer,
};
use maestro_core::workflow::run_reply::NextAction;
use maestro_engine::runs::{ExecutionClaim, ResumeOrder, RunError, RunView};
use maestro_engine::step_sessions::{check_step_report, keep_agent_outcomes};
use maestro_store::{
    Executing, RecordLanding, RunById, SaveStepReport, SessionHasToken, SpawnBySession, StepOfSession,
};
use serde_json::{Map, Value as Json, json};
use utoipa::OpenApi;

use super::bodies::{run_body, served_run};
use super::{RunPath, run_error, seen_files};
use crate::answer_notes::{AnswerWay, AnsweredCard};
use crate::api::{ApiFailures, etag_response};
use crate::app::AppState;
use crate::caller::Caller;
use crate::error::ApiError;
use crate::extract::{ExpectedRevision, JsonBody, PreferHeader, WaitTime, required};
use crate::run_driver::{GRACE, PATIENCE};

/// The longest time a caller may request, in seconds.
const LONGEST: i64 = 24 * 60 * 60;

pub(super) fn routes() -> Router<AppState> {
    Router::new()
        .route("/api/runs/{id}/report", routing::post(report))
        .route("/api/runs/{id}/answer", routing::post(answer))
        .route("/api/runs/{id}/items", routing::post(add_item))
        .route("/api/runs/{id}/started", routing::post(started))
        .route("/api/runs/{id}/finished", routing::post(finished))
        .route("/api/runs/{id}/lost", routing::post(lost))
        .route("/api/runs/{id}/pause", routing::post(pause))
        .route("/api/runs/{id}/resume", routing::post(resume))
        .route("/api/runs/{id}/reopen", routing::post(reopen))
        .route("/api/runs/{id}/cancel", routing::post(cancel))
        .route("/api/runs/{id}/landed", routing::post(landed))
}

/// What describes them.
#[derive(OpenApi)]
#[openapi(paths(report, answer, add_item, started, finished, lost, pause, resume, reopen, cancel, landed))]
pub(super) struct RunInputsApiDoc;

async fn submit(
    app: &AppState,
    id: RunId,
    expected: ExpectedRevision,
    input: RunInput,
    hand: ExecutionClaim,
) -> Result<Response, ApiError> {
    submit_within(app, id, (expected, WaitTime(PATIENCE)), input, hand).await
}

/// The same for a caller that says how long it waits for what is executed.
async fn submit_within(
    app: &AppState,
    id: RunId,
    (ExpectedRevision(expected), WaitTime(patience)): (ExpectedRevision, WaitTime),
    input: RunInput,
    hand: ExecutionClaim,
) -> Result<Response, ApiError> {
    let view = app.runs.submit_at(id, expected, input, hand).await.map_err(run_error)?;
    answer_after(app, view, patience).await
}

/// The reply with the run after what is this server's to execute.
async fn answer_after(app: &AppState, view: RunView, patience: Duration) -> Result<Response, ApiError> {
    let view = drive_on(app, view, patience).await?;
    Ok(etag_response(view.record.revision, served_run(view, app).await?))
}

/// The run after what is this server's to execute.
async fn drive_on(app: &AppState, view: RunView, patience: Duration) -> Result<RunView, ApiError> {
    let view = app.drive_within(view, patience).await.map_err(run_error)?;
    if let Some(step_sessions) = app.drivers.step_sessions().filter(|_| view.record.run.is_over()) {
        step_sessions.write_summary(view.record.id).await;
    }
    Ok(view)
}

/// Applies what a person decides on the page, and does not wait for what follows.
pub(crate) async fn apply_decision(app: &AppState, id: RunId, decision: RunDecision) -> Result<(), ApiError> {
    let now = (app.clock)();
    let view = match decision {
        RunDecision::Resume => app.runs.resume(id, None, ResumeOrder::default(), now).await,
        RunDecision::Retry(order) => app.runs.resume(id, None, order, now).await,
        RunDecision::Pause => app.runs.submit(id, RunInput::Pause, ExecutionClaim::None).await,
        RunDecision::Cancel => app.runs.cancel(id, None, now).await,
        RunDecision::Comment(comment) => {
            app.runs.submit(id, RunInput::AddItem { comment, now }, ExecutionClaim::None).await
        }
        RunDecision::Answer { ticket, value } => {
            let (ticket, answer) = (Ticket::quoted(ticket), UserAnswer::Value(Json::String(value)));
            let input = RunInput::Answer { ticket, answer, by: AnswerAuthor::User, now };
            app.runs.submit(id, input, ExecutionClaim::None).await
        }
    };
    drive_on(app, view.map_err(run_error)?, Duration::ZERO).await?;
    Ok(())
}

/// What a person decides about a run.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum RunDecision {
    /// It stops for a while.
    Pause,
    /// It goes on.
    Resume,
    /// It tries again, perhaps with other parameters and a note.
    Retry(ResumeOrder),
    /// It stops for good.
    Cancel,
    /// Something to fix.
    Comment(PersonComment),
    /// The answer to its question.
    Answer {
        /// The ticket of the question.
        ticket: String,
        /// The answer.
        value: String,
    },
}

fn ticket(text: Option<String>) -> Result<Ticket, ApiError> {
    required(text, "ticket: the ticket of the directive is required").map(Ticket::quoted)
}

/// Report the result of a directive; a repeated report has no effect
#[utoipa::path(post, path = "/api/runs/{id}/report", tag = "runs", request_body = RunReport,
    params(("id" = RunUuid, Path), ("If-Match" = Option<RevisionText>, Header), PreferHeader),
    responses((status = 200, body = RunBody), ApiFailures))]
async fn report(
    State(app): State<AppState>,
    caller: Caller,
    RunPath(id): RunPath,
    conditions: (ExpectedRevision, WaitTime),
    JsonBody { value, .. }: JsonBody<RunReport>,
) -> Result<Response, ApiError> {
    if let Some(session) = caller.session_id()
        && let Some(seat) = app.store.read(StepOfSession(session.clone())).await?
        && seat.run == id
    {
        return verdict(&app, &seat, value).await;
    }
    may_report(&app, &caller, id).await?;
    let input = RunInput::Report {
        ticket: ticket(value.ticket)?,
        outcome: value.outcome.map(StepOutcome::new),
        set: value.set.unwrap_or_default(),
        result: value.result.unwrap_or_default(),
        seen: seen_files::of_input(&app, id, value.seen).await?,
        now: (app.clock)(),
    };
    submit_within(&app, id, conditions, input, ExecutionClaim::None).await
}

/// Stores the report of the session at a step. It counts when the session has ended: until then it may still change
/// files, and the next step must not start. What is wrong with it is refused now, while its agent can still fix it.
async fn verdict(app: &AppState, seat: &StepSession, value: RunReport) -> Result<Response, ApiError> {
    let ticket = ticket(value.ticket)?;
    let mut view = app.runs.get(seat.run, (app.clock)()).await.map_err(run_error)?;
    let report = StepReport { outcome: value.outcome.map(StepOutcome::new), set: value.set, result: value.result };
    let own = Ticket::quoted(seat.ticket.clone());
    if let Err(refusal) = check_step_report(&view, &own, &ticket, &report) {
        if let NextAction::Directive { directive } = &mut view.reply.next {
            keep_agent_outcomes(directive);
        }
        return Err(run_error(RunError::Refused { refusal, view: Box::new(view) }));
    }
    let (session, ticket) = (seat.session.clone(), ticket.as_str().to_owned());
    app.store.write(SaveStepReport { session, ticket, report }).await?;
    // With the same directive again, it would do it again.
    if let NextAction::Directive { directive } = view.reply.next {
        view.reply.next = NextAction::Noted { step: directive.step.id, title: directive.step.title };
    }
    Ok(etag_response(view.record.revision, run_body(view)))
}

/// Answer a question; a repeated answer has no effect
#[utoipa::path(post, path = "/api/runs/{id}/answer", tag = "runs", request_body = RunAnswer,
    params(("id" = RunUuid, Path), ("If-Match" = Option<RevisionText>, Header), PreferHeader),
    responses((status = 200, body = RunBody), ApiFailures))]
async fn answer(
    State(app): State<AppState>,
    caller: Caller,
    RunPath(id): RunPath,
    conditions: (ExpectedRevision, WaitTime),
    JsonBody { value, .. }: JsonBody<RunAnswer>,
) -> Result<Response, ApiError> {
    let by = answer_author(&app, &caller, value.by).await?;
    let answer = match (value.value, value.instead) {
        (Some(value), None) => UserAnswer::Value(value),
        (None, Some(NoAnswer::Declined)) => UserAnswer::Declined,
        (None, Some(NoAnswer::Cancelled)) => UserAnswer::Cancelled,
        _ => return Err(ApiError::invalid("value: an answer is required, or `instead` says why there is none")),
    };
    let now = (app.clock)();
    let words = match &answer {
        UserAnswer::Value(value) => {
            format!("Answered: {}", value.as_str().map_or_else(|| value.to_string(), str::to_owned))
        }
        UserAnswer::Declined | UserAnswer::Cancelled => "Declined".to_owned(),
    };
    app.page.answers.keep(AnsweredCard::Run(id), &words, AnswerWay::Api(caller.in_words()), now);
    let input = RunInput::Answer { ticket: ticket(value.ticket)?, answer, by, now };
    submit_within(&app, id, conditions, input, ExecutionClaim::None).await
}

/// Comment on the work of a run, which is fixed and verified before it ends well, or send a message to its next step
#[utoipa::path(post, path = "/api/runs/{id}/items", tag = "runs", request_body = RunComment,
    params(("id" = RunUuid, Path)), responses((status = 200, body = RunBody), ApiFailures))]
async fn add_item(
    State(app): State<AppState>,
    caller: Caller,
    RunPath(id): RunPath,
    JsonBody { value, .. }: JsonBody<RunComment>,
) -> Result<Response, ApiError> {
    caller.require_person("comment on the work of a run")?;
    let line = value.line.map(|line| u32::try_from(line).map_err(|_| ApiError::field("line", "must be a line")));
    let kind = value.kind.as_deref().map_or(Some(PersonItemKind::Comment), PersonItemKind::from_word);
    let comment = PersonComment {
        text: required(value.text, "text: the words are required")?,
        file: value.file,
        line: line.transpose()?,
        kind: kind.ok_or_else(|| ApiError::field("kind", "must be comment or message"))?,
        message: None,
    };
    let input = RunInput::AddItem { comment, now: (app.clock)() };
    submit(&app, id, ExpectedRevision(None), input, ExecutionClaim::None).await
}

/// Refuses one that would report what others do: the result of a run is worth something only if no one else can claim it.
/// A session reports on runs that it started, a step on runs that it started, never on its own.
async fn may_report(app: &AppState, caller: &Caller, id: RunId) -> Result<(), ApiError> {
    let about = match caller {
        Caller::Session(session) if app.store.read(SessionHasToken(session.id.clone())).await? => {
            app.store.read(RunById(id)).await?.about
        }
        Caller::Run { .. } => app.store.read(RunById(id)).await?.about,
        // People, their programs, and the tools that they sit before.
        _ => return Ok(()),
    };
    let is_own = match caller {
        Caller::Run { id: step_of, .. } => about.parent.as_ref().is_some_and(|(parent, _)| parent == step_of),
        _ => about.session.is_some() && about.session.as_ref() == caller.session_id(),
    };
    if is_own { Ok(()) } else { Err(ApiError::forbidden(format!("this session may not report on run '{id}'"))) }
}

/// Who answers. An agent that Maestro started has no user beside it whose words it could pass on, and a step has none.
async fn answer_author(app: &AppState, caller: &Caller, said: Option<AnswerAuthor>) -> Result<AnswerAuthor, ApiError> {
    caller.refuse_steps("answer a question of the user")?;
    match caller {
        Caller::Session(session) => match app.store.read(SpawnBySession(session.id.clone())).await? {
            Some(_) => Err(ApiError::forbidden(
                "the user answers questions, not an agent: the user sees this one on the page and with `maestro session answer`",
            )),
            // A session in a tool of the user's own, who sits before it.
            None => Ok(AnswerAuthor::Agent),
        },
        Caller::Token(_) => Ok(said.unwrap_or(AnswerAuthor::Script)),
        _ => Ok(said.unwrap_or_default()),
    }
}

/// Say that something is executed from now on; only one can
#[utoipa::path(post, path = "/api/runs/{id}/started", tag = "runs", request_body = ExecutionStart,
    params(("id" = RunUuid, Path)), responses((status = 200, body = RunBody), ApiFailures))]
async fn started(
    State(app): State<AppState>,
    caller: Caller,
    RunPath(id): RunPath,
    JsonBody { value, .. }: JsonBody<ExecutionStart>,
) -> Result<Response, ApiError> {
    may_report(&app, &caller, id).await?;
    let now = (app.clock)();
    let by = required(value.by, "by: who executes it is required")?;
    let seconds = value.seconds.unwrap_or(0).min(LONGEST);
    if seconds < 0 {
        return Err(ApiError::field("seconds", "must not be negative"));
    }
    let seen = seen_files::of_input(&app, id, value.seen).await?;
    let executing = Executing { by, until: now + seconds * 1000 + GRACE };
    let input = RunInput::Started { ticket: ticket(value.ticket)?, seen, now };
    submit(&app, id, ExpectedRevision(None), input, ExecutionClaim::By(executing)).await
}

fn read_finish(value: Option<Json>) -> Result<CommandExit, ApiError> {
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
            CommandExit::Exited { code, output }
        }
        FinishBody::TimedOut => CommandExit::TimedOut,
        FinishBody::Failed(reason) => CommandExit::Failed(reason),
    })
}

/// Report the end of an execution; a repeated report has no effect
#[utoipa::path(post, path = "/api/runs/{id}/finished", tag = "runs", request_body = ExecutionEnd,
    params(("id" = RunUuid, Path)), responses((status = 200, body = RunBody), ApiFailures))]
async fn finished(
    State(app): State<AppState>,
    caller: Caller,
    RunPath(id): RunPath,
    JsonBody { value, .. }: JsonBody<ExecutionEnd>,
) -> Result<Response, ApiError> {
    may_report(&app, &caller, id).await?;
    let finish = read_finish(value.finish)?;
    let input = RunInput::Finished { ticket: ticket(value.ticket)?, finish, now: (app.clock)() };
    submit(&app, id, ExpectedRevision(None), input, ExecutionClaim::None).await
}

/// Report that the executor is gone
#[utoipa::path(post, path = "/api/runs/{id}/lost", tag = "runs", request_body = ExecutionLoss,
    params(("id" = RunUuid, Path)), responses((status = 200, body = RunBody), ApiFailures))]
async fn lost(
    State(app): State<AppState>,
    caller: Caller,
    RunPath(id): RunPath,
    JsonBody { value, .. }: JsonBody<ExecutionLoss>,
) -> Result<Response, ApiError> {
    may_report(&app, &caller, id).await?;
    let by = required(value.by, "by: who is gone is required")?;
    let executor = app.store.read(RunById(id)).await?.executor;
    if executor.as_ref().is_none_or(|executor| executor.by != by) {
        let message = "another executor has it by now";
        return Err(ApiError::new(axum::http::StatusCode::CONFLICT, "WRONG_TICKET", message));
    }
    let input = RunInput::Lost { ticket: ticket(value.ticket)?, now: (app.clock)() };
    submit(&app, id, ExpectedRevision(None), input, ExecutionClaim::None).await
}

/// Refuses a worker that would stop another session's run.
async fn may_steer(app: &AppState, caller: &Caller, id: RunId) -> Result<(), ApiError> {
    let record = app.store.read(RunById(id)).await?;
    match &record.about.session {
        Some(session) => caller.check_session(session),
        None => caller.refuse_workers("steer a run that is not its own"),
    }
}

/// Let a run go on that is paused or stopped, from where it stopped
#[utoipa::path(post, path = "/api/runs/{id}/resume", tag = "runs", request_body = ResumeBody,
    params(("id" = RunUuid, Path), ("If-Match" = Option<RevisionText>, Header)),
    responses((status = 200, body = RunBody), ApiFailures))]
async fn resume(
    State(app): State<AppState>,
    caller: Caller,
    RunPath(id): RunPath,
    ExpectedRevision(expected): ExpectedRevision,
    JsonBody { value, .. }: JsonBody<ResumeBody>,
) -> Result<Response, ApiError> {
    may_steer(&app, &caller, id).await?;
    // Parameters may say what agents may do, which is a person's to decide.
    let params = match value.params {
        Some(params) if caller.require_person("change the parameters of a run").is_ok() => params,
        _ => Map::new(),
    };
    let order = ResumeOrder { params, note: None };
    let view = app.runs.resume(id, expected, order, (app.clock)()).await.map_err(run_error)?;
    answer_after(&app, view, PATIENCE).await
}

/// Let a run that is over go on, from an earlier step as it was then, or from where it stopped
#[utoipa::path(post, path = "/api/runs/{id}/reopen", tag = "runs", request_body = RunReopening,
    params(("id" = RunUuid, Path), ("If-Match" = Option<RevisionText>, Header)),
    responses((status = 200, body = RunBody), ApiFailures))]
async fn reopen(
    State(app): State<AppState>,
    caller: Caller,
    RunPath(id): RunPath,
    ExpectedRevision(expected): ExpectedRevision,
    JsonBody { value, .. }: JsonBody<RunReopening>,
) -> Result<Response, ApiError> {
    // Otherwise an agent could take back what a gate or the user decided.
    caller.require_person("reopen a run")?;
    let at = value.at.map(|at| at.parse::<BranchPoint>().map_err(|error| ApiError::field("at", error))).transpose()?;
    let params = value.params.unwrap_or_default();
    let view = app.runs.reopen(id, expected, at, params, (app.clock)()).await.map_err(run_error)?;
    answer_after(&app, view, PATIENCE).await
}

/// Record that the result of a run was merged or thrown away
#[utoipa::path(post, path = "/api/runs/{id}/landed", tag = "runs", request_body = RunLandingBody,
    params(("id" = RunUuid, Path)), responses((status = 200, body = RunBody), ApiFailures))]
async fn landed(
    State(app): State<AppState>,
    caller: Caller,
    RunPath(id): RunPath,
    JsonBody { value, .. }: JsonBody<RunLandingBody>,
) -> Result<Response, ApiError> {
    caller.require_person("merge or discard the result of a run")?;
    let how = required(value.how, "how: merged or discarded is required")?;
    let how: LandingKind = how.parse().map_err(|error| ApiError::field("how", error))?;
    app.store.write(RecordLanding { id, how, into: value.into }).await?;
    let view = app.runs.load_view(id, (app.clock)()).await.map_err(run_error)?;
    Ok(etag_response(view.record.revision, served_run(view, &app).await?))
}

macro_rules! steering {
    ($($(#[doc = $doc:literal])* $name:ident = $path:literal, $input:expr;)*) => {$(
        $(#[doc = $doc])*
        #[utoipa::path(post, path = $path, tag = "runs",
            params(("id" = RunUuid, Path), ("If-Match" = Option<RevisionText>, Header)),
            responses((status = 200, body = RunBody), ApiFailures))]
        async fn $name(
            State(app): State<AppState>,
            caller: Caller,
            RunPath(id): RunPath,
            expected: ExpectedRevision,
            _: JsonBody<EmptyBody>,
        ) -> Result<Response, ApiError> {
            may_steer(&app, &caller, id).await?;
            submit(&app, id, expected, $input, ExecutionClaim::None).await
        }
    )*};
}

steering! {
    /// Stop a run for a while
    pause = "/api/runs/{id}/pause", RunInput::Pause;
}

/// Stop a run for good
#[utoipa::path(post, path = "/api/runs/{id}/cancel", tag = "runs",
    params(("id" = RunUuid, Path), ("If-Match" = Option<RevisionText>, Header)),
    responses((status = 200, body = RunBody), ApiFailures))]
async fn cancel(
    State(app): State<AppState>,
    caller: Caller,
    RunPath(id): RunPath,
    ExpectedRevision(expected): ExpectedRevision,
    _: JsonBody<EmptyBody>,
) -> Result<Response, ApiError> {
    may_steer(&app, &caller, id).await?;
    let view = app.runs.cancel(id, expected, (app.clock)()).await.map_err(run_error)?;
    answer_after(&app, view, PATIENCE).await
}
