//! Driver of a run: executes what the run orders and reports the result.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use maestro_core::event::RunId;
use maestro_core::workflow::definition::BuiltinCommand;
use maestro_core::workflow::pinned_definition::{InvalidPin, PinnedDefinition, PinnedText};
use maestro_core::workflow::run::{
    CommandExit, CommandSpec, FileState, PendingEffect, ProgramContext, Run, RunDefinition, Ticket, pending_effects,
};
use maestro_store::Executing;
use serde_json::Value as Json;

use crate::caller_sockets::{OpenSocket, SocketOwner};
use crate::execute::{ExecutionEnv, Executor, Limits};
use crate::host::{self, ExecutionHost, Host, HostError, WorkflowConsent};
use crate::runs::hash;
use crate::sealed_copies::SealedCopies;
use crate::{blocking, git_changes};

/// How long to wait before looking again at something that another one executes.
const LOOK: Duration = Duration::from_millis(50);

/// How often the driver checks whether an execution is still wanted.
const GLANCE: Duration = Duration::from_secs(1);

/// The store of runs, as a driver sees it.
pub trait RunApi {
    /// Why it cannot be reached.
    type Error;

    /// How a run stands.
    fn snapshot(&self, id: RunId) -> impl Future<Output = Result<RunSnapshot, Self::Error>> + Send;

    /// What a run was started with.
    fn definitions(&self, id: RunId) -> impl Future<Output = Result<BTreeMap<String, PinnedText>, Self::Error>> + Send;

    /// Says that something is executed from now on.
    fn claim_execution(
        &self,
        id: RunId,
        ticket: &Ticket,
        by: &str,
        seconds: u32,
        seen: FileState,
    ) -> impl Future<Output = Result<ClaimDecision, Self::Error>> + Send;

    /// Says how it ended.
    fn report_finished(
        &self,
        id: RunId,
        ticket: &Ticket,
        finish: CommandExit,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send;

    /// Reports that the executor is gone.
    fn report_lost(&self, id: RunId, ticket: &Ticket, by: &str)
    -> impl Future<Output = Result<(), Self::Error>> + Send;
}

/// Whether one may execute what one wanted to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClaimDecision {
    /// Yes, and no other process.
    Granted,
    /// No: things are not as they were.
    Denied,
}

/// The state of a run, as a driver sees it.
#[derive(Debug, Clone)]
pub struct RunSnapshot {
    /// The workflow, by the name it was started by.
    pub workflow: String,
    /// The hash of what it was started with.
    pub hash: String,
    /// The run.
    pub run: Run,
    /// Who executes something for it.
    pub executor: Option<Executing>,
    /// What time it is where runs are kept.
    pub now: i64,
}

/// Why a run is not driven on.
#[derive(Debug, thiserror::Error)]
pub enum DriveError<E> {
    /// What it would execute has no consent.
    #[error("`{workflow}` is not trusted yet; it would execute `{order}`")]
    NotAllowed {
        /// The workflow.
        workflow: String,
        /// The hash of what it was started with.
        hash: String,
        /// What it would execute.
        order: String,
    },
    /// The commands of the project's settings that it would execute have no consent.
    #[error(transparent)]
    CommandsNotAllowed(
        /// Which, and what now.
        HostError,
    ),
    /// Whether it is allowed cannot be read.
    #[error("`{workflow}` would execute `{order}`, and the consents cannot be read: {reason}")]
    ConsentUnknown {
        /// The workflow.
        workflow: String,
        /// What it would execute.
        order: String,
        /// Why.
        reason: String,
    },
    /// The definition does not match its hash.
    #[error("the definition of run {0} does not match its hash")]
    Forged(
        /// The run.
        RunId,
    ),
    /// What was kept of it is no definition.
    #[error(transparent)]
    Unsound(#[from] InvalidPin),
    /// Nothing can be executed here.
    #[error("nothing can be executed here: {0}")]
    Unable(
        /// Why.
        std::io::Error,
    ),
    /// Where runs are kept cannot be reached.
    #[error("the store of runs cannot be reached")]
    Api(
        /// Why.
        E,
    ),
}

/// Executes the directives of a run until another party must act. The events on the way are in its log.
///
/// The order is worked out here, from the texts that were consented to; where runs are kept is not believed.
pub async fn drive<D: RunApi>(api: &D, id: RunId, machine: &Arc<ExecutionHost>) -> Result<(), DriveError<D::Error>> {
    let first = api.snapshot(id).await.map_err(DriveError::Api)?;
    let known = RunContext::of(api, id, &first, machine).await?;
    // Branches of a step are executed beside each other, as many as the run orders at a time.
    let mut executing = FuturesUnordered::new();
    let mut under_way = BTreeSet::new();
    let mut snapshot = first;
    loop {
        let mut awaited = None;
        for effect in pending_effects(&known.definition, &snapshot.run) {
            match effect {
                PendingEffect::Execute { ticket, visit, order, context, timeout, delay, .. }
                    if under_way.insert(ticket.clone()) =>
                {
                    let reviewed = snapshot.run.in_front(&ticket).reviewed(&known.definition).map(str::to_owned);
                    let due = DueExecution { ticket, visit, order, context, timeout, delay, reviewed };
                    executing.push(known.execute(api, id, due, machine));
                }
                PendingEffect::Await { ticket } if !under_way.contains(&ticket) => awaited = Some(ticket),
                _ => {}
            }
        }
        // A report may let another branch go on meanwhile.
        let look = async {
            if snapshot.run.has_branches_aside() {
                tokio::time::sleep(GLANCE).await;
            } else {
                std::future::pending::<()>().await;
            }
        };
        let ended = tokio::select! {
            ended = executing.next() => ended,
            () = look => {
                snapshot = api.snapshot(id).await.map_err(DriveError::Api)?;
                continue;
            }
        };
        match (ended, awaited) {
            (Some(executed), _) => drop(under_way.remove(&executed?)),
            (None, Some(ticket)) => {
                let executor = snapshot.executor.unwrap_or(Executing { by: String::new(), until: 0 });
                let ours = executor.by == machine.identity.as_str();
                if ours || executor.until <= snapshot.now || machine.identity.is_gone(&executor.by) {
                    api.report_lost(id, &ticket, &executor.by).await.map_err(DriveError::Api)?;
                } else {
                    tokio::time::sleep(LOOK).await;
                }
            }
            (None, None) => return Ok(()),
        }
        snapshot = api.snapshot(id).await.map_err(DriveError::Api)?;
    }
}

/// Something that a run orders to execute.
struct DueExecution {
    ticket: Ticket,
    visit: Ticket,
    order: CommandSpec,
    context: ProgramContext,
    timeout: Option<u32>,
    delay: u32,
    /// What all files together were when the review was judged whose gate asks for this check.
    reviewed: Option<String>,
}

/// Waits until the run does not wait for an execution any more: it was canceled, or the time of a call is over. A run that
/// cannot be read continues.
async fn wait_unwanted<D: RunApi>(api: &D, id: RunId, ticket: &Ticket) {
    loop {
        tokio::time::sleep(GLANCE).await;
        let unwanted = |run: &Run| run.is_over() || !run.is_executed(ticket);
        if api.snapshot(id).await.is_ok_and(|snapshot| unwanted(&snapshot.run)) {
            return;
        }
    }
}

/// How many seconds something may take, where that is not the usual time. A project's checks take as long as they take,
/// and so does what makes its worktrees ready.
fn time_limit(order: &CommandSpec) -> Option<u32> {
    let long = [
        BuiltinCommand::Verify,
        BuiltinCommand::WorktreeOpen,
        BuiltinCommand::WorktreeSetup,
        BuiltinCommand::PlanTake,
        BuiltinCommand::GitMerge,
    ];
    matches!(order, CommandSpec::Builtin { builtin, .. } if long.contains(builtin)).then_some(30 * 60)
}

/// What does not change while a run is driven.
struct RunContext {
    workflow: String,
    hash: String,
    definition: RunDefinition,
    definitions: Arc<BTreeMap<String, PinnedText>>,
    executor: Executor,
    /// The socket by which the programs of its steps call, for as long as it is driven.
    _socket: Option<OpenSocket>,
}

/// The socket by which the programs of a run's steps call. Without one, they call as they can.
async fn open_socket(machine: &ExecutionHost, run: RunId) -> Option<OpenSocket> {
    let opened = machine.sockets.as_ref()?.open(SocketOwner::Run(run)).await;
    opened.inspect_err(|error| tracing::warn!("the run has no socket: {error}")).ok()
}

impl RunContext {
    async fn of<D: RunApi>(
        api: &D,
        id: RunId,
        snapshot: &RunSnapshot,
        machine: &Arc<ExecutionHost>,
    ) -> Result<Self, DriveError<D::Error>> {
        let definitions = api.definitions(id).await.map_err(DriveError::Api)?;
        if hash(&definitions) != snapshot.hash {
            return Err(DriveError::Forged(id));
        }
        let workspace = snapshot.run.context.get("workspace").and_then(Json::as_str).unwrap_or_default();
        let socket = open_socket(machine, id).await;
        let env = ExecutionEnv {
            machine: Arc::clone(machine),
            workspace: PathBuf::from(workspace),
            folders: definitions.values().map(|kept| PathBuf::from(&kept.folder)).collect(),
            run: id.to_string(),
            socket: socket.as_ref().map(|socket| socket.path.clone()),
        };
        let executor = Executor::new(env).await.map_err(DriveError::Unable)?;
        let pinned = PinnedDefinition { main: snapshot.workflow.clone(), definitions };
        let definition = pinned.definition()?;
        let (workflow, hash) = (pinned.main.clone(), snapshot.hash.clone());
        let definitions = Arc::new(pinned.definitions);
        Ok(Self { workflow, hash, definition, definitions, executor, _socket: socket })
    }

    /// Executes what is due, and reports how it ended; returns its ticket.
    async fn execute<D: RunApi>(
        &self,
        api: &D,
        id: RunId,
        due: DueExecution,
        machine: &Arc<ExecutionHost>,
    ) -> Result<Ticket, DriveError<D::Error>> {
        let DueExecution { ticket, visit, order, context, timeout, delay, reviewed } = due;
        tokio::time::sleep(Duration::from_secs(delay.into())).await;
        let copies = self.check_consent(&order, machine).await?;
        let executor = self.executor.with_copies(copies);
        let limits = Limits::within(timeout.or_else(|| time_limit(&order)));
        let seconds = u32::try_from(limits.time.as_secs()).unwrap_or(u32::MAX);
        let seen = self.files_since_review(reviewed).await;
        let claim = api.claim_execution(id, &ticket, machine.identity.as_str(), seconds, seen).await;
        if claim.map_err(DriveError::Api)? == ClaimDecision::Denied {
            tokio::time::sleep(LOOK).await;
            return Ok(ticket);
        }
        let executed = async {
            match executor.with_context(&context).await {
                Ok(executor) => executor.execute(&order, &visit, limits).await.finish,
                Err(reason) => CommandExit::Failed(reason),
            }
        };
        let finish = tokio::select! {
            finish = executed => finish,
            () = wait_unwanted(api, id, &ticket) => return Ok(ticket),
        };
        api.report_finished(id, &ticket, strip_nul(finish)).await.map_err(DriveError::Api)?;
        Ok(ticket)
    }

    /// What changed since a review was judged: the gate that asks for a check lets nothing through that no reviewer saw.
    async fn files_since_review(&self, reviewed: Option<String>) -> FileState {
        let Some(reviewed) = reviewed else { return FileState::default() };
        let workspace = self.executor.env().workspace.clone();
        blocking::run(move || git_changes::review_state(&workspace, Some(&reviewed))).await
    }

    /// Refuses what has no consent, and returns copies of what has. Built-ins that only read need none. Everything else
    /// is checked each time: an earlier step may have changed the files that are executed now.
    async fn check_consent<E>(
        &self,
        order: &CommandSpec,
        machine: &Arc<ExecutionHost>,
    ) -> Result<SealedCopies, DriveError<E>> {
        if matches!(order, CommandSpec::Builtin { builtin, .. } if builtin.only_reads()) {
            return Ok(SealedCopies::default());
        }
        // Checks without consent were not executed, so they are not red.
        if matches!(order, CommandSpec::Builtin { builtin: BuiltinCommand::Verify, .. })
            && let Err(error @ HostError::NotTrusted { .. }) = self.executor.env().ask_host(Host::checks).await
        {
            return Err(DriveError::CommandsNotAllowed(error));
        }
        let (definitions, workspace) = (Arc::clone(&self.definitions), self.executor.env().workspace.clone());
        let sealed = host::ask(&machine.host, move |host| Ok(host.seal_workflow(&workspace, &definitions))).await;
        let consent = match sealed {
            Ok(Ok(copies)) => return Ok(copies),
            Ok(Err(consent)) => consent,
            Err(error) => WorkflowConsent::Unknown(error.to_string()),
        };
        let order = match order {
            CommandSpec::Program { program, .. } => program.clone(),
            CommandSpec::Shell { .. } => "a shell script".to_owned(),
            CommandSpec::Builtin { builtin, .. } => builtin.word().to_owned(),
        };
        let workflow = self.workflow.clone();
        match consent {
            WorkflowConsent::Granted | WorkflowConsent::Missing => {
                Err(DriveError::NotAllowed { workflow, hash: self.hash.clone(), order })
            }
            WorkflowConsent::Unknown(reason) => Err(DriveError::ConsentUnknown { workflow, order, reason }),
        }
    }
}

/// No text that is kept can hold a NUL.
fn strip_nul(finish: CommandExit) -> CommandExit {
    let clean = |text: String| if text.contains('\0') { text.replace('\0', "\u{fffd}") } else { text };
    match finish {
        CommandExit::Exited { code, output } => CommandExit::Exited { code, output: clean(output) },
        CommandExit::Failed(reason) => CommandExit::Failed(clean(reason)),
        CommandExit::TimedOut => CommandExit::TimedOut,
    }
}
