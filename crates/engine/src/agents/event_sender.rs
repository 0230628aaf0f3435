//! Delivery of an agent's events to its reader, and the event of its end.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};

use maestro_core::agent::{AgentEvent, AgentExit, FailureKind, StopReason, limit_event};
use tokio::sync::{mpsc, watch};

use super::idle::{IdleGuard, IdleTimer};
use super::process::{KillReason, ProcessExit, ProcessLimits, ProcessOutcome};

/// Sends events, and waits where the reader is slow.
#[derive(Debug)]
pub(super) struct EventSender {
    events: mpsc::Sender<AgentEvent>,
    agent_session: watch::Sender<Option<String>>,
    pulse: IdleTimer,
    calls: Mutex<OpenCalls>,
}

/// The calls of tools that have not ended. While there is one, the agent waits for it and is not idle.
#[derive(Debug, Default)]
struct OpenCalls(HashMap<String, IdleGuard>);

impl OpenCalls {
    fn note(&mut self, event: &AgentEvent, pulse: &IdleTimer) {
        match event {
            AgentEvent::ToolBegan { id, .. } => {
                self.0.entry(id.clone()).or_insert_with(|| pulse.suspend());
            }
            AgentEvent::ToolEnded { id, .. } => drop(self.0.remove(id)),
            // The model speaks when it has what it waited for, whether or not the agent says so.
            AgentEvent::Said { .. } | AgentEvent::Thought { .. } | AgentEvent::Ended { .. } => self.0.clear(),
            _ => {}
        }
    }
}

impl EventSender {
    pub(super) fn new(
        events: mpsc::Sender<AgentEvent>,
        agent_session: watch::Sender<Option<String>>,
        pulse: IdleTimer,
    ) -> Self {
        Self { events, agent_session, pulse, calls: Mutex::default() }
    }

    /// Sends an event. While the reader is slow, the agent is not idle.
    pub(super) async fn send(&self, event: AgentEvent) {
        let event = limit_event(event);
        self.calls.lock().unwrap_or_else(PoisonError::into_inner).note(&event, &self.pulse);
        if let AgentEvent::Began { agent_session: Some(session), .. } = &event {
            self.agent_session.send_replace(Some(session.clone()));
        }
        let Err(mpsc::error::TrySendError::Full(event)) = self.events.try_send(event) else { return };
        let _hold = self.pulse.suspend();
        // Without a reader, the event is dropped.
        let _ = self.events.send(event).await;
    }

    pub(super) async fn send_all(&self, events: Vec<AgentEvent>) {
        for event in events {
            self.send(event).await;
        }
    }
}

/// Why we ended it, for people; nothing where it was requested.
pub(super) fn reason(ended: ProcessOutcome, limits: ProcessLimits) -> Option<AgentEvent> {
    let message = match (ended.because, ended.how) {
        (Some(KillReason::Time), _) => format!("stopped: reached the time limit of {}", format_duration(limits.time)),
        (Some(KillReason::Idle), _) => format!("stopped: no output for {}", format_duration(limits.idle)),
        (None, ProcessExit::Lost) => "its supervisor died, and it was killed".to_owned(),
        (Some(KillReason::Cancelled) | None, _) => return None,
    };
    Some(AgentEvent::Trouble { kind: FailureKind::Other, status: None, message, retry_after_ms: None })
}

/// How its process ended.
pub(super) fn stop(ended: ProcessOutcome) -> StopReason {
    match (ended.because, exit(ended)) {
        (Some(KillReason::Cancelled), _) => StopReason::Cancelled,
        (_, AgentExit::Code(code)) => StopReason::Exited { code },
        (_, AgentExit::Signal(signal)) => StopReason::Killed { signal },
    }
}

/// The same for readers of its output.
pub(super) fn exit(ended: ProcessOutcome) -> AgentExit {
    match ended.how {
        ProcessExit::Exited(code) => AgentExit::Code(code),
        ProcessExit::Killed(signal) => AgentExit::Signal(signal),
        ProcessExit::Lost => AgentExit::Signal(9),
    }
}

fn format_duration(time: std::time::Duration) -> String {
    match time.as_secs() {
        0 => format!("{} ms", time.as_millis()),
        seconds @ 1..120 => format!("{seconds} s"),
        seconds => format!("{} min", seconds / 60),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use maestro_core::agent::{ToolKind, ToolStatus};
    use serde_json::json;
    use tokio::time::timeout;

    use super::*;

    const PATIENCE: Duration = Duration::from_millis(40);

    fn began(id: &str) -> AgentEvent {
        let (name, title) = ("Bash".to_owned(), "make".to_owned());
        AgentEvent::ToolBegan { id: id.to_owned(), name, kind: ToolKind::Execute, title, input: json!({}) }
    }

    #[tokio::test]
    async fn an_open_call_of_a_tool_is_not_silence() {
        let pulse = IdleTimer::new();
        let ended =
            |id: &str| AgentEvent::ToolEnded { id: id.to_owned(), status: ToolStatus::Ok, output: String::new() };
        let is_held = async || timeout(PATIENCE * 5, pulse.wait_idle(PATIENCE)).await.is_err();
        let mut calls = OpenCalls::default();
        calls.note(&began("a"), &pulse);
        calls.note(&began("b"), &pulse);
        calls.note(&ended("a"), &pulse);
        assert!(is_held().await, "one is still open");
        calls.note(&ended("b"), &pulse);
        timeout(Duration::from_mins(1), pulse.wait_idle(PATIENCE)).await.unwrap();
        calls.note(&began("c"), &pulse);
        calls.note(&AgentEvent::Said { text: "Done.".to_owned() }, &pulse);
        timeout(Duration::from_mins(1), pulse.wait_idle(PATIENCE)).await.unwrap();
    }
}
