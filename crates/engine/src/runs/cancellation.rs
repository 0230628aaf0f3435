//! Cancellation of runs that have a last part to do first.

use maestro_core::event::RunId;
use maestro_core::session::SessionControl;
use maestro_core::workflow::run::RunInput;
use maestro_store::{Actor, ControlSession, StoreError, WorkingStepSessions};

use super::{ExecutionClaim, RunEngine, RunError, RunView};

impl RunEngine {
    /// Cancels a run, after its last part if it has one. What worked at the step that it leaves ends at once.
    pub async fn cancel(&self, id: RunId, expected: Option<i64>, now: i64) -> Result<RunView, RunError> {
        let view = self.submit_at(id, expected, RunInput::RequestCancel { now }, ExecutionClaim::None).await?;
        if view.record.run.is_over() {
            return Ok(view);
        }
        let awaited = view.record.run.awaited_tickets();
        for session in self.store.read(WorkingStepSessions(id)).await? {
            if awaited.iter().any(|ticket| ticket.as_str() == session.ticket) {
                continue;
            }
            let cancel = ControlSession { id: session.session, control: SessionControl::Cancel, actor: Actor::Step };
            match self.store.write(cancel).await {
                // It has ended by itself.
                Ok(_) | Err(StoreError::SessionTransition { .. } | StoreError::NotFound { .. }) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(view)
    }
}
