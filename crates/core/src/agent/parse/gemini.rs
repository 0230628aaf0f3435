//! The output of Gemini CLI with `--output-format stream-json`.
//!
//! The `stats` of the `result` are what the process spent; a session resumed without a terminal begins at nothing, so they
//! are a turn's. Thoughts are only in the total, and are paid for like what came back.

use serde_json::Value as Json;

use super::json_access::{number, owned, text};
use super::tool_call;
use crate::agent::agent_event::{AgentEvent, FailureKind, Scope, StopReason, Stream, ToolStatus};
use crate::agent::failure::failure_event;

/// What is remembered between lines.
#[derive(Debug, Default)]
pub(super) struct GeminiParser {
    edits: tool_call::PendingEdits,
}

impl GeminiParser {
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
                vec![tool_call::tool_started(id, name, input)]
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
            (_, Some("policy_violation")) => (ToolStatus::Denied, Some(tool_call::denied_event(&output))),
            (Some("error"), _) => (ToolStatus::Failed, None),
            _ => (ToolStatus::Ok, None),
        };
        let changed = self.edits.finish_edit(id, status);
        Some(changed.into_iter().chain([tool_call::tool_finished(id, status, output)]).chain(denied).collect())
    }
}

/// A warning counts as trouble only if it is known what it means.
fn error(json: &Json) -> AgentEvent {
    let message = text(json, "message").unwrap_or("unknown error");
    let told = failure_event(None, message);
    match told {
        AgentEvent::Trouble { kind: FailureKind::Other, .. } if text(json, "severity") == Some("warning") => {
            AgentEvent::Printed { stream: Stream::Err, text: message.to_owned() }
        }
        told => told,
    }
}

fn result(json: &Json) -> Vec<AgentEvent> {
    let failed = text(json, "status") == Some("error");
    let error = &json["error"];
    let stop = match (failed, text(error, "type")) {
        (false, _) => StopReason::EndTurn,
        (true, Some("FatalTurnLimitedError")) => StopReason::MaxTurns,
        (true, Some("FatalCancellationError")) => StopReason::Cancelled,
        (true, _) => StopReason::Error,
    };
    let trouble = failed.then(|| failure_event(None, text(error, "message").unwrap_or("unknown error")));
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
