//! Delivery of an agent's events to its reader, and the event of its end.

use maestro_core::agent::{AgentEvent, AgentExit, FailureKind, StopReason, limit_event};
use tokio::sync::{mpsc, watch};

use super::idle::IdleTimer;
use super::process::{KillReason, ProcessExit, ProcessLimits, ProcessOutcome};

/// Sends events, and waits where the reader is slow.
#[derive(Debug)]
pub(super) struct EventSender {
    events: mpsc::Sender<AgentEvent>,
    agent_session: watch::Sender<Option<String>>,
    pulse: IdleTimer,
}

impl EventSender {
    pub(super) fn new(
        events: mpsc::Sender<AgentEvent>,
        agent_session: watch::Sender<Option<String>>,
        pulse: IdleTimer,
    ) -> Self {
        Self { events, agent_session, pulse }
    }

    /// Sends an event. While the reader is slow, the agent is not idle.
    pub(super) async fn send(&self, event: AgentEvent) {
        let event = limit_event(event);
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
