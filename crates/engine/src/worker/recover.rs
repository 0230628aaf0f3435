//! Recovery of a session that ended while its worker was gone.
//!
//! Nothing is started; the result is read from the store.

use maestro_core::agent::spawn::SpawnSpec;
use maestro_core::agent::{EndCause, LimitGrant, ReportAbility};
use maestro_core::session::SessionStatus;
use maestro_store::{SessionById, SpawnRecord, WorkerSignal};

use super::AgentWorker;
use super::history::{self, SessionHistory};
use super::launch::{self, SpawnError};
use super::settle::{self, ProcessEnd, SettledSession};

impl AgentWorker {
    /// The result of a session that is already over; nothing where its agent still has work.
    pub(super) async fn recover(&self, spawn: &SpawnRecord) -> Result<Option<SettledSession>, SpawnError> {
        let session = self.store.read(SessionById(spawn.session.clone())).await?;
        if !session.status.is_over() {
            return Ok(None);
        }
        let spec: SpawnSpec = serde_json::from_value(spawn.spec.clone())?;
        let (worker, wanted) = (self.clone(), spec.clone());
        let agent = launch::blocking(move || worker.agent(&wanted)).await;
        let reporting = agent.map_or(ReportAbility::Able, |(agent, _)| agent.reporting);
        let mut history = SessionHistory::load(self, &session, reporting, &spec).await?;
        history.note_reports(&history::lines(&self.store, &session.id).await?, 0);
        if session.status == SessionStatus::Stopped {
            history.evidence.ending = EndCause::Cancelled;
        }
        Ok(Some(settle::settle(&settle::SettleInput {
            evidence: &history.evidence,
            tree: None,
            spent: history.ledger.spent(),
            granted: LimitGrant::default(),
            worked: history.worked,
            turns: history.progress.turns(),
            budget: &spec.budget,
            fallback: None,
            attempt: spawn.attempt,
            status: session.status,
            needs_input: None,
            end: ProcessEnd::Orderly,
            wish: WorkerSignal::GoOn,
            unheard: 0,
            outages: settle::outages_before(spawn),
            reminder: None,
            reminded: settle::was_reminded(spawn),
            now: self.machine.host.now(),
        })))
    }
}
