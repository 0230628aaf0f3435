//! Tokens of a turn, where an agent's own count at its end has not all of them.

use std::mem;

use maestro_core::agent::{AgentEvent, Scope};
use serde_json::Value as Json;

/// Agents that report the context after each of their requests, and at the end of a turn the last request alone.
const COUNTS_LAST: [&str; 1] = ["goose"];

/// The requests of a turn, as they are reported while it lasts.
#[derive(Debug, Default)]
pub(super) struct TurnRequests {
    last_context: u64,
    tokens: TurnTokens,
}

/// What is known of a turn before its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TurnTokens {
    /// The sum of the contexts after its requests; it was not told.
    Contexts(u64),
    /// Each request was reported as it ended.
    Told,
}

impl Default for TurnTokens {
    fn default() -> Self {
        Self::Contexts(0)
    }
}

impl TurnRequests {
    /// Counts a report of the context. The same once more is no other request.
    pub(super) fn add_context(&mut self, used: u64) {
        if used != self.last_context
            && let TurnTokens::Contexts(sum) = &mut self.tokens
        {
            *sum = sum.saturating_add(used);
        }
        self.last_context = used;
    }

    /// The tokens of a request, where a message says them: Qwen Code does.
    pub(super) fn request(&mut self, usage: &Json) -> Option<AgentEvent> {
        let count = |name: &str| usage[name].as_u64();
        let (input, output) = (Some(count("inputTokens")?), Some(count("outputTokens")?));
        self.tokens = TurnTokens::Told;
        let (cached, reasoning) = (count("cachedReadTokens"), count("thoughtTokens"));
        Some(AgentEvent::Usage { scope: Scope::Turn, input, output, cached, reasoning, cost_usd: None })
    }

    /// What is known since this was asked last.
    pub(super) fn take(&mut self) -> TurnTokens {
        mem::take(&mut self.tokens)
    }
}

/// The usage at the end of a turn, with the tokens of all its requests that were not told before. How many of those of
/// earlier requests came back from the model is not known: they count as sent.
pub(super) fn at_end(agent: &str, told: Option<AgentEvent>, known: TurnTokens) -> Option<AgentEvent> {
    let mut told = told?;
    if let AgentEvent::Usage { input, output, cached, reasoning, cost_usd, .. } = &mut told {
        match known {
            TurnTokens::Told => {
                (*input, *output, *cached, *reasoning) = (None, None, None, None);
                cost_usd.as_ref()?;
            }
            TurnTokens::Contexts(sum) if COUNTS_LAST.contains(&agent) => {
                *input = input.map(|input| input.max(sum.saturating_sub(output.unwrap_or(0))));
            }
            TurnTokens::Contexts(_) => {}
        }
    }
    Some(told)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn usage(input: Option<u64>, output: Option<u64>, cost_usd: Option<f64>) -> AgentEvent {
        AgentEvent::Usage { scope: Scope::Turn, input, output, cached: None, reasoning: None, cost_usd }
    }

    #[test]
    fn every_request_of_a_turn_of_goose_counts() {
        let mut requests = TurnRequests::default();
        for used in [0, 1_050, 2_060, 3_070, 3_070] {
            requests.add_context(used);
        }
        let (known, last) = (requests.take(), usage(Some(3_000), Some(70), None));
        assert_eq!(at_end("goose", Some(last.clone()), known), Some(usage(Some(6_110), Some(70), None)));
        assert_eq!(at_end("other", Some(last.clone()), known), Some(last.clone()), "others count by themselves");
        assert_eq!(at_end("goose", Some(last.clone()), requests.take()), Some(last), "a turn counts once");
    }

    #[test]
    fn what_was_told_of_each_request_is_not_told_again() {
        let mut requests = TurnRequests::default();
        let told = requests.request(&json!({ "inputTokens": 1_000, "outputTokens": 50, "totalTokens": 1_050 }));
        assert_eq!(told, Some(usage(Some(1_000), Some(50), None)));
        assert_eq!(requests.request(&json!({ "totalTokens": 5 })), None);
        let known = requests.take();
        assert_eq!(at_end("qwen", Some(usage(Some(3_000), Some(70), None)), known), None);
        let paid = Some(usage(Some(3_000), Some(70), Some(0.5)));
        assert_eq!(at_end("qwen", paid, known), Some(usage(None, None, Some(0.5))));
    }
}
