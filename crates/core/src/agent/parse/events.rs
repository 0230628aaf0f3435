//! What does an agent tell that speaks our own vocabulary? Our demonstration agent does, and anybody's may.

use serde_json::Value as Json;

use crate::agent::event::AgentEvent;

/// What a line tells; nothing that is known, if it is no event.
pub(super) fn read(json: Json) -> Option<Vec<AgentEvent>> {
    serde_json::from_value(json).ok().map(|event| vec![event])
}
