//! The output of an agent that prints Maestro's own events, such as the demonstration agent.

use serde_json::Value as Json;

use crate::agent::agent_event::AgentEvent;

/// The event of a line; `None` if it is not an event.
pub(super) fn read(json: Json) -> Option<Vec<AgentEvent>> {
    serde_json::from_value(json).ok().map(|event| vec![event])
}
