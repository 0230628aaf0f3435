//! The output of Gemini CLI with `--output-format stream-json`.
//!
//! The `stats` of the `result` are what the process spent; a session resumed without a terminal begins at nothing, so they
//! are a turn's. Thoughts are only in the total, and are paid for like what came back.

use serde_json::Value as Json;

use super::call;
use super::look::{number, owned, text};
use crate::agent::event::{AgentEvent, Scope, Stop, Stream, ToolStatus, TroubleKind};
use crate::agent::trouble::trouble;

/// What is remembered between lines.
#[derive(Debug, Default)]
pub(super) struct Gemini {
    edits: call::Edits,
}

impl Gemini {
    /// The events of a line; `None` if it is unknown.
    pub(super) fn read(&mut self, json: &Json) -> Option<Vec<AgentEvent>> {
        Some(match text(json, "type")? {
            "init" => {
                let (agent_session, model) = (owned(json, "session_id"), owned(json, "model"));
                vec![AgentEvent::Began { agent_session, model, version: None }]
            }
            "message" if text(json, "role") == Some("assistant") => {
                vec![AgentEvent::Said { text: owned(json, "content")? }]
            }
            // The prompt.
            "message" => Vec::new(),
            "tool_use" => {
                let (id, name, input) = (text(json, "tool_id")?, text(json, "tool_name")?, &json["parameters"]);
                self.edits.note(id, name, input);
                vec![call::began(id, name, input)]
            }
            "tool_result" => self.tool_result(json)?,
            "error" => vec![error(json)],
            "result" => result(json),
            _ => return None,
        })
    }

    fn tool_result(&mut self, json: &Json) -> Option<Vec<AgentEvent>> {
        let id = text(json, "tool_id")?;
        let said = || owned(json.get("error")?, "message");
        let output = owned(json, "output").filter(|output| !output.is_empty()).or_else(said).unwrap_or_default();
        let (status, denied) = match (text(json, "status"), text(&json["error"], "type")) {
            (_, Some("policy_violation")) => (ToolStatus::Denied, Some(call::denied(&output))),
            (Some("error"), _) => (ToolStatus::Failed, None),
            _ => (ToolStatus::Ok, None),
        };
        let changed = self.edits.ended(id, status);
        Some(changed.into_iter().chain([call::ended(id, status, output)]).chain(denied).collect())
    }
}

/// A warning counts as trouble only if it is known what it means.
fn error(json: &Json) -> AgentEvent {
    let message = text(json, "message").unwrap_or("unknown error");
    let told = trouble(None, message);
    match told {
        AgentEvent::Trouble { kind: TroubleKind::Other, .. } if text(json, "severity") == Some("warning") => {
            AgentEvent::Printed { stream: Stream::Err, text: message.to_owned() }
        }
        told => told,
    }
}

fn result(json: &Json) -> Vec<AgentEvent> {
    let failed = text(json, "status") == Some("error");
    let error = &json["error"];
    let stop = match (failed, text(error, "type")) {
        (false, _) => Stop::EndTurn,
        (true, Some("FatalTurnLimitedError")) => Stop::MaxTurns,
        (true, Some("FatalCancellationError")) => Stop::Cancelled,
        (true, _) => Stop::Error,
    };
    let trouble = failed.then(|| trouble(None, text(error, "message").unwrap_or("unknown error")));
    usage(json).into_iter().chain(trouble).chain([AgentEvent::Ended { stop, text: None }]).collect()
}

fn usage(json: &Json) -> Option<AgentEvent> {
    let stats = json.get("stats")?;
    let (input, output) = (number(stats, "input_tokens"), number(stats, "output_tokens"));
    let in_total = input.zip(number(stats, "total_tokens")).map(|(input, total)| total.saturating_sub(input));
    let output = output.max(in_total);
    let cached = number(stats, "cached");
    Some(AgentEvent::Usage { scope: Scope::Turn, input, output, cached, reasoning: None, cost_usd: None })
}
