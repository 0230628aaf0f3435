//! The server itself: whether it lives, and who listens.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use crate::request::ApiRequest;

/// That the server lives.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[schema(as = Health)]
pub struct HealthReply {
    /// `ok`, or `degraded` while something fails.
    pub status: Cow<'static, str>,
    /// The time.
    pub timestamp: i64,
    /// For how many seconds it has lived.
    pub uptime: f64,
    /// Which server it is.
    pub instance: String,
    /// Which Maestro it is.
    pub version: String,
    /// What fails, for callers that may know it; absent while nothing does.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub degraded: Vec<HealthFailure>,
}

/// Something that fails and is tried again.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
pub struct HealthFailure {
    /// What fails: `database`, or a part of the daemon and what it is about.
    pub what: String,
    /// Since when.
    pub since: i64,
    /// How often it failed since then.
    pub failures: u64,
    /// Why it failed last.
    pub reason: String,
}

/// Who listens.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Listeners)]
pub struct ListenerList {
    /// How many there are.
    pub connected_clients: usize,
    /// Each of them.
    pub clients: Vec<ListenerBody>,
}

/// A client that listens.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Listener)]
pub struct ListenerBody {
    /// Always 1: a client that left is not in the list.
    pub ready_state: u8,
    /// Always `OPEN`.
    pub ready_state_text: Cow<'static, str>,
}

/// Whether the server lives.
pub fn health() -> ApiRequest<HealthReply> {
    ApiRequest::get("/health")
}
