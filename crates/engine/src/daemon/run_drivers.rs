//! Drivers of the runs that this process executes, at most one for each run.
//!
//! What is ordered while a run is driven is found by the next beat, and so is what another server left behind.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use maestro_core::agent::spawn::AgentEndpoints;
use maestro_core::event::{Event, RunId};
use maestro_core::workflow::pinned_definition::PinnedText;
use maestro_core::workflow::run::{CommandExit, FileState, RunInput, Ticket};
use maestro_core::workflow::run_reply::NextAction;
use maestro_store::{Clock, Driver, Executing, Store};
use tokio::task::JoinHandle;
use tracing::Instrument as _;

use crate::consent_refusals::ConsentRefusals;
use crate::daemon_health::{DaemonHealth, DaemonPart, DaemonTask};
use crate::drive::{ClaimDecision, DriveError, RunApi, RunSnapshot, drive};
use crate::host::ExecutionHost;
use crate::runs::{ExecutionClaim, RunEngine, RunError, RunView};
use crate::step_sessions::StepSessions;

/// How long after its time a command is believed to be executed all the same, in milliseconds.
pub const GRACE: i64 = 30_000;

/// What the drivers of runs are made from.
pub struct RunDriverOptions {
    /// Where everything is kept.
    pub store: Store,
    /// The runs.
    pub runs: RunEngine,
    /// The clock.
    pub clock: Clock,
    /// What is needed to execute what runs order; without it only callers do.
    pub execution: Option<Arc<ExecutionHost>>,
    /// Where agents' programs find Maestro.
    pub around: AgentEndpoints,
    /// The name of this machine.
    pub hostname: String,
    /// Receives what happens to skills.
    pub observer: Arc<dyn Fn(&Event) + Send + Sync>,
}

/// The runs that this process executes. All copies share them.
#[derive(Clone)]
pub struct RunDriverPool {
    runs: RunEngine,
    clock: Clock,
    health: DaemonHealth,
    execution: Option<Arc<RunExecution>>,
    driven: Arc<Mutex<BTreeSet<RunId>>>,
    /// The runs that were driven and whose summaries are not written yet.
    unsummarized: Arc<Mutex<BTreeSet<RunId>>>,
    /// What runs would execute that is not allowed.
    refused: ConsentRefusals,
}

/// What a process has that executes anything at all.
struct RunExecution {
    machine: Arc<ExecutionHost>,
    step_sessions: StepSessions,
}

impl RunDriverPool {
    /// A pool that drives no run yet.
    pub fn new(options: RunDriverOptions) -> Self {
        let RunDriverOptions { store, runs, clock, execution, around, hostname, observer } = options;
        let refused = ConsentRefusals::default();
        let execution = execution.map(|machine| {
            let step_sessions = StepSessions {
                store,
                runs: runs.clone(),
                clock: Arc::clone(&clock),
                endpoints: around,
                host: Arc::clone(&machine.host),
                hostname,
                observer,
                refused: refused.clone(),
            };
            Arc::new(RunExecution { machine, step_sessions })
        });
        let health = DaemonHealth::new(Arc::clone(&clock));
        Self { runs, clock, health, execution, driven: Arc::default(), unsummarized: Arc::default(), refused }
    }

    /// What fails in the background now.
    pub fn health(&self) -> &DaemonHealth {
        &self.health
    }

    /// What starts sessions for the steps of runs, where this process executes anything at all.
    pub fn step_sessions(&self) -> Option<StepSessions> {
        self.execution.as_ref().map(|execution| execution.step_sessions.clone())
    }

    /// Why what a run orders is not executed here, if it is not allowed.
    pub fn not_allowed(&self, id: RunId) -> Option<String> {
        self.refused.reason(id)
    }

    /// How often what is not allowed changed.
    pub fn refusals_revision(&self) -> u64 {
        self.refused.revision()
    }

    /// The run after what is this process' to execute was executed, if that does not take too long.
    pub async fn drive_within(&self, view: RunView, patience: Duration) -> Result<RunView, RunError> {
        let ours = view.record.about.driver == Driver::Server && matches!(view.reply.next, NextAction::Busy { .. });
        if !ours {
            return Ok(view);
        }
        let id = view.record.id;
        let Some(work) = self.drive(id) else { return Ok(view) };
        // Whether it is through or not, the reply says where the run is and what happened on the way.
        let _ = tokio::time::timeout(patience, work).await;
        self.runs.load_view(id, (self.clock)()).await
    }

    /// Executes what a run orders, beside everything else; nothing where a driver has it or it rests after a failure.
    pub fn drive(&self, id: RunId) -> Option<JoinHandle<()>> {
        let execution = Arc::clone(self.execution.as_ref()?);
        let task = DaemonTask::new(DaemonPart::RunDriver, id);
        if !self.health.is_due(&task) || !self.take(id) {
            return None;
        }
        let (runs, clock, health) = (self.runs.clone(), Arc::clone(&self.clock), self.health.clone());
        let (pool, api) = (self.clone(), LocalRunApi { runs, clock, health });
        let work = async move {
            let driven = drive(&api, id, &execution.machine).await;
            pool.note(id, &task, &driven);
            // What was pinned never changes, so it cannot continue later. Consent may still come.
            if let Err(error @ (DriveError::Forged(_) | DriveError::Unsound(_))) = &driven {
                tracing::warn!("run canceled: {error}");
                pool.health.record(&task, pool.runs.submit(id, RunInput::Cancel, ExecutionClaim::None).await);
            }
            pool.leave(id);
            execution.step_sessions.write_summary(id).await;
            if !lock(&pool.driven).contains(&id) {
                lock(&pool.unsummarized).remove(&id);
            }
        };
        Some(tokio::spawn(work.instrument(tracing::info_span!("drive", run = %id))))
    }

    /// Writes the summaries that drivers did not come to. A run may end, and with it the command and its server,
    /// before its driver has noticed.
    pub async fn write_summaries(&self) {
        let Some(execution) = &self.execution else { return };
        let left: Vec<RunId> = lock(&self.unsummarized).iter().copied().collect();
        for id in left {
            execution.step_sessions.write_summary(id).await;
        }
    }

    /// Whether no driver has this run yet; then the caller has.
    fn take(&self, id: RunId) -> bool {
        let is_new = lock(&self.driven).insert(id);
        if is_new {
            lock(&self.unsummarized).insert(id);
        }
        is_new
    }

    fn leave(&self, id: RunId) {
        lock(&self.driven).remove(&id);
    }

    /// Takes note of how a run was driven: what is not allowed, and what failed.
    fn note(&self, id: RunId, task: &DaemonTask, driven: &Result<(), DriveError<RunError>>) {
        let failed = match driven {
            Err(error @ (DriveError::Api(_) | DriveError::Unable(_))) => Err(with_cause(error)),
            _ => Ok(()),
        };
        self.health.record(task, failed);
        match driven {
            Err(
                error @ (DriveError::NotAllowed { .. }
                | DriveError::CommandsNotAllowed(_)
                | DriveError::ConsentUnknown { .. }),
            ) => self.refused.add(id, error.to_string()),
            _ => self.refused.remove(id),
        }
    }
}

fn lock(runs: &Mutex<BTreeSet<RunId>>) -> MutexGuard<'_, BTreeSet<RunId>> {
    runs.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A failure and what caused it.
fn with_cause(error: &DriveError<RunError>) -> String {
    match error {
        DriveError::Api(cause) => format!("{error}: {cause}"),
        _ => error.to_string(),
    }
}

/// The runs of this process' own store.
pub struct LocalRunApi {
    runs: RunEngine,
    clock: Clock,
    health: DaemonHealth,
}

impl RunApi for LocalRunApi {
    type Error = RunError;

    async fn snapshot(&self, id: RunId) -> Result<RunSnapshot, RunError> {
        let now = (self.clock)();
        let record = self.runs.get(id, now).await?.record;
        let (workflow, hash) = (record.about.workflow, record.hash);
        Ok(RunSnapshot { workflow, hash, run: record.run, executor: record.executor, now })
    }

    async fn definitions(&self, id: RunId) -> Result<BTreeMap<String, PinnedText>, RunError> {
        let record = self.runs.get(id, (self.clock)()).await?.record;
        self.runs.pinned(&record).await
    }

    async fn claim_execution(
        &self,
        id: RunId,
        ticket: &Ticket,
        by: &str,
        seconds: u32,
        seen: FileState,
    ) -> Result<ClaimDecision, RunError> {
        let now = (self.clock)();
        let executing = Executing { by: by.to_owned(), until: now + i64::from(seconds) * 1000 + GRACE };
        let input = RunInput::Started { ticket: ticket.clone(), seen, now };
        claim_of(self.runs.submit(id, input, ExecutionClaim::By(executing)).await)
    }

    async fn report_finished(&self, id: RunId, ticket: &Ticket, finish: CommandExit) -> Result<(), RunError> {
        let input = RunInput::Finished { ticket: ticket.clone(), finish, now: (self.clock)() };
        // What was executed must not be executed again because its end could not be stored at once.
        let task = DaemonTask::new(DaemonPart::RunDriver, format_args!("result of {ticket} in run {id}"));
        claim_of(self.health.persist(&task, || self.runs.submit(id, input.clone(), ExecutionClaim::None)).await)
            .map(|_| ())
    }

    async fn report_lost(&self, id: RunId, ticket: &Ticket, _: &str) -> Result<(), RunError> {
        let input = RunInput::Lost { ticket: ticket.clone(), now: (self.clock)() };
        claim_of(self.runs.submit(id, input, ExecutionClaim::None).await).map(|_| ())
    }
}

/// Whether a run accepted what it received; that it did not is no failure of its driver.
fn claim_of(answer: Result<RunView, RunError>) -> Result<ClaimDecision, RunError> {
    match answer {
        Ok(_) => Ok(ClaimDecision::Granted),
        Err(RunError::Refused { .. }) => Ok(ClaimDecision::Denied),
        Err(error) => Err(error),
    }
}
