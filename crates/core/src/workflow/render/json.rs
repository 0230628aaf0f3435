//! How is somebody told in JSON? A directive and a finished run exactly as they are, anything else as a small object.

use serde::Serialize;
use serde_json::json;

use crate::workflow::told::{Now, Told};

/// What is to be done now; news are no part of it.
pub(super) fn page(told: &Told) -> String {
    let run = &told.run;
    match &told.now {
        Now::Directive { directive } => pretty(directive),
        Now::Finished { finished, .. } => pretty(finished),
        Now::Busy { step, title } => pretty(&json!({"run": run, "status": "running", "step": step, "title": title})),
        Now::Paused => pretty(&json!({"run": run, "status": "paused"})),
        Now::Handed(handed) => pretty(&json!({
            "run": run,
            "status": "reported",
            "child": handed.child,
            "outcome": handed.outcome,
            "open": handed.open,
            "parent": handed.parent,
        })),
    }
}

fn pretty(value: &impl Serialize) -> String {
    let mut text = serde_json::to_string_pretty(value).unwrap_or_default();
    text.push('\n');
    text
}
