//! Messages for an agent, and their delivery state.

use serde::{Deserialize, Serialize};

use crate::id::{MessageId, SessionId};

/// Words for an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionMessage {
    /// Its id.
    pub id: MessageId,
    /// Who gets it.
    pub session_id: SessionId,
    /// Who says it.
    pub from: String,
    /// The words.
    pub text: String,
    /// Whether the agent has it.
    pub state: MessageState,
    /// How it got there, or why it did not.
    pub how: Option<String>,
    /// When it was said.
    pub created_at: i64,
    /// When the agent had it, or when it was given up.
    pub settled_at: Option<i64>,
}

/// The name of the user as a sender, in the user's own view.
const USER: &str = "you";

impl SessionMessage {
    /// Whether the user says it.
    pub fn is_from_user(&self) -> bool {
        self.from == USER
    }

    /// Who says it, for an agent, which would take `you` for itself.
    pub fn speaker(&self) -> &str {
        if self.is_from_user() { "The user" } else { &self.from }
    }
}

crate::word_enum! {
    /// Whether an agent has words meant for it.
    #[derive(Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum MessageState {
        /// They wait for its next call.
        Queued = "queued",
        /// It has confirmed them.
        Delivered = "delivered",
        /// It will never get them.
        Refused = "refused",
    }
}
