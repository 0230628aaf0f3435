//! The output of `OpenCode` with `run --format json`.
//!
//! The `tokens` of `step_finish` are of that one request, so they are a turn's. Tokens from a cache are counted apart
//! from those sent, and thoughts apart from what came back if only so the sum is right.

use serde_json::Value as Json;

use super::json_access::{money, number, owned, status, text};
use super::tool_call;
use crate::agent::agent_event::{AgentEvent, FailureKind, Scope, StopReason, ToolKind, ToolStatus};
use crate::agent::failure::failure_event;

/// What is remembered between lines.
#[derive(Debug, Default)]
pub(super) struct OpencodeParser {
    /// Whether the start was reported: each line names the session, none says that it starts.
    began: bool,
}

impl OpencodeParser {
    /// The events of a line; `None` if it is unknown.
    pub(super) fn read(&mut self, json: &Json) -> Option<Vec<AgentEvent>> {
        let part = &json["part"];
        let known = match text(json, "type")? {
            "step_start" => Vec::new(),
            "text" => vec![AgentEvent::Said { text: owned(part, "text")? }],
            "reasoning" => vec![AgentEvent::Thought { text: owned(part, "text")? }],
            "tool_use" => tool(part)?,
            "step_finish" => step(part),
            "error" => vec![error(&json["error"])],
            _ => return None,
        };
        let agent_session = owned(json, "sessionID").filter(|_| !self.began);
        self.began |= agent_session.is_some();
        let began =
            agent_session.map(|session| AgentEvent::Began { agent_session: Some(session), model: None, version: None });
        Some(began.into_iter().chain(known).collect())
    }
}

fn tool(part: &Json) -> Option<Vec<AgentEvent>> {
    let (id, name, state) = (text(part, "callID")?, text(part, "tool")?, &part["state"]);
    let mut events = vec![tool_call::tool_started(id, name, &state["input"])];
    let exit = state["metadata"]["exit"].as_i64();
    let (outcome, output) = match text(state, "status") {
        Some("error") => {
            let error = owned(state, "error").unwrap_or_default();
            let denied = error.contains("rejected permission") || error.contains("prevents you from using");
            (if denied { ToolStatus::Denied } else { ToolStatus::Failed }, error)
        }
        Some("completed") if exit.is_some_and(|code| code != 0) => {
            (ToolStatus::Failed, owned(state, "output").unwrap_or_default())
        }
        Some("completed") => (ToolStatus::Ok, owned(state, "output").unwrap_or_default()),
        _ => return Some(events),
    };
    if outcome == ToolStatus::Denied {
        events.push(tool_call::denied_event(&format!("{name}: {output}")));
    }
    if outcome == ToolStatus::Ok && tool_call::kind(name) == ToolKind::Edit {
        events.extend(file_change_event(state));
    }
    events.push(tool_call::tool_finished(id, outcome, output));
    Some(events)
}

fn file_change_event(state: &Json) -> Option<AgentEvent> {
    let (metadata, diff) = (&state["metadata"], &state["metadata"]["filediff"]);
    let path =
        owned(diff, "file").or_else(|| owned(metadata, "filepath")).or_else(|| owned(&state["input"], "filePath"))?;
    let (added, removed) = (number(diff, "additions"), number(diff, "deletions"));
    Some(AgentEvent::Changed { path, added, removed, diff: owned(metadata, "diff") })
}

fn step(part: &Json) -> Vec<AgentEvent> {
    let stop = match text(part, "reason") {
        Some("stop") => Some(StopReason::EndTurn),
        Some("length") => Some(StopReason::MaxTurns),
        Some("content-filter") => Some(StopReason::Refused),
        Some("error") => Some(StopReason::Error),
        _ => None,
    };
    usage(part).into_iter().chain(stop.map(|stop| AgentEvent::Ended { stop, text: None })).collect()
}

fn usage(part: &Json) -> Option<AgentEvent> {
    let tokens = part.get("tokens")?;
    let (fresh, back, reasoning) = (number(tokens, "input")?, number(tokens, "output")?, number(tokens, "reasoning"));
    let cache = tokens.get("cache");
    let kept = |key| cache.and_then(|cache| number(cache, key));
    let (cached, written) = (kept("read"), kept("write").unwrap_or_default());
    let input = fresh + cached.unwrap_or_default() + written;
    let thoughts = reasoning.unwrap_or_default();
    let apart = number(tokens, "total") == Some(input + back + thoughts);
    let output = Some(if apart { back + thoughts } else { back });
    let cost_usd = money(part, "cost");
    Some(AgentEvent::Usage { scope: Scope::Turn, input: Some(input), output, cached, reasoning, cost_usd })
}

fn error(error: &Json) -> AgentEvent {
    let (name, data) = (text(error, "name").unwrap_or("error"), &error["data"]);
    let message = text(data, "message").unwrap_or(name);
    let code = status(data, "statusCode");
    // Some errors have only a name.
    let mut told = match failure_event(code, message) {
        AgentEvent::Trouble { kind: FailureKind::Other, .. } => failure_event(code, &format!("{name}: {message}")),
        told => told,
    };
    if let AgentEvent::Trouble { retry_after_ms: wait @ None, .. } = &mut told {
        let seconds = text(&data["responseHeaders"], "retry-after").and_then(|text| text.trim().parse::<u64>().ok());
        *wait = seconds.map(|seconds| seconds.saturating_mul(1000));
    }
    told
}
