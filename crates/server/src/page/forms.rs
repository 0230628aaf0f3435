//! What can a person do on the page? Plain forms, which work without script and lead back to where they were sent from.

use axum::extract::rejection::FormRejection;
use axum::extract::{Form, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Redirect, Response};
use maestro_core::id::{SessionId, TaskId};
use maestro_core::message::MessageState;
use maestro_core::task::TaskStatus;
use maestro_store::{Order, Say, Steer, TaskPatch, UpdateTask};
use serde::Deserialize;

use super::{Wanted, failure};
use crate::app::App;
use crate::caller::Caller;
use crate::error::ApiError;
use crate::extract::{OneId, required};

/// What a form holds.
#[derive(Debug, Deserialize)]
pub(super) struct Fields {
    /// The project that was looked at.
    project: Option<String>,
    /// Words for an agent.
    text: Option<String>,
}

type Filled = Result<Form<Fields>, FormRejection>;

/// Back to the page, or why not.
fn back(project: Option<String>, done: Result<(), ApiError>) -> Response {
    let place = done.and_then(|()| Wanted { project }.project()).map(|project| match project {
        Some(project) => format!("/?project={project}"),
        None => "/".to_owned(),
    });
    match place {
        Ok(place) => Redirect::to(&place).into_response(),
        Err(error) => failure(&error),
    }
}

fn fields(filled: Filled) -> Result<Fields, ApiError> {
    filled.map(|Form(fields)| fields).map_err(|rejection| ApiError::invalid(rejection.body_text()))
}

/// Says something to a session's agent.
pub(super) async fn say(
    State(app): State<App>,
    caller: Caller,
    OneId(session): OneId<SessionId>,
    filled: Filled,
) -> Response {
    match fields(filled) {
        Ok(fields) => back(fields.project, tell(&app, caller, session, fields.text).await),
        Err(error) => failure(&error),
    }
}

async fn tell(app: &App, caller: Caller, session: SessionId, text: Option<String>) -> Result<(), ApiError> {
    caller.person("use the page")?;
    // Forms send the line ends of another age.
    let text = text.map(|text| text.replace("\r\n", "\n"));
    let text = required(text, "There was nothing to say: the field was empty.")?;
    let said = app.store.write(Say { session, from: "you".to_owned(), text, actor: caller.0 }).await?;
    if said.state == MessageState::Refused {
        let why = format!("It was not said: {}.", said.how.as_deref().unwrap_or("the session does not listen"));
        return Err(ApiError::new(StatusCode::CONFLICT, "REFUSED", why));
    }
    Ok(())
}

/// Tells a session to wait.
pub(super) async fn pause(app: State<App>, caller: Caller, id: OneId<SessionId>, filled: Filled) -> Response {
    steer(app, caller, id, filled, Order::Pause).await
}

/// Tells a session to go on.
pub(super) async fn resume(app: State<App>, caller: Caller, id: OneId<SessionId>, filled: Filled) -> Response {
    steer(app, caller, id, filled, Order::Resume).await
}

/// Tells a session to end.
pub(super) async fn cancel(app: State<App>, caller: Caller, id: OneId<SessionId>, filled: Filled) -> Response {
    steer(app, caller, id, filled, Order::Cancel).await
}

async fn steer(
    State(app): State<App>,
    caller: Caller,
    OneId(id): OneId<SessionId>,
    filled: Filled,
    order: Order,
) -> Response {
    let change = async {
        caller.person("use the page")?;
        app.store.write(Steer { id, order, actor: caller.0 }).await?;
        Ok(())
    };
    match fields(filled) {
        Ok(fields) => back(fields.project, change.await),
        Err(error) => failure(&error),
    }
}

/// Opens a blocked task again, for whoever takes it next.
pub(super) async fn reopen(
    State(app): State<App>,
    caller: Caller,
    OneId(id): OneId<TaskId>,
    filled: Filled,
) -> Response {
    let change = async {
        caller.person("use the page")?;
        let patch = TaskPatch { status: Some(TaskStatus::Todo), ..TaskPatch::default() };
        app.store.write(UpdateTask { id, patch, pair: None, expected: None, actor: caller.0 }).await?;
        Ok(())
    };
    match fields(filled) {
        Ok(fields) => back(fields.project, change.await),
        Err(error) => failure(&error),
    }
}
