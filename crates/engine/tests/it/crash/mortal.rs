//! A process that drives runs and dies at a moment that is chosen: right before or right after something is written.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use maestro_core::event::RunId;
use maestro_core::workflow::pinned_definition::{PinnedDefinition, PinnedText};
use maestro_core::workflow::run::{CommandExit, FileState, RunInput, Ticket};
use maestro_engine::drive::{ClaimDecision, DriveError, RunApi, RunSnapshot, drive};
use maestro_engine::runs::{ExecutionClaim, RunEngine, RunError, RunStart, RunView};
use maestro_engine::{ExecutionHost, Host, WorkflowConsent};
use maestro_store::{Clock, Driver, Executing, ListPage, RunList as AllRuns, Store};
use serde_json::{Map, Value as Json};
use tokio::runtime::Runtime;

use crate::execute::{Place, runtime};

/// Why a process does nothing more.
pub(super) enum Ended {
    /// It died.
    Died,
    /// It was refused something, which it never should be.
    Refused(String),
}

impl From<RunError> for Ended {
    fn from(error: RunError) -> Self {
        Self::Refused(error.to_string())
    }
}

/// A host that consents to everything.
struct TrustingHost;

impl Host for TrustingHost {
    fn consents(&self, _: &std::path::Path, workflows: &[&BTreeMap<String, PinnedText>]) -> Vec<WorkflowConsent> {
        workflows.iter().map(|_| WorkflowConsent::Granted).collect()
    }
}

/// Where processes begin, one after the other, with the same database.
pub(super) struct Shop {
    runtime: Runtime,
    machine: Arc<ExecutionHost>,
    directory: PathBuf,
}

impl Shop {
    pub(super) fn new(place: &Place, name: &str) -> Self {
        let directory = place.path("work").join(name);
        fs::create_dir_all(&directory).unwrap();
        let machine = Arc::new(place.machine(TrustingHost));
        Self { runtime: runtime(), machine, directory }
    }

    pub(super) fn block_on<T>(&self, future: impl Future<Output = T>) -> T {
        self.runtime.block_on(future)
    }

    /// The directory that a walk works in.
    pub(super) fn workspace(&self, walk: usize) -> PathBuf {
        let workspace = self.directory.join(format!("walk-{walk}"));
        fs::create_dir_all(&workspace).unwrap();
        workspace
    }

    /// A process that dies at the given moment, counted from 1.
    pub(super) fn process(&self, dies_at: usize) -> Process {
        let place = maestro_store::DatabaseLocation::File(self.directory.join("maestro.db"));
        let store = Store::open(place, &clock()).unwrap();
        let fuse = Fuse { passed: AtomicUsize::new(0), last: dies_at };
        Process { runs: RunEngine::of(store.clone()), store, machine: Arc::clone(&self.machine), fuse }
    }
}

pub(super) fn clock() -> Clock {
    Arc::new(now)
}

pub(super) fn now() -> i64 {
    i64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis()).unwrap()
}

/// Counts moments, and burns through at the last one.
struct Fuse {
    passed: AtomicUsize,
    last: usize,
}

impl Fuse {
    fn burn(&self) -> Result<(), Ended> {
        let passed = self.passed.fetch_add(1, Ordering::Relaxed) + 1;
        if passed >= self.last { Err(Ended::Died) } else { Ok(()) }
    }
}

/// A process; when it is dropped, nothing of it is left but what it has written.
pub(super) struct Process {
    store: Store,
    runs: RunEngine,
    machine: Arc<ExecutionHost>,
    fuse: Fuse,
}

impl Process {
    /// How many moments it has lived through.
    pub(super) fn moments(&self) -> usize {
        self.fuse.passed.load(Ordering::Relaxed)
    }

    /// The run of a workspace, if it was begun.
    pub(super) async fn find(&self, workspace: &Path) -> Option<RunId> {
        let page = ListPage { after: 0, limit: 10_000 };
        let all = AllRuns { project: None, workflow: None, status: None, page };
        let all = self.store.read(all).await.unwrap();
        let here = workspace.to_str().unwrap();
        all.items.into_iter().find(|record| record.run.context["workspace"] == here).map(|record| record.id)
    }

    pub(super) async fn start(
        &self,
        pinned: PinnedDefinition,
        workspace: &Path,
        params: Map<String, Json>,
    ) -> Result<RunId, Ended> {
        let start = RunStart {
            pinned,
            params,
            workspace: workspace.to_str().unwrap().to_owned(),
            tool: String::new(),
            project: None,
            task: None,
            session: None,
            driver: Driver::Caller,
            rights: maestro_core::agent::RunRights::default(),
            agent: None,
        };
        self.fuse.burn()?;
        let view = self.runs.start(start, now(), None).await?;
        self.fuse.burn()?;
        Ok(view.record.id)
    }

    /// Says something to a run.
    pub(super) async fn write(&self, id: RunId, input: RunInput) -> Result<RunView, Ended> {
        self.submit(id, input, ExecutionClaim::None).await?.map_err(Ended::from)
    }

    async fn submit(
        &self,
        id: RunId,
        input: RunInput,
        hand: ExecutionClaim,
    ) -> Result<Result<RunView, RunError>, Ended> {
        self.fuse.burn()?;
        let view = self.runs.submit(id, input, hand).await;
        self.fuse.burn()?;
        Ok(view)
    }

    pub(super) async fn get(&self, id: RunId) -> Result<RunView, Ended> {
        Ok(self.runs.get(id, now()).await?)
    }

    /// Executes what is ordered.
    pub(super) async fn drive(&self, id: RunId) -> Result<(), Ended> {
        match drive(self, id, &self.machine).await {
            Ok(()) => Ok(()),
            Err(DriveError::Api(ended)) => Err(ended),
            Err(other) => Err(Ended::Refused(other.to_string())),
        }
    }
}

impl RunApi for Process {
    type Error = Ended;

    async fn snapshot(&self, id: RunId) -> Result<RunSnapshot, Ended> {
        let record = self.get(id).await?.record;
        let (workflow, hash) = (record.about.workflow, record.hash);
        Ok(RunSnapshot { workflow, hash, run: record.run, executor: record.executor, now: now() })
    }

    async fn definitions(&self, id: RunId) -> Result<BTreeMap<String, PinnedText>, Ended> {
        Ok(self.runs.pinned(&self.get(id).await?.record).await?)
    }

    async fn claim_execution(
        &self,
        id: RunId,
        ticket: &Ticket,
        by: &str,
        seconds: u32,
        seen: FileState,
    ) -> Result<ClaimDecision, Ended> {
        let executing = Executing { by: by.to_owned(), until: now() + i64::from(seconds) * 1000 };
        let input = RunInput::Started { ticket: ticket.clone(), seen, now: now() };
        Ok(match self.submit(id, input, ExecutionClaim::By(executing)).await? {
            Ok(_) => ClaimDecision::Granted,
            Err(_) => ClaimDecision::Denied,
        })
    }

    async fn report_finished(&self, id: RunId, ticket: &Ticket, finish: CommandExit) -> Result<(), Ended> {
        let input = RunInput::Finished { ticket: ticket.clone(), finish, now: now() };
        self.submit(id, input, ExecutionClaim::None).await??;
        Ok(())
    }

    async fn report_lost(&self, id: RunId, ticket: &Ticket, _: &str) -> Result<(), Ended> {
        let input = RunInput::Lost { ticket: ticket.clone(), now: now() };
        self.submit(id, input, ExecutionClaim::None).await??;
        Ok(())
    }
}
