//! Delivery of an agent's events to its reader, and the event of its end.

use maestro_core::agent::{AgentEvent, Exit, Stop, TroubleKind, bounded};
use tokio::sync::{mpsc, watch};

use super::process::{Because, Ended, How, Limits};
use super::pulse::Pulse;

/// Sends events, and waits where the reader is slow.
#[derive(Debug)]
pub(super) struct Teller {
    events: mpsc::Sender<AgentEvent>,
    agent_session: watch::Sender<Option<String>>,
    pulse: Pulse,
}

impl Teller {
    pub(super) fn new(
        events: mpsc::Sender<AgentEvent>,
        agent_session: watch::Sender<Option<String>>,
        pulse: Pulse,
    ) -> Self {
        Self { events, agent_session, pulse }
    }

    /// Sends an event. While the reader is slow, the agent is not idle.
    pub(super) async fn tell(&self, event: AgentEvent) {
        let event = bounded(event);
        if let AgentEvent::Began { agent_session: Some(session), .. } = &event {
            self.agent_session.send_replace(Some(session.clone()));
        }
        let Err(mpsc::error::TrySendError::Full(event)) = self.events.try_send(event) else { return };
        let _hold = self.pulse.hold();
        // Without a reader, the event is dropped.
        let _ = self.events.send(event).await;
    }

    pub(super) async fn tell_all(&self, events: Vec<AgentEvent>) {
        for event in events {
            self.tell(event).await;
        }
    }
}

/// Why we ended it, for people; nothing where it was requested.
pub(super) fn reason(ended: Ended, limits: Limits) -> Option<AgentEvent> {
    let message = match (ended.because, ended.how) {
        (Some(Because::Time), _) => format!("stopped: reached the time limit of {}", lasting(limits.time)),
        (Some(Because::Idle), _) => format!("stopped: no output for {}", lasting(limits.idle)),
        (None, How::Lost) => "its supervisor died, and it was killed".to_owned(),
        (Some(Because::Cancelled) | None, _) => return None,
    };
    Some(AgentEvent::Trouble { kind: TroubleKind::Other, status: None, message, retry_after_ms: None })
}

/// How its process ended.
pub(super) fn stop(ended: Ended) -> Stop {
    match (ended.because, exit(ended)) {
        (Some(Because::Cancelled), _) => Stop::Cancelled,
        (_, Exit::Code(code)) => Stop::Exited { code },
        (_, Exit::Signal(signal)) => Stop::Killed { signal },
    }
}

/// The same for readers of its output.
pub(super) fn exit(ended: Ended) -> Exit {
    match ended.how {
        How::Exited(code) => Exit::Code(code),
        How::Killed(signal) => Exit::Signal(signal),
        How::Lost => Exit::Signal(9),
    }
}

fn lasting(time: std::time::Duration) -> String {
    match time.as_secs() {
        0 => format!("{} ms", time.as_millis()),
        seconds @ 1..120 => format!("{seconds} s"),
        seconds => format!("{} min", seconds / 60),
    }
}
