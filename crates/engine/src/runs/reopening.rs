//! Runs that are over and go on: from where they stopped, or from an earlier step.

use maestro_core::event::RunId;
use maestro_core::workflow::run::{BranchPoint, InputRefusal, RunEvent, RunInput, state_before};
use maestro_store::{RunById, RunRecord, RunTail};
use serde_json::{Map, Value as Json};

use super::{ExecutionClaim, RunEngine, RunError, RunView};

/// How many events of a run are read to find an earlier point.
const HISTORY: i64 = 200_000;

impl RunEngine {
    /// Lets a run that is over go on: from an earlier visit of a step and as it was then, or from where it stopped.
    /// What happened since stays in its log.
    pub async fn reopen(
        &self,
        id: RunId,
        expected: Option<i64>,
        at: Option<BranchPoint>,
        params: Map<String, Json>,
        now: i64,
    ) -> Result<RunView, RunError> {
        let record = self.store.read(RunById(id)).await?;
        if let Some(landing) = record.landing {
            return Err(RunError::Landed(landing));
        }
        if let Some((parent, _)) = &record.about.parent {
            return Err(RunError::IsPart(*parent));
        }
        if !record.run.is_over() {
            let view = Box::new(self.get(id, now).await?);
            return Err(RunError::Refused { refusal: InputRefusal::NotOver, view });
        }
        let input = match at {
            Some(point) => self.branch(&record, point, params, now).await?,
            None => RunInput::Reopen { params, note: None, now },
        };
        let reopened = self.submit_at(id, expected, input, ExecutionClaim::None).await?;
        self.take_over(reopened).await
    }

    async fn branch(
        &self,
        record: &RunRecord,
        point: BranchPoint,
        params: Map<String, Json>,
        now: i64,
    ) -> Result<RunInput, RunError> {
        let events = self.store.read(RunTail { id: record.id, limit: HISTORY }).await?;
        if !matches!(events.first(), Some(RunEvent::Began { .. })) {
            return Err(RunError::HistoryGone);
        }
        let Some((state, visit)) = state_before(&events, &point) else { return Err(RunError::NeverVisited(point)) };
        Ok(RunInput::Branch { step: point.step, visit, state: Box::new(state), params, now })
    }
}
