//! Forms of the page: they work without scripts and lead back to the page they were sent from.

use axum::extract::rejection::FormRejection;
use axum::extract::{Form, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};
use maestro_core::agent::PermissionChoiceKind;
use maestro_core::id::{SessionId, TaskId};
use maestro_core::message::MessageState;
use maestro_core::session::SessionControl;
use maestro_core::task::TaskStatus;
use maestro_store::{
    AnswerPermission, ControlSession, PermissionFilter, PermissionList, SendMessage, StoreError, TaskPatch, UpdateTask,
};
use serde::Deserialize;

use super::cards::decode;
use super::{address, failure};
use crate::answer_notes::{AnswerWay, AnsweredCard, permission_words};
use crate::app::AppState;
use crate::caller::Caller;
use crate::error::ApiError;
use crate::extract::{PathId, required};

/// The fields of a form.
#[derive(Debug, Deserialize)]
pub(super) struct FormFields {
    /// The address of the screen it was sent from.
    back: Option<String>,
    /// The message for an agent.
    text: Option<String>,
}

impl FormFields {
    /// The screen it was sent from.
    fn return_path(&self) -> Result<String, ApiError> {
        return_path(self.back.as_deref())
    }
}

/// The screen at an address, and nowhere else.
pub(super) fn return_path(back: Option<&str>) -> Result<String, ApiError> {
    let screen = address::screen(back.filter(|back| !back.is_empty()).unwrap_or("/"))?;
    Ok(screen.map_or_else(|| "/".to_owned(), |screen| screen.address()))
}

type FilledForm = Result<Form<FormFields>, FormRejection>;

/// Redirects back to the page, or shows the error.
pub(super) fn redirect_back(place: Result<String, ApiError>, done: Result<(), ApiError>) -> Response {
    match done.and(place) {
        Ok(place) => Redirect::to(&place).into_response(),
        Err(error) => failure(&error),
    }
}

fn fields(filled: FilledForm) -> Result<FormFields, ApiError> {
    filled.map(|Form(fields)| fields).map_err(|rejection| ApiError::invalid(rejection.body_text()))
}

/// Sends a message to a session's agent.
pub(super) async fn send_message(
    State(app): State<AppState>,
    caller: Caller,
    PathId(session): PathId<SessionId>,
    filled: FilledForm,
) -> Response {
    match fields(filled) {
        Ok(fields) => redirect_back(fields.return_path(), post_message(&app, caller, session, fields.text).await),
        Err(error) => failure(&error),
    }
}

pub(super) async fn post_message(
    app: &AppState,
    caller: Caller,
    session: SessionId,
    text: Option<String>,
) -> Result<(), ApiError> {
    caller.require_person("use the page")?;
    // Forms send CRLF line ends.
    let text = text.map(|text| text.replace("\r\n", "\n"));
    let text = required(text, "Not sent: the message is empty.")?;
    let said = app.store.write(SendMessage { session, from: "you".to_owned(), text, actor: caller.actor() }).await?;
    if said.state == MessageState::Refused {
        let why = format!("Not sent: {}.", said.how.as_deref().unwrap_or("the session accepts no messages"));
        return Err(ApiError::new(StatusCode::CONFLICT, "REFUSED", why));
    }
    Ok(())
}

/// Pauses a session.
pub(super) async fn pause(app: State<AppState>, caller: Caller, id: PathId<SessionId>, filled: FilledForm) -> Response {
    steer(app, caller, id, filled, SessionControl::Pause).await
}

/// Resumes a session.
pub(super) async fn resume(
    app: State<AppState>,
    caller: Caller,
    id: PathId<SessionId>,
    filled: FilledForm,
) -> Response {
    steer(app, caller, id, filled, SessionControl::Resume).await
}

/// Cancels a session.
pub(super) async fn cancel(
    app: State<AppState>,
    caller: Caller,
    id: PathId<SessionId>,
    filled: FilledForm,
) -> Response {
    steer(app, caller, id, filled, SessionControl::Cancel).await
}

async fn steer(
    State(app): State<AppState>,
    caller: Caller,
    PathId(id): PathId<SessionId>,
    filled: FilledForm,
    order: SessionControl,
) -> Response {
    let change = async {
        caller.require_person("use the page")?;
        app.store.write(ControlSession { id, control: order, actor: caller.actor() }).await?;
        Ok(())
    };
    match fields(filled) {
        Ok(fields) => redirect_back(fields.return_path(), change.await),
        Err(error) => failure(&error),
    }
}

/// Reopens a blocked task, so that another session can claim it.
pub(super) async fn reopen(
    State(app): State<AppState>,
    caller: Caller,
    PathId(id): PathId<TaskId>,
    filled: FilledForm,
) -> Response {
    let change = async {
        caller.require_person("use the page")?;
        let patch = TaskPatch { status: Some(TaskStatus::Todo), ..TaskPatch::default() };
        app.store.write(UpdateTask { id, patch, task_session: None, expected: None, actor: caller.actor() }).await?;
        Ok(())
    };
    match fields(filled) {
        Ok(fields) => redirect_back(fields.return_path(), change.await),
        Err(error) => failure(&error),
    }
}

/// The answer to an agent's permission request.
#[derive(Debug, Deserialize)]
pub(super) struct PermissionReply {
    /// The agent's id of the request, as the page encodes it.
    request: String,
    answer: String,
    back: Option<String>,
    /// The name that the page gave itself.
    page: Option<String>,
}

/// Answers a permission request. The first answer counts; a later one gets an error.
pub(super) async fn answer(
    State(app): State<AppState>,
    caller: Caller,
    PathId(id): PathId<SessionId>,
    filled: Result<Form<PermissionReply>, FormRejection>,
) -> Response {
    let reply = match filled {
        Ok(Form(reply)) => reply,
        Err(rejection) => return failure(&ApiError::invalid(rejection.body_text())),
    };
    redirect_back(return_path(reply.back.as_deref()), answer_permission(&app, caller, id, &reply).await)
}

async fn answer_permission(
    app: &AppState,
    caller: Caller,
    id: SessionId,
    reply: &PermissionReply,
) -> Result<(), ApiError> {
    caller.require_person("use the page")?;
    let request = decode(&reply.request).ok_or_else(|| ApiError::field("request", "is not the id of a request"))?;
    let answer: PermissionChoiceKind = reply.answer.parse().map_err(|error| ApiError::field("answer", error))?;
    let asked = PermissionList { session: Some(id.clone()), filter: PermissionFilter::All };
    let asked = app.store.read(asked).await?.into_iter().find(|asked| asked.request == request);
    let is_open = asked.as_ref().is_some_and(|asked| asked.answer.is_none());
    if asked.as_ref().is_some_and(|asked| !asked.options.iter().any(|choice| choice.kind == answer)) {
        return Err(ApiError::invalid("The agent does not accept this answer."));
    }
    if is_open {
        let card = AnsweredCard::Permission { session: &id, request: &request };
        let way = AnswerWay::Page(reply.page.as_deref());
        app.page.answers.keep(card, permission_words(answer), way, (app.clock)());
    }
    let done = app.store.write(AnswerPermission { session: id, request, answer, actor: caller.actor() }).await;
    match done {
        Ok(_) => Ok(()),
        Err(StoreError::Rule(why)) => {
            Err(ApiError::new(StatusCode::CONFLICT, "TOO_LATE", format!("Not answered: {why}.")))
        }
        Err(error) => Err(error.into()),
    }
}
