//! Processes that carry runs on: which has a run, and how another one takes it over.

use maestro_core::event::RunId;
use maestro_core::work_state::RunCarrier;
use maestro_core::workflow::run::{PersonComment, RunInput, RunStatus};
use maestro_store::{Driver, HostKind, HostRun, HostsOfRuns, RunById, RunHost, RunRecord, RunsOfHost, StoreError};
use serde_json::{Map, Value as Json};

use super::{ExecutionClaim, RunEngine, RunError, RunView};
use crate::identity::ProcessIdentity;

/// What a person says when a run goes on.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ResumeOrder {
    /// Parameters that change; a run that is only paused keeps its own.
    pub params: Map<String, Json>,
    /// Words for the agent that goes on.
    pub note: Option<String>,
}

impl RunEngine {
    /// The process that carries on the runs that are started or resumed here.
    pub fn host(&self) -> Option<&RunHost> {
        self.host.as_ref()
    }

    /// Whether a process carries a run on, as this host sees it.
    pub fn carrier_for(own: Option<&RunHost>, record: &RunRecord) -> RunCarrier {
        if record.about.driver == Driver::Caller {
            return RunCarrier::Present;
        }
        let Some(host) = &record.host else { return RunCarrier::Awaited };
        if own == Some(host) || !is_gone(host) {
            return RunCarrier::Present;
        }
        match (host.kind, own.map(|own| own.kind)) {
            // This server is about to take it over.
            (HostKind::Server, Some(HostKind::Server)) => RunCarrier::Present,
            (HostKind::Server, _) => RunCarrier::ServerGone,
            (HostKind::Command, _) => RunCarrier::CommandGone,
        }
    }

    /// Lets a run go on that is paused, or that stopped, from where it stopped. This process carries it on, unless
    /// another one does.
    pub async fn resume(
        &self,
        id: RunId,
        expected: Option<i64>,
        order: ResumeOrder,
        now: i64,
    ) -> Result<RunView, RunError> {
        let ResumeOrder { params, note } = order;
        let record = self.store.read(RunById(id)).await?;
        if let Some(landing) = record.landing {
            return Err(RunError::Landed(landing));
        }
        let input = match record.run.status {
            // Who drives a run itself starts another one.
            RunStatus::Ended(_) | RunStatus::Cancelled if record.about.driver == Driver::Server => {
                RunInput::Reopen { params, note, now }
            }
            _ => {
                if let Some(note) = note {
                    let comment = PersonComment::for_next_step(note);
                    self.submit(id, RunInput::AddItem { comment, now }, ExecutionClaim::None).await?;
                }
                RunInput::Resume
            }
        };
        let resumed = self.submit_at(id, expected, input, ExecutionClaim::None).await?;
        self.take_over(resumed).await
    }

    /// The run, carried on by this process where no other one does.
    pub(super) async fn take_over(&self, view: RunView) -> Result<RunView, RunError> {
        let Some(own) = self.host.clone().filter(|_| view.record.about.driver == Driver::Server) else {
            return Ok(view);
        };
        let is_carried = view.record.host.as_ref().is_some_and(|host| *host == own || !is_gone(host));
        if is_carried {
            return Ok(view);
        }
        let record = self.store.write(HostRun { id: view.record.id, host: own }).await?;
        Ok(RunView { record, ..view })
    }

    /// Takes over what servers that are gone have left, and what no process has yet; returns these runs. The server of
    /// a single command takes nothing over: what is left waits for a person there.
    pub async fn adopt_left(&self) -> Result<Vec<RunRecord>, StoreError> {
        let Some(own) = self.host.clone().filter(|host| host.kind == HostKind::Server) else { return Ok(Vec::new()) };
        let is_left = |host: &Option<RunHost>| {
            host.as_ref().is_none_or(|host| host.kind == HostKind::Server && *host != own && is_gone(host))
        };
        let mut adopted = Vec::new();
        for left in self.store.read(HostsOfRuns).await?.into_iter().filter(is_left) {
            for run in self.store.read(RunsOfHost(left)).await? {
                adopted.push(self.store.write(HostRun { id: run.id, host: own.clone() }).await?);
            }
        }
        Ok(adopted)
    }

    /// The runs that went on under commands that are gone; they wait for a person.
    pub async fn left_by_commands(&self) -> Result<Vec<RunRecord>, StoreError> {
        let mut left = Vec::new();
        for host in self.store.read(HostsOfRuns).await?.into_iter().flatten() {
            if host.kind == HostKind::Command && is_gone(&host) {
                left.extend(self.store.read(RunsOfHost(Some(host))).await?);
            }
        }
        left.retain(|run| run.about.parent.is_none());
        Ok(left)
    }
}

fn is_gone(host: &RunHost) -> bool {
    ProcessIdentity::of_this_process().is_gone(&host.process)
}
