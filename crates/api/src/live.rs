//! Messages over the WebSocket.

use std::collections::HashSet;

use serde::{Deserialize, Serialize};

/// What a client sends.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct SocketMessage {
    /// `ping`, `heartbeat`, `keepalive`, `subscribe` or `unsubscribe`.
    #[serde(rename = "type")]
    pub kind: String,
    /// Only frames of this project.
    pub project_id: Option<String>,
    /// Only frames about one of these tasks.
    pub task_ids: Option<HashSet<String>>,
    /// Only frames about one of these sessions.
    pub session_ids: Option<HashSet<String>>,
    /// The last `seq` it knows.
    pub since: Option<i64>,
}

/// What the server answers.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "lowercase", rename_all_fields = "camelCase")]
pub enum SocketReply {
    /// It lives.
    Pong {
        /// The time.
        timestamp: i64,
    },
    /// Frames follow, and which.
    Subscribed {
        /// Only those of this project.
        #[serde(skip_serializing_if = "Option::is_none")]
        project_id: Option<String>,
        /// Only those about one of these tasks.
        #[serde(skip_serializing_if = "Option::is_none")]
        task_ids: Option<Vec<String>>,
        /// Only those about one of these sessions.
        #[serde(skip_serializing_if = "Option::is_none")]
        session_ids: Option<Vec<String>>,
        /// Only those after this `seq`.
        since: i64,
        /// The time.
        timestamp: i64,
    },
    /// All frames follow again.
    Unsubscribed {
        /// The time.
        timestamp: i64,
    },
    /// A message makes no sense.
    Error {
        /// Why.
        message: String,
        /// The time.
        timestamp: i64,
    },
}

/// Something that happened, with the thing it happened to as it is when the frame is sent.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct LiveFrame<D> {
    /// What happened.
    #[serde(rename = "type")]
    pub kind: String,
    /// The same, for clients of the original.
    pub event: String,
    /// The thing.
    pub data: D,
    /// The time.
    pub timestamp: i64,
    /// A client that has this frame has everything up to here.
    pub seq: i64,
}
