//! The output of Goose with `run --output-format stream-json`.
//!
//! The tokens of `complete` are all that the session ever spent, also before it was resumed: they are the session's. An
//! error of the model's server may be printed as a message of the agent, which then ends well.

use serde_json::Value as Json;

use super::json_access::{self, items, money, number, owned, text};
use super::tool_call;
use crate::agent::agent_event::{AgentEvent, Scope, StopReason, ToolStatus};
use crate::agent::failure::failure_event;

/// How an error begins that Goose prints as a message of the agent.
const ERRORS: [&str; 2] = ["Ran into this error:", "Network error:"];

/// With these words a tool's answer begins that the user did not allow.
const DECLINED: &str = "The user has declined";

/// What is remembered between lines.
#[derive(Debug, Default)]
pub(super) struct GooseParser {
    edits: tool_call::PendingEdits,
}

impl GooseParser {
    /// The events of a line; `None` if it is unknown.
    pub(super) fn read(&mut self, json: &Json) -> Option<Vec<AgentEvent>> {
        Some(match text(json, "type")? {
            "message" => {
                let message = &json["message"];
                let speaker =
                    if text(message, "role") == Some("assistant") { GooseSpeaker::Agent } else { GooseSpeaker::Other };
                items(message, "content").iter().flat_map(|part| self.part(part, speaker)).collect()
            }
            "error" => {
                let message = text(json, "error").unwrap_or("unknown error");
                vec![failure_event(None, message), AgentEvent::Ended { stop: StopReason::Error, text: None }]
            }
            "complete" => vec![usage(json), AgentEvent::Ended { stop: StopReason::EndTurn, text: None }],
            _ => return None,
        })
    }

    fn part(&mut self, part: &Json, speaker: GooseSpeaker) -> Vec<AgentEvent> {
        let words = |key| owned(part, key);
        let one = match (text(part, "type"), speaker) {
            (Some("text"), GooseSpeaker::Agent) => words("text").map(message_or_failure),
            (Some("thinking"), _) => words("thinking").map(|text| AgentEvent::Thought { text }),
            (Some("reasoning"), _) => words("text").map(|text| AgentEvent::Thought { text }),
            (Some("error"), _) => words("message").map(|message| failure_event(None, &message)),
            (Some("systemNotification"), _) => words("msg").map(|message| super::output_event(&message)),
            (Some("toolRequest"), _) => return self.request(part),
            (Some("toolResponse"), _) => return self.response(part),
            _ => None,
        };
        one.into_iter().collect()
    }

    fn request(&mut self, part: &Json) -> Vec<AgentEvent> {
        let Some(id) = text(part, "id") else { return Vec::new() };
        let called = &part["toolCall"];
        let Some(name) = text(&called["value"], "name") else {
            let error = text(called, "error").unwrap_or("malformed tool call");
            return vec![
                tool_call::tool_started(id, "unknown", &Json::Null),
                tool_call::tool_finished(id, ToolStatus::Failed, error.to_owned()),
            ];
        };
        let input = &called["value"]["arguments"];
        self.edits.note(id, name, input);
        vec![tool_call::tool_started(id, name, input)]
    }

    fn response(&mut self, part: &Json) -> Vec<AgentEvent> {
        let Some(id) = text(part, "id") else { return Vec::new() };
        let (result, value) = (&part["toolResult"], &part["toolResult"]["value"]);
        let output = owned(result, "error").unwrap_or_else(|| json_access::words(&value["content"]));
        let failed = text(result, "status") == Some("error") || value["isError"].as_bool() == Some(true);
        let (status, denied) = match failed {
            _ if output.starts_with(DECLINED) => (ToolStatus::Denied, Some(tool_call::denied_event(&output))),
            true => (ToolStatus::Failed, None),
            false => (ToolStatus::Ok, None),
        };
        let changed = self.edits.finish_edit(id, status);
        changed.into_iter().chain([tool_call::tool_finished(id, status, output)]).chain(denied).collect()
    }
}

/// Who wrote a message: tools answer in messages of the user's.
#[derive(Clone, Copy)]
enum GooseSpeaker {
    Agent,
    Other,
}

/// The event of a message of Goose, in either protocol.
pub fn message_or_failure(text: String) -> AgentEvent {
    if ERRORS.iter().any(|words| text.starts_with(words)) {
        failure_event(None, &text)
    } else {
        AgentEvent::Said { text }
    }
}

fn usage(json: &Json) -> AgentEvent {
    AgentEvent::Usage {
        scope: Scope::Session,
        input: number(json, "input_tokens"),
        output: number(json, "output_tokens"),
        cached: number(json, "cache_read_input_tokens"),
        reasoning: None,
        cost_usd: money(json, "cost_usd"),
    }
}
