//! Tokens and money spent by a session: numbers that are added, and numbers that replace each other.

use serde::{Deserialize, Serialize};

use super::agent_event::{AgentEvent, Scope};

/// Tokens and money; what no agent reported is zero.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TokenUsage {
    /// Tokens sent to models.
    pub input: u64,
    /// Tokens that came back.
    pub output: u64,
    /// Tokens sent that came from a cache.
    pub cached: u64,
    /// Tokens that came back as thoughts.
    pub reasoning: u64,
    /// Dollars, as the agents reckon.
    pub cost_usd: f64,
}

impl TokenUsage {
    /// Tokens in both directions.
    pub fn tokens(&self) -> u64 {
        self.input.saturating_add(self.output)
    }

    fn plus(self, other: Self) -> Self {
        Self {
            input: self.input.saturating_add(other.input),
            output: self.output.saturating_add(other.output),
            cached: self.cached.saturating_add(other.cached),
            reasoning: self.reasoning.saturating_add(other.reasoning),
            cost_usd: self.cost_usd + other.cost_usd,
        }
    }
}

/// Keeps the account of one session of ours, over all processes and all sessions of the agent's own that it takes.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct UsageLedger {
    /// What was added, and the last totals of sessions that are over.
    settled: TokenUsage,
    /// The last total of the agent's current session.
    current: TokenUsage,
    /// The agent's current session, where it says so.
    session: Option<String>,
}

impl UsageLedger {
    /// Takes note of an event.
    pub fn note(&mut self, event: &AgentEvent) {
        match event {
            AgentEvent::Began { agent_session: Some(session), .. } if self.session.as_ref() != Some(session) => {
                self.settle();
                self.session = Some(session.clone());
            }
            AgentEvent::Usage { scope, input, output, cached, reasoning, cost_usd } => {
                let told = TokenUsage {
                    input: input.unwrap_or_default(),
                    output: output.unwrap_or_default(),
                    cached: cached.unwrap_or_default(),
                    reasoning: reasoning.unwrap_or_default(),
                    cost_usd: cost_usd.unwrap_or_default(),
                };
                match scope {
                    Scope::Turn => self.settled = self.settled.plus(told),
                    // Goose reports a total of zero when the model's server refused.
                    Scope::Session if told.tokens() == 0 => {}
                    Scope::Session => {
                        // A total only grows; one that is smaller is another session's that gave no name.
                        if told.tokens() < self.current.tokens() {
                            self.settle();
                        }
                        self.current = told;
                    }
                }
            }
            _ => {}
        }
    }

    /// What was spent so far.
    pub fn spent(&self) -> TokenUsage {
        self.settled.plus(self.current)
    }

    fn settle(&mut self) {
        self.settled = self.spent();
        self.current = TokenUsage::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn usage(scope: Scope, input: u64, output: u64) -> AgentEvent {
        let (input, output) = (Some(input), Some(output));
        AgentEvent::Usage { scope, input, output, cached: None, reasoning: None, cost_usd: Some(0.5) }
    }

    fn began(session: &str) -> AgentEvent {
        AgentEvent::Began { agent_session: Some(session.to_owned()), model: None, version: None }
    }

    fn spent(events: &[AgentEvent]) -> (u64, u64) {
        let mut ledger = UsageLedger::default();
        for event in events {
            ledger.note(event);
        }
        (ledger.spent().input, ledger.spent().output)
    }

    #[test]
    fn turns_add_up_also_over_processes() {
        let turn = usage(Scope::Turn, 1000, 50);
        assert_eq!(spent(&[began("a"), turn.clone(), began("a"), turn]), (2000, 100));
    }

    #[test]
    fn a_total_replaces_until_another_session_begins() {
        let (first, resumed) = (usage(Scope::Session, 2200, 70), usage(Scope::Session, 3400, 90));
        assert_eq!(spent(&[began("a"), first.clone(), began("a"), resumed.clone()]), (3400, 90));
        assert_eq!(spent(&[began("a"), resumed.clone(), began("b"), first.clone()]), (5600, 160));
        let nothing = usage(Scope::Session, 0, 0);
        assert_eq!(spent(&[first.clone(), nothing, resumed.clone()]), (3400, 90), "nothing is no total");
        assert_eq!(spent(&[resumed, first]), (5600, 160), "a smaller total is another session's");
    }

    #[test]
    fn how_full_a_context_is_is_no_spending() {
        assert_eq!(spent(&[AgentEvent::Context { used: 9, size: 10 }]), (0, 0));
    }
}
