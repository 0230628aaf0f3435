//! Events in the updates of the Agent Client Protocol, read leniently: agents interpret it differently.

use std::collections::HashMap;

use maestro_core::agent::{
    AgentEvent, PermissionChoice, PermissionChoiceKind, PlanEntry, PlanEntryStatus, Scope, StopReason, ToolKind,
    ToolStatus, goose_said,
};
use serde_json::{Value as Json, json};

use super::super::approvals;
use super::turn_usage::{TurnRequests, TurnTokens};

/// How many calls are remembered. With more open calls, the oldest are forgotten and announced again.
const MOST_CALLS: usize = 4096;

/// The prefix of Gemini CLI's command titles.
const GEMINI_SHELL: &str = "run_shell_command_";

/// The calls and the cost of a session so far.
#[derive(Debug, Default)]
pub(super) struct CallTracker {
    calls: HashMap<String, TrackedCall>,
    cost: Option<f64>,
    requests: TurnRequests,
}

/// A running call.
#[derive(Debug, Clone, Default)]
struct TrackedCall {
    title: String,
    name: String,
    kind: Option<ToolKind>,
    input: Json,
    changed: Vec<AgentEvent>,
    standing: CallState,
}

/// The state of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum CallState {
    /// Not announced yet.
    #[default]
    New,
    Reported,
    /// Denied.
    Denied,
}

impl CallTracker {
    /// The cost of a session in USD so far, as it reports.
    pub(super) fn cost(&self) -> Option<f64> {
        self.cost
    }

    /// The tokens of the requests since this was asked last, as far as it reports them.
    pub(super) fn take_requests(&mut self) -> TurnTokens {
        self.requests.take()
    }

    /// A call in one line, as far as it is known.
    pub(super) fn title(&self, told: &Json) -> String {
        let known = told["toolCallId"].as_str().and_then(|id| self.calls.get(id));
        known.map(|call| call.title.clone()).filter(|title| !title.is_empty()).unwrap_or_else(|| "a tool".to_owned())
    }

    /// Marks a call as denied.
    pub(super) fn deny(&mut self, id: &str) {
        if let Some(call) = self.calls.get_mut(id) {
            call.standing = CallState::Denied;
        }
    }

    /// The events in an update.
    pub(super) fn update(&mut self, update: &Json) -> Vec<AgentEvent> {
        match update["sessionUpdate"].as_str().unwrap_or_default() {
            // Goose reports provider errors as text, and then ends normally.
            "agent_message_chunk" if update["_meta"]["goose"].is_object() => {
                vec![goose_said(content(&update["content"]))]
            }
            "agent_message_chunk" if let Some(spent) = self.requests.request(&update["_meta"]["usage"]) => {
                let text = content(&update["content"]);
                let said = (!text.is_empty()).then_some(AgentEvent::Said { text });
                said.into_iter().chain([spent]).collect()
            }
            "agent_message_chunk" => vec![AgentEvent::Said { text: content(&update["content"]) }],
            "agent_thought_chunk" => vec![AgentEvent::Thought { text: content(&update["content"]) }],
            "tool_call" | "tool_call_update" => self.call(update),
            "plan" => vec![AgentEvent::Planned { entries: plan(&update["entries"]) }],
            "usage_update" => {
                let cost = &update["cost"];
                if cost["currency"].as_str().is_none_or(|currency| currency == "USD") {
                    self.cost = cost["amount"].as_f64().or(self.cost);
                }
                let context = (update["used"].as_u64(), update["size"].as_u64());
                let (Some(used), Some(size)) = context else { return Vec::new() };
                self.requests.add_context(used);
                vec![AgentEvent::Context { used, size }]
            }
            // Our own messages, and updates about the agent's own interface.
            _ => Vec::new(),
        }
    }

    /// The events about a call, from an update or a permission request: some agents mention a call only when they ask.
    pub(super) fn call(&mut self, told: &Json) -> Vec<AgentEvent> {
        let Some(id) = told["toolCallId"].as_str() else { return Vec::new() };
        if self.calls.len() >= MOST_CALLS {
            self.calls.clear();
        }
        let call = self.calls.entry(id.to_owned()).or_default();
        let news = call.merge(told) || call.standing == CallState::New;
        let mut events = Vec::new();
        let over = match told["status"].as_str() {
            Some("completed") => Some(ToolStatus::Ok),
            Some("failed") if call.standing == CallState::Denied => Some(ToolStatus::Denied),
            Some("failed") => Some(ToolStatus::Failed),
            _ => None,
        };
        if news {
            if call.standing == CallState::New {
                call.standing = CallState::Reported;
            }
            events.push(AgentEvent::ToolBegan {
                id: id.to_owned(),
                name: call.name.clone(),
                title: call.title.clone(),
                kind: call.kind.filter(|kind| *kind != ToolKind::Other).unwrap_or_else(|| call.infer_kind()),
                input: call.input.clone(),
            });
        }
        if let Some(status) = over {
            if status == ToolStatus::Ok {
                events.append(&mut call.changed);
            }
            events.push(AgentEvent::ToolEnded { id: id.to_owned(), status, output: output(told) });
            self.calls.remove(id);
        }
        events
    }
}

impl TrackedCall {
    /// Whether it holds anything new for people.
    fn merge(&mut self, told: &Json) -> bool {
        let mut news = false;
        if let Some(title) = told["title"].as_str().filter(|title| *title != self.title) {
            title.clone_into(&mut self.title);
            news = true;
        }
        if let Some(input) = told.get("rawInput").filter(|input| !input.is_null() && **input != self.input) {
            self.input = input.clone();
            news = true;
        }
        if let Some(kind) = told["kind"].as_str() {
            self.kind = Some(tool_kind(kind));
        }
        // Gemini CLI puts the whole command in the title of its call, and sends no input.
        if self.input.is_null() && told["toolCallId"].as_str().is_some_and(|id| id.starts_with(GEMINI_SHELL)) {
            self.input = json!({ "command": self.title });
        }
        if let Some(name) = told["_meta"]["claudeCode"]["toolName"].as_str() {
            name.clone_into(&mut self.name);
        } else if self.name.is_empty() {
            // Goose puts the tool in the title only, and sends no kind.
            let titled = self.title.split_once(" · ").map(|(name, _)| name);
            titled.or(told["kind"].as_str()).unwrap_or("tool").clone_into(&mut self.name);
        }
        let diffs = told["content"].as_array().into_iter().flatten().filter(|part| part["type"] == "diff");
        let changed: Vec<AgentEvent> = diffs.filter_map(file_change).collect();
        if !changed.is_empty() {
            self.changed = changed;
        }
        news
    }

    /// The action where no kind is given; Goose calls everything `other` when it asks.
    fn infer_kind(&self) -> ToolKind {
        match self.name.as_str() {
            _ if self.input["command"].is_string() => ToolKind::Execute,
            "write" | "edit" if self.input["path"].is_string() => ToolKind::Edit,
            _ => ToolKind::Other,
        }
    }
}

/// A change of a file, counted where that is simple.
fn file_change(diff: &Json) -> Option<AgentEvent> {
    let path = diff["path"].as_str()?.to_owned();
    let is_new = diff["oldText"].as_str().is_none_or(str::is_empty);
    let added = diff["newText"].as_str().filter(|_| is_new).map(|text| text.lines().count() as u64);
    Some(AgentEvent::Changed { path, added, removed: added.map(|_| 0), diff: None })
}

fn tool_kind(word: &str) -> ToolKind {
    match word {
        "delete" | "move" => ToolKind::Edit,
        word => word.parse().unwrap_or(ToolKind::Other),
    }
}

/// The text of a call's result.
fn output(told: &Json) -> String {
    let parts = told["content"].as_array().into_iter().flatten();
    let texts: Vec<String> =
        parts.filter(|part| part["type"] == "content").map(|part| content(&part["content"])).collect();
    if !texts.is_empty() {
        return texts.join("\n");
    }
    match &told["rawOutput"] {
        Json::Null => String::new(),
        Json::String(text) => text.clone(),
        other => other["output"].as_str().map_or_else(|| other.to_string(), str::to_owned),
    }
}

/// A block of content as text.
fn content(block: &Json) -> String {
    let resource = || block["uri"].as_str().or(block["resource"]["uri"].as_str()).map(|uri| format!("[{uri}]"));
    let text = block["text"].as_str().or(block["resource"]["text"].as_str()).map(str::to_owned);
    text.or_else(resource).unwrap_or_else(|| format!("[{}]", block["type"].as_str().unwrap_or("something")))
}

fn plan(entries: &Json) -> Vec<PlanEntry> {
    let entries = entries.as_array().into_iter().flatten();
    let entry = |entry: &Json| PlanEntry {
        text: entry["content"].as_str().unwrap_or_default().to_owned(),
        status: entry["status"].as_str().and_then(|word| word.parse().ok()).unwrap_or(PlanEntryStatus::Pending),
    };
    entries.map(entry).collect()
}

/// The possible answers to a request.
pub(super) fn choices(options: &Json) -> Vec<PermissionChoice> {
    let options = options.as_array().into_iter().flatten();
    let choice = |option: &Json| {
        let id = option["optionId"].as_str()?.to_owned();
        let name = option["name"].as_str().unwrap_or(&id).to_owned();
        Some(PermissionChoice { kind: option["kind"].as_str()?.parse::<PermissionChoiceKind>().ok()?, id, name })
    };
    options.filter_map(choice).collect()
}

/// The exact action of a request.
pub(super) fn detail(call: &Json) -> String {
    approvals::detail(&call["rawInput"]).unwrap_or_else(|| output(call))
}

/// The events at the end of a turn: how it ended, and its usage. `cost` is that of this turn.
pub(super) fn turn_end(result: &Json, cost: Option<f64>) -> (Option<AgentEvent>, StopReason) {
    let usage = &result["usage"];
    let count = |name: &str| usage[name].as_u64();
    let cached = count("cachedReadTokens");
    // Gemini CLI says it here only.
    let quota = &result["_meta"]["quota"]["token_count"];
    let input = count("inputTokens").or(quota["input_tokens"].as_u64());
    let output = count("outputTokens").or(quota["output_tokens"].as_u64());
    let told = input.is_some() || output.is_some() || cost.is_some();
    let spent = AgentEvent::Usage {
        scope: Scope::Turn,
        input,
        output,
        cached,
        reasoning: count("thoughtTokens"),
        cost_usd: cost,
    };
    let stop = match result["stopReason"].as_str().unwrap_or_default() {
        "cancelled" => StopReason::Cancelled,
        "max_tokens" | "max_turn_requests" => StopReason::MaxTurns,
        "refusal" => StopReason::Refused,
        // It reports success although the provider refused.
        _ if result["_meta"]["codex"]["threadStatus"] == "systemError" => StopReason::Error,
        _ => StopReason::EndTurn,
    };
    (told.then_some(spent), stop)
}

/// An error of the provider in an agent's own words, where the agent then ends its turn as if nothing had happened.
/// Copilot says it as a message; that the model said the same shows in the tokens it was paid for.
pub(super) fn told_failure<'a>(agent: &str, result: &Json, last_words: &'a str) -> Option<&'a str> {
    let is_copilot = agent == "Copilot" && result["stopReason"] == "end_turn" && result["usage"].is_null();
    last_words.rfind("Error: ").filter(|_| is_copilot).and_then(|at| last_words.get(at..))
}

#[cfg(test)]
mod tests {
    use maestro_core::agent::FailureKind;

    use super::*;

    #[test]
    fn a_call_is_told_once_for_each_thing_that_is_new() {
        let mut known = CallTracker::default();
        let began = known.update(&json!({ "sessionUpdate": "tool_call", "toolCallId": "1", "title": "ls", "kind": "execute", "status": "pending" }));
        assert!(
            matches!(&began[..], [AgentEvent::ToolBegan { id, kind: ToolKind::Execute, .. }] if id == "1"),
            "{began:?}"
        );
        let same = json!({ "sessionUpdate": "tool_call_update", "toolCallId": "1", "status": "in_progress" });
        assert_eq!(known.update(&same), []);
        let more = json!({ "sessionUpdate": "tool_call_update", "toolCallId": "1", "rawInput": { "command": "ls" } });
        assert_eq!(known.update(&more).len(), 1);
        let content = json!([{ "type": "content", "content": { "type": "text", "text": "a\nb" } }]);
        let ended = known.update(&json!({ "sessionUpdate": "tool_call_update", "toolCallId": "1", "status": "completed", "content": content }));
        let expected = AgentEvent::ToolEnded { id: "1".into(), status: ToolStatus::Ok, output: "a\nb".into() };
        assert_eq!(ended, [expected]);
    }

    #[test]
    fn a_call_nobody_told_of_before_is_told_when_it_is_asked_for_or_over() {
        let mut known = CallTracker::default();
        let diff = json!({ "type": "diff", "path": "/w/a", "oldText": null, "newText": "1\n2\n" });
        let told =
            known.call(&json!({ "toolCallId": "2", "status": "completed", "content": [diff], "rawOutput": "done" }));
        let changed = AgentEvent::Changed { path: "/w/a".into(), added: Some(2), removed: Some(0), diff: None };
        assert!(
            matches!(&told[..], [AgentEvent::ToolBegan { .. }, change, AgentEvent::ToolEnded { output, .. }] if *change == changed && output == "done"),
            "{told:?}"
        );
        assert_eq!(known.call(&json!({ "title": "no id" })), []);
    }

    #[test]
    fn a_call_without_a_kind_is_known_by_what_it_gets() {
        let goose = json!({ "toolCallId": "3", "title": "shell · ls", "rawInput": { "command": "ls" } });
        let told = CallTracker::default().call(&goose);
        assert!(matches!(&told[..], [AgentEvent::ToolBegan { name, kind: ToolKind::Execute, .. }] if name == "shell"));
        let gemini = json!({ "toolCallId": "run_shell_command__1", "title": "ls -l", "kind": "execute" });
        let told = CallTracker::default().call(&gemini);
        assert!(matches!(&told[..], [AgentEvent::ToolBegan { input, .. }] if input["command"] == "ls -l"), "{told:?}");
        let asks =
            json!({ "toolCallId": "4", "title": "write · /w/a", "kind": "other", "rawInput": { "path": "/w/a" } });
        let told = CallTracker::default().call(&asks);
        assert!(matches!(&told[..], [AgentEvent::ToolBegan { kind: ToolKind::Edit, .. }]), "{told:?}");
    }

    #[test]
    fn an_error_in_goose_own_words_is_one_and_in_anybody_elses_is_none() {
        let words = "Ran into this error: Rate limit exceeded: slow down.";
        let chunk = json!({ "sessionUpdate": "agent_message_chunk", "content": { "type": "text", "text": words } });
        assert!(matches!(&CallTracker::default().update(&chunk)[..], [AgentEvent::Said { .. }]));
        let mut goose = chunk;
        goose["_meta"] = json!({ "goose": { "created": 1 } });
        let told = CallTracker::default().update(&goose);
        assert!(matches!(&told[..], [AgentEvent::Trouble { kind: FailureKind::RateLimit, .. }]), "{told:?}");
    }

    #[test]
    fn an_error_in_copilots_own_words_is_one_and_in_the_models_is_none() {
        let words = "Info: Request failed. Retrying...Error: Authentication failed (HTTP 401).";
        let failed = json!({ "stopReason": "end_turn" });
        assert_eq!(told_failure("Copilot", &failed, words), Some("Error: Authentication failed (HTTP 401)."));
        assert_eq!(told_failure("other", &failed, words), None);
        let paid = json!({ "stopReason": "end_turn", "usage": { "inputTokens": 1 } });
        assert_eq!(told_failure("Copilot", &paid, words), None);
        assert_eq!(told_failure("Copilot", &failed, "It is done."), None);
    }

    #[test]
    fn what_is_new_or_broken_is_nothing() {
        let mut known = CallTracker::default();
        for update in
            [json!(null), json!({ "sessionUpdate": "of_the_future" }), json!({ "sessionUpdate": "usage_update" })]
        {
            assert_eq!(known.update(&update), []);
        }
        let context = known.update(&json!({ "sessionUpdate": "usage_update", "used": 5, "size": 10, "cost": { "amount": 0.5, "currency": "USD" } }));
        assert_eq!((context, known.cost()), (vec![AgentEvent::Context { used: 5, size: 10 }], Some(0.5)));
        known.update(&json!({ "sessionUpdate": "usage_update", "used": 5, "size": 10, "cost": { "amount": 9, "currency": "EUR" } }));
        assert_eq!(known.cost(), Some(0.5));
    }

    #[test]
    fn the_end_of_a_turn_is_told_as_it_is() {
        assert_eq!(turn_end(&json!({ "stopReason": "end_turn" }), None), (None, StopReason::EndTurn));
        let lie = json!({ "stopReason": "end_turn", "_meta": { "codex": { "threadStatus": "systemError" } } });
        assert_eq!(turn_end(&lie, None).1, StopReason::Error);
        let (usage, _) = turn_end(&json!({ "usage": { "inputTokens": 3, "outputTokens": 4 } }), Some(0.25));
        assert!(matches!(
            usage,
            Some(AgentEvent::Usage { input: Some(3), output: Some(4), cached: None, cost_usd: Some(_), .. })
        ));
        let quota = json!({ "token_count": { "input_tokens": 6000, "output_tokens": 180 } });
        let (gemini, _) = turn_end(&json!({ "stopReason": "end_turn", "_meta": { "quota": quota } }), None);
        assert!(matches!(gemini, Some(AgentEvent::Usage { input: Some(6_000), output: Some(180), .. })), "{gemini:?}");
    }
}
