//! Events: what happened, as a list and as a live stream.

use maestro_core::Event;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use utoipa::{IntoParams, ToSchema};

use crate::request::ApiRequest;
use crate::schemas::{IdText, RunUuid};

/// Which events are wanted.
#[derive(Debug, Clone, Default, Serialize, Deserialize, IntoParams)]
#[serde(rename_all = "camelCase")]
#[into_params(parameter_in = Query)]
pub struct EventQuery {
    /// Only this project's.
    #[param(value_type = Option<IdText>)]
    pub project_id: Option<String>,
    /// Only this task's.
    #[param(value_type = Option<IdText>)]
    pub task_id: Option<String>,
    /// Only this session's.
    #[param(value_type = Option<IdText>)]
    pub session_id: Option<String>,
    /// Only this run's.
    #[param(value_type = Option<RunUuid>)]
    pub run_id: Option<String>,
    /// Only those after this one. Without it, a stream begins now and a list at the beginning.
    #[param(minimum = 0, maximum = 9_007_199_254_740_991_i64)]
    pub since: Option<i64>,
    /// How many a list holds at most.
    #[param(minimum = 1, maximum = 1000)]
    pub limit: Option<i64>,
    /// Only the last ones, so many; they come oldest first, too.
    #[param(minimum = 1, maximum = 1000)]
    pub last: Option<i64>,
}

/// Something that happened; a live stream sends the same, one for each `data:` line.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[schema(as = EventJson)]
pub struct EventBody {
    pub seq: i64,
    pub at: i64,
    #[serde(rename = "type")]
    pub kind: String,
    pub version: i64,
    pub project: Option<String>,
    pub task: Option<String>,
    pub session: Option<String>,
    pub run: Option<String>,
    #[schema(value_type = Object)]
    pub payload: Box<RawValue>,
}

impl EventBody {
    /// What happened, if this program knows events of that kind.
    pub fn event(&self) -> Option<Event> {
        #[derive(Serialize)]
        struct TaggedPayload<'e> {
            #[serde(rename = "type")]
            kind: &'e str,
            payload: &'e RawValue,
        }
        let tagged = serde_json::to_string(&TaggedPayload { kind: &self.kind, payload: &self.payload });
        let event = tagged.and_then(|tagged| serde_json::from_str(&tagged));
        event.inspect_err(|error| tracing::debug!(kind = self.kind, "an event is not known here: {error}")).ok()
    }
}

/// Something that happened to a run.
#[derive(Debug, Clone, Serialize, Deserialize, ToSchema)]
#[schema(as = Entry)]
pub struct RunLogEntry {
    pub seq: i64,
    pub at: i64,
    /// `run:` and what happened.
    #[serde(rename = "type")]
    pub kind: String,
    #[schema(value_type = Object)]
    pub payload: Box<RawValue>,
}

/// What happened, oldest first.
pub fn list(query: &EventQuery) -> ApiRequest<Vec<EventBody>> {
    ApiRequest::get("/api/events").with_query(query)
}
