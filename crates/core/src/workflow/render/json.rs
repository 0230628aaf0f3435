//! The JSON form: a directive and a finished run as they are, anything else as a small object.

use serde::Serialize;
use serde_json::{Map, json};

use crate::workflow::directive::Directive;
use crate::workflow::run_reply::{NextAction, RunReply};

/// What is to be done now; updates are no part of it.
pub(super) fn page(told: &RunReply) -> String {
    let run = &told.run;
    match &told.next {
        NextAction::Directive { directive } => pretty(&unspoilt(directive)),
        NextAction::Finished { finished, .. } => pretty(finished),
        NextAction::Busy { step, title, phase } => {
            let mut busy = json!({"run": run, "status": "running", "step": step, "title": title});
            if let (Some(phase), Some(busy)) = (phase, busy.as_object_mut()) {
                busy.insert("phase".to_owned(), json!(phase));
            }
            pretty(&busy)
        }
        NextAction::Paused => pretty(&json!({"run": run, "status": "paused"})),
        NextAction::Noted { step, title } => {
            pretty(&json!({"run": run, "status": "noted", "step": step, "title": title}))
        }
        NextAction::Handed(handed) => pretty(&json!({
            "run": run,
            "status": "reported",
            "child": handed.child,
            "outcome": handed.outcome,
            "open": handed.open,
            "parent": handed.parent,
        })),
    }
}

/// The directive without the inputs of a sub-agent's own run: the sub-agent gets them when it starts that run.
fn unspoilt(directive: &Directive) -> Directive {
    let mut directive = Directive { authored: Vec::new(), ..directive.clone() };
    for child in directive.dispatches.iter_mut().filter(|child| child.workflow.is_some()) {
        (child.with, child.items, child.prompt) = (Map::new(), Vec::new(), None);
    }
    directive
}

fn pretty(value: &impl Serialize) -> String {
    // Values of our own with text as keys can always be written.
    let mut text = serde_json::to_string_pretty(value).unwrap_or_default();
    text.push('\n');
    text
}
