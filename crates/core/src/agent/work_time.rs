//! Working time of an agent. The time between two of its processes does not count.

use super::agent_event::AgentEvent;

/// The time that an agent worked, over all its processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct WorkTime {
    ms: u64,
    last: Option<i64>,
}

impl WorkTime {
    /// Takes note of what is remembered of an earlier process, in the order in which it happened.
    pub fn replay(&mut self, at: i64, event: &AgentEvent) {
        if matches!(event, AgentEvent::Began { .. }) {
            self.last = None;
        }
        self.extend(at);
    }

    /// A process begins.
    pub fn begin(&mut self, at: i64) {
        self.last = Some(at);
    }

    /// It still works, or just did.
    pub fn extend(&mut self, at: i64) {
        let since = self.last.map_or(0, |last| at.saturating_sub(last));
        self.ms = self.ms.saturating_add(u64::try_from(since).unwrap_or(0));
        self.last = Some(at);
    }

    /// So many milliseconds.
    pub fn ms(&self) -> u64 {
        self.ms
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_between_two_processes_does_not_count() {
        let began = AgentEvent::Began { agent_session: None, model: None, version: None };
        let said = AgentEvent::Said { text: "x".to_owned() };
        let mut worked = WorkTime::default();
        for (at, event) in [(1_000, &began), (1_500, &said), (90_000, &began), (90_200, &said)] {
            worked.replay(at, event);
        }
        assert_eq!(worked.ms(), 700);
        worked.begin(500_000);
        worked.extend(500_100);
        worked.extend(500_050);
        assert_eq!(worked.ms(), 800, "a clock that is set back takes nothing away");
    }
}
