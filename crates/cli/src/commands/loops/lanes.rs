//! Several runs of one plan: the first creates a branch, and the others join it.

use serde_json::{Value as Json, json};

use crate::client::Client;
use crate::output::error::CommandError;

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
