//! Time, tokens and money that a loop used.

use std::time::Duration;

use maestro_core::agent::{SessionOutcome, TokenUsage};
use serde_json::{Value as Json, json};

use super::feed_lines::duration;
use crate::output::screen::count;

/// How long a loop was at work: the time between its events, but for that before one with which it continued.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct ActiveTime {
    last: Option<i64>,
    total: Duration,
}

/// How an event came about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum EventCause {
    /// By the work before it.
    Work,
    /// A command continued the loop.
    Continued,
}

impl ActiveTime {
    /// Adds the time up to an event.
    pub(super) fn record(&mut self, at: i64, cause: EventCause) {
        let since = self.last.filter(|_| cause == EventCause::Work).map_or(0, |last| at.saturating_sub(last));
        self.total += Duration::from_millis(u64::try_from(since).unwrap_or(0));
        self.last = Some(at);
    }

    /// All of it.
    pub(super) fn total(self) -> Duration {
        self.total
    }
}

/// What the sessions of a loop used, and how long all of it took.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct LoopUsage {
    took: Duration,
    sessions: usize,
    worked: Duration,
    tokens: u64,
    cost_usd: f64,
    restarts: i64,
}

impl LoopUsage {
    /// A loop that took so long.
    pub(super) fn new(took: Duration) -> Self {
        Self { took, ..Self::default() }
    }

    /// Adds a session.
    pub(super) fn add(&mut self, outcome: Option<&SessionOutcome>) {
        self.sessions += 1;
        let Some(work) = outcome.and_then(|outcome| outcome.work.as_ref()) else { return };
        let TokenUsage { cost_usd, .. } = &work.spent;
        self.worked += Duration::from_millis(work.worked_ms);
        self.tokens += work.spent.tokens();
        self.cost_usd += cost_usd;
        self.restarts += (work.attempt - 1).max(0);
    }

    /// In a line.
    pub(super) fn line(&self) -> String {
        let mut parts = vec![format!("{} in {}", duration(self.took), count(self.sessions, "session", "sessions"))];
        if let Some(restarts) = usize::try_from(self.restarts).ok().filter(|restarts| *restarts > 0) {
            parts.push(count(restarts, "restart", "restarts"));
        }
        // What no agent reported is not free.
        match self.tokens {
            0 => parts.push("no tokens reported".to_owned()),
            tokens => parts.push(format!("{tokens} tokens")),
        }
        if self.cost_usd > 0.0 {
            parts.push(format!("${:.4}", self.cost_usd));
        }
        format!("{}.\n", parts.join(", "))
    }

    /// For programs.
    pub(super) fn json(&self) -> Json {
        json!({
            "seconds": self.took.as_secs_f64(), "sessions": self.sessions, "restarts": self.restarts,
            "workedSeconds": self.worked.as_secs_f64(), "tokens": self.tokens, "costUsd": self.cost_usd,
        })
    }
}

#[cfg(test)]
mod tests {
    use maestro_core::agent::{SessionResult, SessionWork};

    use super::*;

    #[test]
    fn the_time_of_a_pause_is_no_work() {
        let mut active = ActiveTime::default();
        let events = [(1_000, EventCause::Work), (4_000, EventCause::Work), (90_000, EventCause::Continued)];
        for (at, cause) in events {
            active.record(at, cause);
        }
        active.record(92_000, EventCause::Work);
        assert_eq!(active.total(), Duration::from_secs(5));
    }

    #[test]
    fn what_all_sessions_used_is_summed_up() {
        let mut usage = LoopUsage::new(Duration::from_secs(185));
        let spent = TokenUsage { input: 1000, output: 200, cost_usd: 0.125, ..TokenUsage::default() };
        let work = SessionWork { attempt: 3, spent, worked_ms: 90_000, ..SessionWork::default() };
        let outcome = SessionOutcome { result: SessionResult::Done, work: Some(work) };
        usage.add(Some(&outcome));
        usage.add(Some(&outcome));
        assert_eq!(usage.line(), "3 min 5 s in 2 sessions, 4 restarts, 2400 tokens, $0.2500.\n");
        let mut silent = LoopUsage::new(Duration::from_secs(12));
        silent.add(None);
        assert_eq!(silent.line(), "12 s in 1 session, no tokens reported.\n");
    }
}
