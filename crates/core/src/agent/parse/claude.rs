//! The output of Claude Code with `--output-format stream-json`.
//!
//! The `usage` of a message is not reported: it is of one request and comes several times. That of the `result` is a
//! turn's, but its cost is all that the process spent; a resumed process begins at nothing. Of tokens sent it counts those
//! written to and read from a cache apart.

use serde_json::Value as Json;

use super::json_access::{self, items, money, number, owned, text};
use super::{output_event, tool_call};
use crate::agent::agent_event::{AgentEvent, FailureKind, PlanEntry, PlanEntryStatus, Scope, StopReason, ToolStatus};
use crate::agent::failure::{classify_failure, failure_event};

/// How many denials are reported at most.
const MOST_DENIALS: usize = 100;

/// How much of how it began is kept.
const LONGEST_BEGINNING: usize = 16 * 1024;
/// How many characters of an error are held back at most.
const LONGEST_ERROR: usize = 4096;

/// What is remembered between lines.
#[derive(Debug, Default)]
pub(super) struct ClaudeParser {
    /// An error printed as a message of the agent; the result repeats it with its status.
    held: Option<String>,
    /// How it started; each turn repeats that.
    began: Option<AgentEvent>,
    /// What the turns before this one cost.
    paid: f64,
    /// The calls that were denied by the user; they are not reported again.
    denied: Vec<String>,
}

impl ClaudeParser {
    /// The events of a line; `None` if it is unknown.
    pub(super) fn read(&mut self, json: &Json) -> Option<Vec<AgentEvent>> {
        Some(match text(json, "type")? {
            "system" => self.system(json)?,
            "assistant" => self.assistant(json),
            "user" => self.user(json),
            "result" => self.result(json),
            "rate_limit_event" => rate_limit(json),
            // Pieces of a message that also comes whole.
            "stream_event" => Vec::new(),
            _ => return None,
        })
    }

    /// What was held back, if no result came.
    pub(super) fn finish(&mut self) -> Vec<AgentEvent> {
        self.held.take().map(|message| failure_event(None, &message)).into_iter().collect()
    }

    /// Records that a call was denied.
    pub(super) fn deny(&mut self, call: &str) {
        if self.denied.len() < MOST_DENIALS {
            self.denied.push(call.to_owned());
        }
    }

    fn is_denied(&self, call: &str) -> bool {
        self.denied.iter().any(|denied| denied == call)
    }

    fn system(&mut self, json: &Json) -> Option<Vec<AgentEvent>> {
        let event = system(json)?;
        if matches!(event, AgentEvent::Began { .. }) {
            if self.began.as_ref() == Some(&event) {
                return Some(Vec::new());
            }
            // An overlong error is reported again rather than kept.
            self.began = Some(event.clone()).filter(|event| format!("{event:?}").len() < LONGEST_BEGINNING);
        }
        Some(vec![event])
    }

    fn user(&self, json: &Json) -> Vec<AgentEvent> {
        let results = items(&json["message"], "content").iter().filter_map(|block| {
            let id = text(block, "tool_use_id")?;
            let status = match failed(block) {
                true if self.is_denied(id) => ToolStatus::Denied,
                true => ToolStatus::Failed,
                false => ToolStatus::Ok,
            };
            Some(tool_call::tool_finished(id, status, json_access::words(&block["content"])))
        });
        results.chain(file_change_event(&json["tool_use_result"])).collect()
    }

    fn assistant(&mut self, json: &Json) -> Vec<AgentEvent> {
        let content = items(&json["message"], "content");
        if let Some(error) = text(json, "error") {
            let words = json_access::words(&json["message"]["content"]);
            self.held = Some(format!("{words} ({error})").chars().take(LONGEST_ERROR).collect());
            return Vec::new();
        }
        let speaker =
            if json["parent_tool_use_id"].is_string() { ClaudeSpeaker::SubAgent } else { ClaudeSpeaker::Agent };
        content.iter().flat_map(|block| block_of(block, speaker)).collect()
    }

    fn result(&mut self, json: &Json) -> Vec<AgentEvent> {
        let held = self.held.take();
        let mut events = usage(json, self.paid);
        self.paid = money(json, "total_cost_usd").unwrap_or(self.paid);
        for denial in items(json, "permission_denials").iter().take(MOST_DENIALS) {
            let (Some(name), Some(id)) = (text(denial, "tool_name"), text(denial, "tool_use_id")) else { continue };
            if self.is_denied(id) {
                continue;
            }
            let AgentEvent::ToolBegan { title, .. } = tool_call::tool_started(id, name, &denial["tool_input"]) else {
                continue;
            };
            events.push(tool_call::tool_finished(id, ToolStatus::Denied, "not allowed".to_owned()));
            events.push(tool_call::denied_event(&title));
        }
        let last = owned(json, "result");
        self.denied.clear();
        let stop = stop(json);
        if failed(json) && stop != StopReason::Cancelled {
            let errors: Vec<&str> = items(json, "errors").iter().filter_map(Json::as_str).collect();
            let said = last.clone().filter(|said| !said.is_empty()).unwrap_or_else(|| errors.join("\n"));
            events.push(failure(json_access::status(json, "api_error_status"), &said, held.as_deref()));
        }
        events.push(AgentEvent::Ended { stop, text: last });
        events
    }
}

/// The agent's message, unless only its error code shows the kind of error.
fn failure(status: Option<u16>, said: &str, held: Option<&str>) -> AgentEvent {
    match held {
        Some(held) if classify_failure(status, said) == FailureKind::Other => failure_event(status, held),
        _ => failure_event(status, said),
    }
}

/// The agent, or one that it started itself.
#[derive(Clone, Copy)]
enum ClaudeSpeaker {
    Agent,
    SubAgent,
}

fn failed(json: &Json) -> bool {
    json["is_error"].as_bool() == Some(true)
}

fn stop(json: &Json) -> StopReason {
    if text(json, "terminal_reason").is_some_and(|reason| reason.starts_with("aborted_")) {
        return StopReason::Cancelled;
    }
    match (text(json, "subtype"), text(json, "stop_reason")) {
        (Some("error_max_turns" | "error_max_budget_usd"), _) => StopReason::MaxTurns,
        (_, Some("refusal")) => StopReason::Refused,
        (Some("success"), _) if !failed(json) => StopReason::EndTurn,
        _ => StopReason::Error,
    }
}

fn system(json: &Json) -> Option<AgentEvent> {
    match text(json, "subtype")? {
        "init" => Some(AgentEvent::Began {
            agent_session: owned(json, "session_id"),
            model: owned(json, "model"),
            version: owned(json, "claude_code_version"),
        }),
        "api_retry" => {
            let count = |key| number(json, key).and_then(|count| u32::try_from(count).ok());
            Some(AgentEvent::Retrying {
                attempt: count("attempt").unwrap_or_default(),
                most: count("max_retries"),
                delay_ms: number(json, "retry_delay_ms").unwrap_or_default(),
                status: json_access::status(json, "error_status"),
            })
        }
        _ => None,
    }
}

/// The events of a block of a message. What a sub-agent says is not shown to the user.
fn block_of(block: &Json, speaker: ClaudeSpeaker) -> Vec<AgentEvent> {
    match text(block, "type") {
        Some("text") => owned(block, "text").map(|text| message_event(text, speaker)).into_iter().collect(),
        Some("thinking") => owned(block, "thinking").map(|text| AgentEvent::Thought { text }).into_iter().collect(),
        Some("tool_use" | "server_tool_use") => {
            let (Some(id), Some(name)) = (text(block, "id"), text(block, "name")) else { return Vec::new() };
            let began = tool_call::tool_started(id, name, &block["input"]);
            std::iter::once(began).chain(plan(name, &block["input"])).collect()
        }
        _ => Vec::new(),
    }
}

fn message_event(text: String, speaker: ClaudeSpeaker) -> AgentEvent {
    match speaker {
        ClaudeSpeaker::Agent => AgentEvent::Said { text },
        ClaudeSpeaker::SubAgent => AgentEvent::Thought { text },
    }
}

fn plan(name: &str, input: &Json) -> Option<AgentEvent> {
    if name != "TodoWrite" {
        return None;
    }
    let entry = |todo: &Json| {
        let status = text(todo, "status").and_then(|word| word.parse().ok()).unwrap_or(PlanEntryStatus::Pending);
        Some(PlanEntry { text: owned(todo, "content")?, status })
    };
    Some(AgentEvent::Planned { entries: items(input, "todos").iter().filter_map(entry).collect() })
}

fn file_change_event(result: &Json) -> Option<AgentEvent> {
    let path = owned(result, "filePath")?;
    let hunks = result.get("structuredPatch")?.as_array()?;
    let lines: Vec<&str> = hunks.iter().flat_map(|hunk| items(hunk, "lines")).filter_map(Json::as_str).collect();
    let count = |sign: char| lines.iter().filter(|line| line.starts_with(sign)).count() as u64;
    let created = text(result, "content").filter(|_| hunks.is_empty()).map(|content| content.lines().count() as u64);
    Some(AgentEvent::Changed {
        path,
        added: Some(created.unwrap_or_else(|| count('+'))),
        removed: Some(count('-')),
        diff: (!lines.is_empty()).then(|| lines.join("\n")),
    })
}

fn usage(json: &Json, paid: f64) -> Vec<AgentEvent> {
    let Some(usage) = json.get("usage") else { return Vec::new() };
    let part = |key| number(usage, key);
    let cached = part("cache_read_input_tokens");
    let written = part("cache_creation_input_tokens").unwrap_or_default();
    let input = part("input_tokens").map(|fresh| fresh + written + cached.unwrap_or_default());
    let cost_usd = money(json, "total_cost_usd").map(|all| (all - paid).max(0.0));
    let output = part("output_tokens");
    vec![AgentEvent::Usage { scope: Scope::Turn, input, output, cached, reasoning: None, cost_usd }]
}

fn rate_limit(json: &Json) -> Vec<AgentEvent> {
    let info = &json["rate_limit_info"];
    match text(info, "status") {
        Some("rejected") => {
            let kind = text(info, "rateLimitType").unwrap_or("usage");
            let until = number(info, "resetsAt").map(|at| format!(", resets at {at}")).unwrap_or_default();
            vec![failure_event(Some(429), &format!("rate limit ({kind}) reached{until}"))]
        }
        Some(_) => Vec::new(),
        None => vec![output_event(&json.to_string())],
    }
}
