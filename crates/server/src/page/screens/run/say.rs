//! Forms by which a person speaks to the agents of a run: at once, at the next step, and about a line of the work.

use axum::Router;
use axum::extract::State;
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::post;
use maestro_core::RunId;
use maestro_core::id::SessionId;
use maestro_core::workflow::run::{PersonComment, PersonItem};
use maestro_store::{RunById, RunStepSessions, SendMessage, SessionById};

use super::super::work::forms::{FilledPairs, FormPairs};
use super::revise::start_revision;
use crate::api::{RunDecision, RunPath, apply_decision, run_error};
use crate::app::AppState;
use crate::caller::Caller;
use crate::error::ApiError;
use crate::extract::{parse_word, required};
use crate::page::failure;
use crate::page::forms::{post_message, redirect_back};

/// The routes of these forms.
pub(in crate::page) fn routes() -> Router<AppState> {
    Router::new().route("/page/runs/{id}/say", post(say)).route("/page/runs/{id}/comment", post(comment))
}

/// Says something to the agent at work, or to that of the next step.
async fn say(State(app): State<AppState>, caller: Caller, RunPath(id): RunPath, filled: FilledPairs) -> Response {
    let fields = match FormPairs::of(filled) {
        Ok(fields) => fields,
        Err(error) => return failure(&error),
    };
    let done = async {
        caller.require_person("use the page")?;
        let session = parse_word::<SessionId>("session", fields.filled("session").as_deref())?;
        if let Some(session) = session.filter(|_| fields.get("when").as_deref() != Some("after")) {
            return post_message(&app, caller, session, fields.get("text")).await;
        }
        let text = required(fields.get("text"), "Not sent: the message is empty.")?;
        apply_decision(&app, id, RunDecision::Comment(PersonComment::for_next_step(text))).await
    };
    redirect_back(fields.back(), done.await)
}

/// Adds a comment to a run that goes on; one on a run that is over reopens its work.
async fn comment(State(app): State<AppState>, caller: Caller, RunPath(id): RunPath, filled: FilledPairs) -> Response {
    let fields = match FormPairs::of(filled) {
        Ok(fields) => fields,
        Err(error) => return failure(&error),
    };
    let done = async {
        caller.require_person("use the page")?;
        let comment = PersonComment {
            text: required(fields.get("text"), "Not sent: the comment is empty.")?,
            file: fields.filled("file"),
            line: fields.filled("line").and_then(|line| line.parse().ok()),
            ..PersonComment::default()
        };
        if app.store.read(RunById(id)).await?.run.is_over() {
            let words = PersonItem::of(&comment).describe();
            return start_revision(&app, &caller, id, &words).await.map(Some);
        }
        let message = tell_agent_at_work(&app, &caller, id, &comment).await?;
        apply_decision(&app, id, RunDecision::Comment(PersonComment { message, ..comment })).await.map(|()| None)
    };
    match done.await {
        Ok(Some(run)) => Redirect::to(&format!("/runs/{run}")).into_response(),
        Ok(None) => redirect_back(fields.back(), Ok(())),
        Err(error) => failure(&error),
    }
}

/// Sends a comment to the agent that can fix it while it works. Returns the message, if there is such an agent; without
/// one the comment waits for the next.
async fn tell_agent_at_work(
    app: &AppState,
    caller: &Caller,
    id: RunId,
    comment: &PersonComment,
) -> Result<Option<String>, ApiError> {
    let view = app.runs.get(id, (app.clock)()).await.map_err(run_error)?;
    if !view.record.run.can_fix_now(&view.definition) {
        return Ok(None);
    }
    let Some(last) = app.store.read(RunStepSessions(id)).await?.pop() else { return Ok(None) };
    if app.store.read(SessionById(last.session.clone())).await?.status.is_over() {
        return Ok(None);
    }
    let text = format!("Fix this as well, before you report: {}", PersonItem::of(comment).describe());
    let order = SendMessage { session: last.session, from: "you".to_owned(), text, actor: caller.actor() };
    Ok(Some(app.store.write(order).await?.id.to_string()))
}
