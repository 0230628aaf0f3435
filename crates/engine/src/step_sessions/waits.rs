//! Sessions at steps whose question gets no answer, and how they end.

use maestro_core::agent::SessionOutcome;
use maestro_core::agent::SessionResult;
use maestro_core::session::{SessionControl, SessionStatus};
use maestro_core::step_session::StepSession;
use maestro_store::{Actor, ControlSession, SessionById, SpawnBySession, StoreError, WaitingStepSessions};

use super::StepSessions;
use super::prompt;
use super::result::spec_of;
use super::skip::SkipReason;
use crate::daemon_health::{DaemonHealth, DaemonPart, DaemonTask};

impl StepSessions {
    /// Ends the sessions that have waited for an answer for longer than they may; their tasks count as stopped.
    pub(super) async fn end_unanswered(&self, health: &DaemonHealth) {
        let task = DaemonTask::new(DaemonPart::StepSessions, "sessions that wait for an answer");
        let waiting = health.record(&task, self.store.read(WaitingStepSessions).await).unwrap_or_default();
        for (seat, since) in waiting {
            let task = DaemonTask::new(DaemonPart::StepSessions, &seat.session);
            if health.is_due(&task) {
                health.record(&task, self.end_if_unanswered(&seat, since).await);
            }
        }
    }

    async fn end_if_unanswered(&self, seat: &StepSession, since: i64) -> Result<(), StoreError> {
        let spawn = self.store.read(SpawnBySession(seat.session.clone())).await?;
        let patience = spawn.as_ref().and_then(spec_of).map(|spec| spec.budget.patience());
        if patience.is_none_or(|patience| since.saturating_add(patience) > (self.clock)()) {
            return Ok(());
        }
        let (id, control) = (seat.session.clone(), SessionControl::Cancel);
        self.store.write(ControlSession { id, control, actor: Actor::Step }).await.map(drop)
    }

    /// Why a session that waits for a person got no further, if it waits for one.
    pub(super) async fn parked_reason(
        &self,
        seat: &StepSession,
        outcome: &SessionOutcome,
    ) -> Result<Option<SkipReason>, StoreError> {
        let SessionResult::Parked { reason } = &outcome.result else { return Ok(None) };
        let session = self.store.read(SessionById(seat.session.clone())).await?;
        let said = prompt::shorten(reason);
        Ok((session.status == SessionStatus::Stopped)
            .then(|| SkipReason::stalled(format!("The agent asked and got no answer: {said}"))))
    }
}
