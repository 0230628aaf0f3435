//! What becomes of a session that ended while its worker was gone? Nothing is started; what came of it is read from what
//! is kept.

use maestro_core::agent::spawn::SpawnSpec;
use maestro_core::agent::{Ending, Reporting};
use maestro_core::session::SessionStatus;
use maestro_store::{SessionById, Spawn, Wish};

use super::Worker;
use super::begin::NotBegun;
use super::course::Course;
use super::settle::{self, End, Settled};

impl Worker {
    /// What came of a session that is over already; nothing where its agent still has something to do.
    pub(super) async fn left(&self, spawn: &Spawn) -> Result<Option<Settled>, NotBegun> {
        let session = self.store.read(SessionById(spawn.session.clone())).await?;
        if !session.status.is_over() {
            return Ok(None);
        }
        let spec: SpawnSpec = serde_json::from_value(spawn.spec.clone())?;
        let reporting = self.agent(&spec).map_or(Reporting::Able, |(agent, _)| agent.reporting);
        let mut course = Course::recall(self, &session, reporting, &spec).await?;
        course.note_reports(&self.store, &session.id, 0).await;
        if session.status == SessionStatus::Stopped {
            course.evidence.ending = Ending::Cancelled;
        }
        Ok(Some(settle::settled(&settle::Standing {
            evidence: &course.evidence,
            tree: None,
            spent: course.ledger.spent(),
            worked: course.worked,
            turns: course.progress.turns(),
            budget: &spec.budget,
            attempt: spawn.attempt,
            status: session.status,
            needs_input: None,
            end: End::Orderly,
            wish: Wish::GoOn,
            unheard: 0,
            now: (self.clock)(),
        })))
    }
}
