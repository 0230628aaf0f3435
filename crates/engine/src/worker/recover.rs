//! Recovery of a session that ended while its worker was gone.
//!
//! Nothing is started; the result is read from the store.

use maestro_core::agent::spawn::SpawnSpec;
use maestro_core::agent::{Ending, Reporting};
use maestro_core::session::SessionStatus;
use maestro_store::{SessionById, Spawn, Wish};

use super::Worker;
use super::history::{self, SessionHistory};
use super::launch::{self, SpawnError};
use super::settle::{self, ProcessEnd, SettledSession};

impl Worker {
    /// The result of a session that is already over; nothing where its agent still has work.
    pub(super) async fn recover(&self, spawn: &Spawn) -> Result<Option<SettledSession>, SpawnError> {
        let session = self.store.read(SessionById(spawn.session.clone())).await?;
        if !session.status.is_over() {
            return Ok(None);
        }
        let spec: SpawnSpec = serde_json::from_value(spawn.spec.clone())?;
        let (worker, wanted) = (self.clone(), spec.clone());
        let agent = launch::blocking(move || worker.agent(&wanted)).await;
        let reporting = agent.map_or(Reporting::Able, |(agent, _)| agent.reporting);
        let mut history = SessionHistory::recall(self, &session, reporting, &spec).await?;
        history.note_reports(&history::lines(&self.store, &session.id).await?, 0);
        if session.status == SessionStatus::Stopped {
            history.evidence.ending = Ending::Cancelled;
        }
        Ok(Some(settle::settled(&settle::SettleInput {
            evidence: &history.evidence,
            tree: None,
            spent: history.ledger.spent(),
            worked: history.worked,
            turns: history.progress.turns(),
            budget: &spec.budget,
            attempt: spawn.attempt,
            status: session.status,
            needs_input: None,
            end: ProcessEnd::Orderly,
            wish: Wish::GoOn,
            unheard: 0,
            now: self.machine.host.now(),
        })))
    }
}
