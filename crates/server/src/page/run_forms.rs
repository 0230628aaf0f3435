//! Forms about runs: pause, resume, cancel, and answers to their questions.

use axum::Router;
use axum::extract::rejection::FormRejection;
use axum::extract::{Form, State};
use axum::response::Response;
use axum::routing::post;
use serde::Deserialize;

use super::failure;
use super::forms::{redirect_back, return_path};
use crate::answer_notes::{AnswerWay, AnsweredCard};
use crate::api::{RunDecision, RunPath, apply_decision};
use crate::app::AppState;
use crate::caller::Caller;
use crate::error::ApiError;
use crate::extract::required;

pub(super) fn routes() -> Router<AppState> {
    Router::new()
        .route("/page/runs/{id}/pause", post(pause))
        .route("/page/runs/{id}/resume", post(resume))
        .route("/page/runs/{id}/cancel", post(cancel))
        .route("/page/runs/{id}/answer", post(answer))
}

/// The fields of a form about a run.
#[derive(Debug, Deserialize)]
struct RunForm {
    back: Option<String>,
    ticket: Option<String>,
    value: Option<String>,
    /// The name that the page gave itself.
    page: Option<String>,
}

type FilledRunForm = Result<Form<RunForm>, FormRejection>;

async fn pause(app: State<AppState>, caller: Caller, run: RunPath, filled: FilledRunForm) -> Response {
    decide(app, caller, run, filled, |_| Ok(RunDecision::Pause)).await
}

async fn resume(app: State<AppState>, caller: Caller, run: RunPath, filled: FilledRunForm) -> Response {
    decide(app, caller, run, filled, |_| Ok(RunDecision::Resume)).await
}

async fn cancel(app: State<AppState>, caller: Caller, run: RunPath, filled: FilledRunForm) -> Response {
    decide(app, caller, run, filled, |_| Ok(RunDecision::Cancel)).await
}

async fn answer(app: State<AppState>, caller: Caller, run: RunPath, filled: FilledRunForm) -> Response {
    let read = |form: &RunForm| {
        let ticket = required(form.ticket.clone(), "Not answered: the question is missing.")?;
        // Forms send CRLF line ends.
        let value = form.value.as_ref().map(|value| value.replace("\r\n", "\n"));
        Ok(RunDecision::Answer { ticket, value: required(value, "Not answered: the answer is empty.")? })
    };
    decide(app, caller, run, filled, read).await
}

async fn decide(
    State(app): State<AppState>,
    caller: Caller,
    RunPath(id): RunPath,
    filled: FilledRunForm,
    read: impl Fn(&RunForm) -> Result<RunDecision, ApiError>,
) -> Response {
    let Ok(Form(form)) = filled else { return failure(&ApiError::invalid("the form cannot be read")) };
    let done = async {
        caller.require_person("use the page")?;
        let decision = read(&form)?;
        let words = match &decision {
            RunDecision::Answer { value, .. } => Some(format!("Answered: {value}")),
            RunDecision::Cancel => Some("Run canceled".to_owned()),
            _ => None,
        };
        if let Some(words) = words {
            let way = AnswerWay::Page(form.page.as_deref());
            app.page.answers.keep(AnsweredCard::Run(id), &words, way, (app.clock)());
        }
        apply_decision(&app, id, decision).await
    };
    redirect_back(return_path(form.back.as_deref()), done.await)
}
