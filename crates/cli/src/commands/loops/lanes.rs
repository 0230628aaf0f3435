//! How do several runs work through one plan? The first begins a branch, the others join it; whoever steers the first
//! steers them all.

use serde_json::{Value as Json, json};

use super::steer::loops;
use crate::client::{Client, with_query};
use crate::error::CommandError;

/// Begins further runs beside the first one of a plan, so that there are so many. Returns all of them.
pub(super) fn joined(client: &Client, request: &Json, first: &str, many: u32) -> Result<Vec<String>, CommandError> {
    let mut all = vec![first.to_owned()];
    for _ in 1..many {
        let mut body = request.clone();
        body["params"]["lead"] = json!(first);
        let begun: Json = client.post("/api/runs", &body)?;
        all.extend(begun["id"].as_str().map(str::to_owned));
    }
    Ok(all)
}

/// A run and those that joined it, as far as they are still known.
pub(super) fn all_of(client: &Client, run: &str) -> Result<Vec<String>, CommandError> {
    let mut all = vec![run.to_owned()];
    for other in loops(client)? {
        // Names are in the order of time, and whoever joins begins later.
        let Some(id) = other["id"].as_str().filter(|id| *id > run) else { continue };
        if lead_of(client, id)?.as_deref() == Some(run) {
            all.push(id.to_owned());
        }
    }
    Ok(all)
}

/// The run that another one joined.
pub(super) fn lead_of(client: &Client, run: &str) -> Result<Option<String>, CommandError> {
    let first: Vec<Json> = client.get(&with_query("/api/events", &[("runId", Some(run)), ("limit", Some("1"))]))?;
    let lead = first.first().and_then(|event| event["payload"]["params"]["lead"].as_str());
    Ok(lead.filter(|lead| !lead.is_empty()).map(str::to_owned))
}
