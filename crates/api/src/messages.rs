//! Messages to the agents of sessions.

use maestro_core::message::{MessageState, SessionMessage};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::request::{ApiRequest, in_path};
use crate::schemas::{DeliveryWord, IdText, NonBlankText};

/// Words for an agent, and whether it has them.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = MessageJson)]
pub struct MessageBody {
    #[schema(value_type = IdText)]
    pub id: String,
    #[schema(value_type = IdText)]
    pub session_id: String,
    pub from: String,
    pub text: String,
    #[schema(value_type = DeliveryWord)]
    pub state: MessageState,
    /// How it was delivered, or why it was refused.
    pub how: Option<String>,
    pub created_at: i64,
    pub settled_at: Option<i64>,
}

/// Something to say.
#[derive(Debug, Clone, Default, Serialize, Deserialize, ToSchema)]
pub struct NewMessage {
    #[schema(value_type = NonBlankText)]
    pub text: Option<String>,
    /// Who says it; the local user unless said otherwise.
    pub from: Option<String>,
}

/// What was said to a session, oldest first.
pub fn list(session: &str) -> ApiRequest<Vec<MessageBody>> {
    ApiRequest::get(format!("/api/sessions/{}/messages", in_path(session)))
}

/// Says something to a session's agent.
pub fn create(session: &str, message: &NewMessage) -> ApiRequest<MessageBody> {
    ApiRequest::post(format!("/api/sessions/{}/messages", in_path(session)), message)
}

impl From<SessionMessage> for MessageBody {
    fn from(message: SessionMessage) -> Self {
        Self {
            id: message.id.into(),
            session_id: message.session_id.into(),
            from: message.from,
            text: message.text,
            state: message.state,
            how: message.how,
            created_at: message.created_at,
            settled_at: message.settled_at,
        }
    }
}
