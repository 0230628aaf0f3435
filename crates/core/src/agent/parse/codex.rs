//! The output of Codex with `exec --json`.
//!
//! The `usage` of `turn.completed` is all that the thread ever spent, also before it was resumed: it is the session's. Of
//! tokens sent it counts those from a cache among them.

use std::collections::BTreeSet;

use serde_json::{Value as Json, json};

use super::json_access::{items, number, owned, text};
use super::tool_call;
use crate::agent::agent_event::{
    AgentEvent, PlanEntry, PlanEntryStatus, Scope, StopReason, Stream, ToolKind, ToolStatus,
};
use crate::agent::failure::failure_event;

/// How many calls are remembered at once.
const MOST_CALLS: usize = 64;

/// How long an id is that can be remembered.
const LONGEST_ID: usize = 128;

/// What is remembered between lines.
#[derive(Debug, Default)]
pub(super) struct CodexParser {
    /// The calls that started and have not ended.
    open: BTreeSet<String>,
    /// An error that the end of the turn repeats.
    held: Option<String>,
}

impl CodexParser {
    /// The events of a line; `None` if it is unknown.
    pub(super) fn read(&mut self, json: &Json) -> Option<Vec<AgentEvent>> {
        Some(match text(json, "type")? {
            "thread.started" | "thread.resumed" => {
                let agent_session = owned(json, "thread_id");
                vec![AgentEvent::Began { agent_session, model: None, version: None }]
            }
            "turn.started" => Vec::new(),
            "item.started" | "item.updated" => self.item(&json["item"], ItemPhase::Before)?,
            "item.completed" => self.item(&json["item"], ItemPhase::After)?,
            "turn.completed" => {
                self.held = None;
                let end = AgentEvent::Ended { stop: StopReason::EndTurn, text: None };
                usage(json).into_iter().chain([end]).collect()
            }
            "turn.failed" => {
                let held = self.held.take();
                let message = text(&json["error"], "message").or(held.as_deref()).unwrap_or("the turn failed");
                vec![failure_event(None, message), AgentEvent::Ended { stop: StopReason::Error, text: None }]
            }
            "error" => self.error(text(json, "message")?),
            _ => return None,
        })
    }

    /// What was held back, if the turn never ended.
    pub(super) fn finish(&mut self) -> Vec<AgentEvent> {
        self.held.take().map(|message| failure_event(None, &message)).into_iter().collect()
    }

    fn error(&mut self, message: &str) -> Vec<AgentEvent> {
        let message: String = message.chars().take(4096).collect();
        if let Some((attempt, most)) = reconnecting(&message) {
            self.held = Some(message);
            return vec![AgentEvent::Retrying { attempt, most: Some(most), delay_ms: 0, status: None }];
        }
        // Each is repeated when the turn fails; only the last matters.
        self.held = Some(message);
        Vec::new()
    }

    fn item(&mut self, item: &Json, moment: ItemPhase) -> Option<Vec<AgentEvent>> {
        let words = || owned(item, "text").filter(|_| moment == ItemPhase::After);
        Some(match text(item, "type")? {
            "agent_message" => words().map(|text| AgentEvent::Said { text }).into_iter().collect(),
            "reasoning" => words().map(|text| AgentEvent::Thought { text }).into_iter().collect(),
            "todo_list" => vec![plan(item)],
            // Such as a notice that a model is not in Codex' list. An error that ends a turn comes with the turn.
            "error" => vec![AgentEvent::Printed { stream: Stream::Err, text: owned(item, "message")? }],
            "command_execution" => self.call(item, moment, "command_execution", &json!({ "command": item["command"] })),
            "file_change" => {
                let mut events = self.call(item, moment, "file_change", &json!({ "changes": item["changes"] }));
                if moment == ItemPhase::After && text(item, "status") == Some("completed") {
                    events.extend(items(item, "changes").iter().filter_map(file_change_event));
                }
                events
            }
            "mcp_tool_call" => {
                let name = format!("mcp__{}__{}", text(item, "server")?, text(item, "tool")?);
                self.call(item, moment, &name, &item["arguments"])
            }
            "web_search" => self.call(item, moment, "web_search", &json!({ "query": item["query"] })),
            _ => return None,
        })
    }

    fn call(&mut self, item: &Json, moment: ItemPhase, name: &str, input: &Json) -> Vec<AgentEvent> {
        let id = text(item, "id").unwrap_or_default();
        let known = self.open.contains(id);
        let began = (!known).then(|| tool_call::tool_started(id, name, input));
        match moment {
            ItemPhase::Before => {
                if self.open.len() < MOST_CALLS && id.len() <= LONGEST_ID {
                    self.open.insert(id.to_owned());
                }
                began.into_iter().collect()
            }
            ItemPhase::After => {
                self.open.remove(id);
                let status = status(item, name);
                let denied =
                    (status == ToolStatus::Denied).then(|| tool_call::denied_event(&format!("{name} {input}")));
                began.into_iter().chain([tool_call::tool_finished(id, status, output(item))]).chain(denied).collect()
            }
        }
    }
}

/// Whether an item is still under way.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ItemPhase {
    Before,
    After,
}

fn status(item: &Json, name: &str) -> ToolStatus {
    match text(item, "status") {
        Some("declined") => ToolStatus::Denied,
        Some("failed") => ToolStatus::Failed,
        _ if tool_call::kind(name) == ToolKind::Execute && item["exit_code"].as_i64().is_some_and(|code| code != 0) => {
            ToolStatus::Failed
        }
        _ if text(&item["error"], "message").is_some() => ToolStatus::Failed,
        _ => ToolStatus::Ok,
    }
}

fn output(item: &Json) -> String {
    let printed = owned(item, "aggregated_output");
    let error = || owned(&item["error"], "message");
    let result = || Some(super::json_access::words(item.get("result")?.get("content")?));
    printed.or_else(error).or_else(result).unwrap_or_default()
}

fn file_change_event(change: &Json) -> Option<AgentEvent> {
    Some(AgentEvent::Changed { path: owned(change, "path")?, added: None, removed: None, diff: owned(change, "diff") })
}

fn plan(item: &Json) -> AgentEvent {
    let entry = |item: &Json| {
        let done = item["completed"].as_bool() == Some(true);
        let status = if done { PlanEntryStatus::Completed } else { PlanEntryStatus::Pending };
        Some(PlanEntry { text: owned(item, "text")?, status })
    };
    AgentEvent::Planned { entries: items(item, "items").iter().filter_map(entry).collect() }
}

fn usage(json: &Json) -> Option<AgentEvent> {
    let usage = json.get("usage")?;
    Some(AgentEvent::Usage {
        scope: Scope::Session,
        input: number(usage, "input_tokens"),
        output: number(usage, "output_tokens"),
        cached: number(usage, "cached_input_tokens"),
        reasoning: number(usage, "reasoning_output_tokens"),
        cost_usd: None,
    })
}

/// The numbers of `Reconnecting... 2/5`.
fn reconnecting(message: &str) -> Option<(u32, u32)> {
    let rest = message.strip_prefix("Reconnecting")?.trim_start_matches(['.', '…', ' ']);
    let (attempt, rest) = rest.split_once('/')?;
    let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
    Some((attempt.parse().ok()?, rest[..end].parse().ok()?))
}
