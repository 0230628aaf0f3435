//! Words for an agent over HTTP.

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::{Json, Router, routing};
use maestro_core::id::SessionId;
use maestro_core::message::Message;
use maestro_store::{Messages, Say};
use serde::{Deserialize, Serialize};
use utoipa::{OpenApi, ToSchema};

use super::{Failures, listed};
use crate::app::App;
use crate::caller::Caller;
use crate::error::ApiError;
use crate::extract::{Asked, OneId, Paging, Retry, Sent, required};
use crate::wire::words::{Delivery, Id, Text};

pub(super) fn routes() -> Router<App> {
    Router::new().route("/api/sessions/{id}/messages", routing::get(list).post(say))
}

/// What describes them.
#[derive(OpenApi)]
#[openapi(paths(list, say))]
pub(super) struct Document;

/// Words for an agent, and whether it has them.
#[derive(Debug, Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
struct MessageJson {
    #[schema(value_type = Id)]
    id: String,
    #[schema(value_type = Id)]
    session_id: String,
    from: String,
    text: String,
    #[schema(value_type = Delivery)]
    state: String,
    /// How it was delivered, or why it was refused.
    how: Option<String>,
    created_at: i64,
    settled_at: Option<i64>,
}

impl From<Message> for MessageJson {
    fn from(message: Message) -> Self {
        Self {
            id: message.id.into(),
            session_id: message.session_id.into(),
            from: message.from,
            text: message.text,
            state: message.state.as_str().to_owned(),
            how: message.how,
            created_at: message.created_at,
            settled_at: message.settled_at,
        }
    }
}

/// What was said to a session, oldest first
#[utoipa::path(get, path = "/api/sessions/{id}/messages", tag = "messages", params(("id" = Id, Path), Paging),
    responses((status = 200, body = [MessageJson]), Failures))]
async fn list(
    State(app): State<App>,
    OneId(session): OneId<SessionId>,
    Asked(paging): Asked<Paging>,
) -> Result<Response, ApiError> {
    let found = app.store.read(Messages { session, page: paging.page()? }).await?;
    Ok(listed::<Message, MessageJson>(found))
}

/// Something to say.
#[derive(Debug, Deserialize, ToSchema)]
struct NewMessage {
    #[schema(value_type = Text)]
    text: Option<String>,
    /// Who says it; the local user unless said otherwise.
    from: Option<String>,
}

/// Say something to a session's agent; it hears it with its next call
#[utoipa::path(post, path = "/api/sessions/{id}/messages", tag = "messages", request_body = NewMessage,
    params(("id" = Id, Path), Retry), responses((status = 201, body = MessageJson), Failures))]
async fn say(
    State(app): State<App>,
    Caller(actor): Caller,
    OneId(session): OneId<SessionId>,
    Sent { value, once }: Sent<NewMessage>,
) -> Result<Response, ApiError> {
    let text = required(value.text, "text is required")?;
    let from = match (actor.session(), value.from) {
        (Some(session), _) => session.to_string(),
        (None, Some(from)) if !from.trim().is_empty() => from.trim().to_owned(),
        (None, _) => "you".to_owned(),
    };
    let message = app.store.write_once(Say { session, from, text, actor }, once).await?;
    Ok((StatusCode::CREATED, Json(MessageJson::from(message))).into_response())
}
