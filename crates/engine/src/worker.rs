//! Worker that starts queued agents and settles their sessions.
//!
//! It claims what waits in the store, launches the agent, monitors it to its end and settles the claim. It keeps nothing of
//! its own: when it dies, the next one finds in the store all it needs to continue.

mod history;
mod launch;
mod monitor;
mod own_worktree;
mod recover;
mod session_prompt;
mod settle;
mod skill_uses;
#[cfg(test)]
mod tests;
mod transcript_buffer;

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use maestro_core::agent::spawn::AgentEndpoints;
use maestro_core::id::SessionId;
use maestro_store::{
    AnyDueSpawn, ClaimHolders, ClaimScope, ClaimSpawn, ClaimStatus, ClaimStatuses, ReleaseSpawns, SettleSpawn,
    SpawnRecord, Store, StoreError,
};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, interval, sleep};
use tracing::Instrument as _;

use crate::daemon_health::{DaemonHealth, DaemonPart, DaemonTask};
use crate::execute::programs::put_on_path;
use crate::host::ExecutionHost;
use crate::sleep_inhibitor::{self, SleepInhibitor};
use settle::SettledSession;

/// How long a claim holds without a word, in milliseconds.
pub const LEASE: i64 = 15_000;
/// How often the queue is checked, even without a notification.
const LOOK: Duration = Duration::from_secs(1);
/// How long changes are gathered before they are looked at again.
const GATHER: Duration = Duration::from_millis(10);

/// What a worker works with.
#[derive(Clone)]
pub struct AgentWorker {
    /// Where everything is kept.
    pub store: Store,
    /// Where the agents' programs find Maestro.
    pub endpoints: AgentEndpoints,
    /// What all executions on this machine share.
    pub machine: Arc<ExecutionHost>,
    /// How many agents may be at work at once.
    pub most: usize,
    /// Where failures are recorded.
    pub health: DaemonHealth,
    /// Whose agents it starts.
    pub scope: ClaimScope,
}

/// What was decided about each session of this worker, for its monitor; nothing once another worker has it.
type SessionRegistry = Arc<Mutex<HashMap<SessionId, watch::Sender<Option<ClaimStatus>>>>>;

impl AgentWorker {
    /// Makes this program the one that agents find under its name.
    pub fn prepare(&self) -> std::io::Result<()> {
        put_on_path(Path::new(&self.endpoints.home), &self.machine.maestro)
    }

    /// Works until the future is dropped; every agent it started ends with it.
    pub async fn run(self) {
        let registry = SessionRegistry::default();
        let room = Arc::new(Semaphore::new(self.most));
        let mut working = JoinSet::new();
        let mut bell = self.store.changes();
        let mut looks = interval(LOOK);
        let mut inhibitor = SleepInhibitor::new(self.machine.host.find_program(sleep_inhibitor::PROGRAM));
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                rang = bell.next() => if rang.is_err() { return },
                _ = looks.tick() => self.release_lost().await,
            }
            while let Some(ended) = working.try_join_next() {
                if let Err(error) = ended {
                    tracing::error!("the monitor of an agent ended: {error}");
                }
            }
            self.publish_status(&registry).await;
            while let Ok(permit) = Arc::clone(&room).try_acquire_owned() {
                let Some(spawn) = self.claim(None).await else { break };
                if lock(&registry).contains_key(&spawn.session) {
                    // Its lease ran out while the database could not be reached. Its own task still has it, and settles it.
                    continue;
                }
                let (worker, registry) = (self.clone(), Arc::clone(&registry));
                let about = tracing::info_span!("agent", session = %spawn.session);
                let work = async move {
                    worker.work_on(spawn, &registry).await;
                    drop(permit);
                };
                working.spawn(work.instrument(about));
            }
            inhibitor.hold_if(!working.is_empty());
            // Changes come in crowds, and one look finds them all; the first of them is not kept waiting.
            sleep(GATHER).await;
        }
    }

    /// Runs one session's agent, and no other. Returns its result in a line; nothing if another worker has it.
    pub async fn run_one(self, session: SessionId) -> Option<String> {
        let spawn = self.claim(Some(session)).await?;
        let registry = SessionRegistry::default();
        let mut bell = self.store.changes();
        let about = tracing::info_span!("agent", session = %spawn.session);
        let working = self.work_on(spawn, &registry).instrument(about);
        tokio::pin!(working);
        loop {
            tokio::select! {
                line = &mut working => return Some(line),
                _ = bell.next() => {
                    sleep(GATHER).await;
                    self.publish_status(&registry).await;
                }
            }
        }
    }

    /// The next thing to be started.
    async fn claim(&self, session: Option<SessionId>) -> Option<SpawnRecord> {
        let task = DaemonTask::new(DaemonPart::Worker, "queued agents");
        if !self.health.is_due(&task) {
            return None;
        }
        // A look costs nothing; a claim is a write.
        let due = match session {
            Some(_) => Ok(true),
            None => self.store.read(AnyDueSpawn { now: self.machine.host.now(), scope: self.scope.clone() }).await,
        };
        let claimed = match due {
            Ok(true) => {
                self.store
                    .write(ClaimSpawn {
                        worker: self.machine.identity.as_str().to_owned(),
                        lease: LEASE,
                        session,
                        scope: self.scope.clone(),
                    })
                    .await
            }
            Ok(false) => Ok(None),
            Err(error) => Err(error),
        };
        self.health.record(&task, claimed).flatten()
    }

    /// Takes from workers of this machine that are gone what they had.
    async fn release_lost(&self) {
        let task = DaemonTask::new(DaemonPart::Worker, "agents of workers that are gone");
        if self.health.is_due(&task) {
            self.health.record(&task, self.try_release_lost().await);
        }
    }

    async fn try_release_lost(&self) -> Result<(), StoreError> {
        let claimants = self.store.read(ClaimHolders).await?;
        let workers: Vec<String> = claimants.into_iter().filter(|name| self.machine.identity.is_gone(name)).collect();
        if workers.is_empty() {
            return Ok(());
        }
        self.store.write(ReleaseSpawns { workers }).await.map(drop)
    }

    /// Publishes to the monitors of agents what was decided about their sessions.
    async fn publish_status(&self, registry: &SessionRegistry) {
        if lock(registry).is_empty() {
            return;
        }
        let task = DaemonTask::new(DaemonPart::Worker, "decisions about sessions");
        let worker = self.machine.identity.as_str().to_owned();
        let standings = self.store.read(ClaimStatuses { worker }).await;
        let Some(standings) = self.health.record(&task, standings) else { return };
        let standings: HashMap<SessionId, ClaimStatus> = standings.into_iter().collect();
        for (session, monitor) in lock(registry).iter() {
            let standing = standings.get(session);
            monitor.send_if_modified(|known| {
                let changed = known.as_ref() != standing;
                *known = standing.cloned();
                changed
            });
        }
    }

    /// Starts an agent, monitors it and settles its session. Returns the result in a line.
    async fn work_on(&self, spawn: SpawnRecord, registry: &SessionRegistry) -> String {
        let session = spawn.session.clone();
        let (sender, standing) = watch::channel(None);
        lock(registry).insert(session.clone(), sender);
        let settled = match self.recover(&spawn).await {
            Ok(Some(settled)) => settled,
            Ok(None) => match self.launch(&spawn).await {
                Ok(launched) => {
                    let settled = monitor::monitor(self, launched, &spawn, standing).await;
                    self.commit_work(&spawn, settled).await
                }
                Err(error) => SettledSession::not_started(&error.to_string()),
            },
            Err(error) => SettledSession::not_started(&error.to_string()),
        };
        let line = self.settle(&session, settled).await;
        lock(registry).remove(&session);
        line
    }

    /// Stores the result of a session, however long the database takes: what is done must not be done again.
    async fn settle(&self, session: &SessionId, settled: SettledSession) -> String {
        let SettledSession { outcome, line, after } = settled;
        let task = DaemonTask::new(DaemonPart::Worker, format_args!("result of session {session}"));
        let settle = || {
            self.store.write(SettleSpawn {
                session: session.clone(),
                worker: self.machine.identity.as_str().to_owned(),
                outcome: outcome.clone(),
                line: line.clone(),
                next_start: after.clone(),
            })
        };
        match self.health.persist(&task, settle).await {
            Ok(()) => {
                tracing::info!(outcome = outcome.result.word(), "{line}");
                line
            }
            // Another worker has it, or it was deleted; what happened here does not count.
            Err(error) => {
                tracing::warn!("the result was not stored: {error}");
                format!("the result was not stored: {error}")
            }
        }
    }

    /// The task under which a failure about a session is recorded.
    pub(super) fn task_of(session: &SessionId) -> DaemonTask {
        DaemonTask::new(DaemonPart::Worker, format_args!("session {session}"))
    }
}

fn lock(registry: &SessionRegistry) -> MutexGuard<'_, HashMap<SessionId, watch::Sender<Option<ClaimStatus>>>> {
    registry.lock().unwrap_or_else(PoisonError::into_inner)
}
