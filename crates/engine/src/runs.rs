//! Runs of a store: each input is read, decided by the engine, and stored unless another writer was faster.

mod cancellation;
mod definitions_hash;
mod hosting;
mod parents;
mod reopening;
mod start;
mod view;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use maestro_core::agent::RunRights;
use maestro_core::event::RunId;
use maestro_core::id::ProjectId;
use maestro_core::work_state::RunLanding;
use maestro_core::workflow::pinned_definition::{InvalidPin, PinnedDefinition, PinnedText};
use maestro_core::workflow::run::{
    AwaitedInput, BranchPoint, ExecutionProgress, FileState, InputRefusal, Run, RunDefinition, RunEvent, RunInput,
    RunStatus, STEP_AGENT, Ticket, deadline, decide, evolve,
};
use maestro_core::workflow::run_reply::{self, NextAction, RunUpdate};
use maestro_core::workflow::{StepId, StepOutcome};
use maestro_store::{
    AdvanceRun, EndedSubruns, IdempotencyKey, OverdueRuns, PinnedDefinitions, RecordKind, RunById, RunHost, RunOrigin,
    RunRecord, RunTail, StartRun, Store, StoreError,
};
use serde_json::{Map, Value as Json};
use uuid::Uuid;

pub use definitions_hash::hash;
pub use hosting::ResumeOrder;
use parents::{failure, reports_items};
pub use start::RunStart;
pub use view::{ExecutionClaim, RunView};
use view::{child_of, subagent_done, view};

/// How many runs can change at the same time without any two sharing a lock.
const TURNS: usize = 64;
/// How often another writer may be faster before an input is given up.
const TRIES: usize = 200;
/// How many events are searched for missed ones.
const TAIL: i64 = 1000;
/// How many definitions are cached.
const KEPT: usize = 64;

/// Why a run does not continue.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The engine refuses; the state of the run comes with it.
    #[error("{refusal}")]
    Refused {
        /// Why.
        refusal: InputRefusal,
        /// The state of the run.
        view: Box<RunView>,
    },
    /// The run cannot start like that.
    #[error("{0}")]
    CannotStart(InputRefusal),
    /// The input of a sub-agent does not fit its workflow; it counts as failed.
    #[error(
        "{refusal}: the input of sub-agent {ticket} does not fit its workflow, so it counts as failed and its parent continues"
    )]
    Unfit {
        /// The sub-agent's ticket.
        ticket: Ticket,
        /// The parent run.
        parent: RunId,
        /// Why.
        refusal: InputRefusal,
    },
    /// The ticket does not belong to a sub-agent with a workflow.
    #[error("`{0}` is not the ticket of a sub-agent with a workflow")]
    NotAChild(Ticket),
    /// A session is to be started for a step, and there is no project that it could belong to.
    #[error("step `{0}` starts a session, and a session belongs to a project: start the run in one")]
    NoProject(
        /// The step.
        StepId,
    ),
    /// Its result was merged or thrown away.
    #[error("already {0}")]
    Landed(RunLanding),
    /// It is the run of a sub-agent, whose parent has its result.
    #[error("it is a part of run {0}, which has its result; reopen that one at the step that started it")]
    IsPart(
        /// The parent.
        RunId,
    ),
    /// It never came to a step, or not so often.
    #[error("the run never came to {}", visit_text(.0))]
    NeverVisited(
        /// Where it was to go on.
        BranchPoint,
    ),
    /// Its events were removed.
    #[error("the first events of the run are gone, so it cannot go on from an earlier step; start a new one")]
    HistoryGone,
    /// The stored definition cannot be parsed.
    #[error(transparent)]
    Unsound(#[from] InvalidPin),
    /// The store fails.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// A visit, in a sentence.
fn visit_text(point: &BranchPoint) -> String {
    match point.visit {
        Some(visit) => format!("visit {visit} of step `{}`", point.step),
        None => format!("step `{}`", point.step),
    }
}

/// Cached definitions, by the hash of their sources and their names.
type DefinitionCache = BTreeMap<(String, String), Arc<RunDefinition>>;

/// The runs of a store.
#[derive(Clone)]
pub struct RunEngine {
    store: Store,
    host: Option<RunHost>,
    cache: Arc<Mutex<DefinitionCache>>,
    locks: Arc<[tokio::sync::Mutex<()>; TURNS]>,
}

impl RunEngine {
    /// The runs of this store.
    pub fn of(store: Store) -> Self {
        let locks = Arc::new(std::array::from_fn(|_| tokio::sync::Mutex::default()));
        Self { store, host: None, cache: Arc::default(), locks }
    }

    /// The same, in a process that carries runs on.
    #[must_use]
    pub fn hosted_by(self, host: Option<RunHost>) -> Self {
        Self { host, ..self }
    }

    /// Starts the run of a sub-agent, which reports to its ticket when it ends. Started again, it is the same run.
    /// It gets what its parent may do, as far as the caller may do that.
    pub async fn start_child(
        &self,
        parent: RunId,
        ticket: &Ticket,
        limit: RunRights,
        now: i64,
    ) -> Result<RunView, RunError> {
        let view = self.get(parent, now).await?.in_front(ticket);
        let dispatch = match &view.reply.next {
            NextAction::Directive { directive } => child_of(directive, ticket),
            _ => None,
        };
        let no_child = || RunError::NotAChild(ticket.clone());
        let dispatch = dispatch.ok_or_else(no_child)?;
        let name = dispatch.workflow.as_deref().ok_or_else(no_child)?;
        let kept = self.store.read(PinnedDefinitions(view.record.hash.clone())).await?;
        let whole = PinnedDefinition { main: view.record.about.workflow.clone(), definitions: kept };
        let pinned = whole.from_within(name).ok_or_else(no_child)?;
        let about = RunOrigin {
            workflow: name.to_owned(),
            parent: Some((parent, ticket.clone())),
            rights: view.record.about.rights.within(limit),
            ..view.record.about.clone()
        };
        let text = |key: &str| view.record.run.context.get(key).and_then(Json::as_str).unwrap_or_default().to_owned();
        let place = RunLocation { workspace: text("workspace"), tool: text("tool"), agent: text(STEP_AGENT) };
        let kept = RunKeeping { host: view.record.host.clone(), work_key: None, once: None };
        match self.begin(&pinned, about, dispatch.with.clone(), place, kept, now).await {
            // It could never start, so its parent must not wait for it.
            Err(RunError::CannotStart(refusal)) => {
                let failed = RunInput::ChildRunEnded {
                    ticket: ticket.clone(),
                    outcome: StepOutcome::FAIL,
                    result: failure(Some(&refusal.to_string())),
                    seen: FileState::default(),
                    now,
                };
                self.submit(parent, failed, ExecutionClaim::None).await?;
                Err(RunError::Unfit { ticket: ticket.clone(), parent, refusal })
            }
            started => started,
        }
    }

    async fn begin(
        &self,
        pinned: &PinnedDefinition,
        about: RunOrigin,
        params: Map<String, Json>,
        place: RunLocation,
        kept: RunKeeping,
        now: i64,
    ) -> Result<RunView, RunError> {
        let definition = Arc::new(pinned.definition()?);
        let id = RunId::new(Uuid::now_v7());
        let seed = getrandom::u64().map_err(|error| StoreError::Database(format!("no randomness: {error}")))?;
        let context = place.context(id, about.project.as_ref());
        let input = RunInput::Start { params, context, seed, now };
        let events = decide(&definition, &Run::default(), input).map_err(RunError::CannotStart)?;
        let run = events.iter().fold(Run::default(), evolve);
        let deadline = deadline(&definition, &run);
        let (hash, definitions) = (hash(&pinned.definitions), pinned.definitions.clone());
        let RunKeeping { host, work_key, once } = kept;
        let change = StartRun { id, about, hash, definitions, events: events.clone(), run, deadline, host, work_key };
        let record = self.store.write_once(change, once).await?;
        let view = if record.id == id {
            let updates = run_reply::list_updates(&definition, &record.run, &events);
            view(record, definition, updates)
        } else {
            // A repeated request gets the run of the first one, whatever its files say by now.
            let definition = self.definition(&record).await?;
            view(record, definition, Vec::new())
        };
        self.report_to_parent(&view.record, now).await?;
        Ok(view)
    }

    /// The state of a run, after everything that follows from time alone.
    pub async fn get(&self, id: RunId, now: i64) -> Result<RunView, RunError> {
        let record = self.store.read(RunById(id)).await?;
        let definition = self.definition(&record).await?;
        match deadline(&definition, &record.run) {
            Some(at) if at <= now => {
                match Box::pin(self.submit(id, RunInput::Elapsed { now }, ExecutionClaim::None)).await {
                    // Another caller ended or paused it in between.
                    Err(RunError::Refused { view, .. }) => Ok(*view),
                    elapsed => elapsed,
                }
            }
            _ => {
                // The process that wrote the end may have died before it reported to the parent.
                self.report_to_parent(&record, now).await?;
                self.sync_children(view(record, definition, Vec::new()), now).await
            }
        }
    }

    /// The run after the reports of all its sub-agents' runs that are over. It receives none while it is paused, and
    /// the process that would have reported may have died.
    async fn sync_children(&self, view: RunView, now: i64) -> Result<RunView, RunError> {
        let NextAction::Directive { directive } = &view.reply.next else { return Ok(view) };
        if directive.dispatches.iter().all(|dispatch| dispatch.workflow.is_none()) {
            return Ok(view);
        }
        let mut unheard = self.store.read(EndedSubruns { of: view.record.id }).await?;
        unheard
            .retain(|part| part.about.parent.as_ref().is_some_and(|(_, ticket)| child_of(directive, ticket).is_some()));
        if unheard.is_empty() {
            return Ok(view);
        }
        for part in &unheard {
            self.report_to_parent(part, now).await?;
        }
        let record = self.store.read(RunById(view.record.id)).await?;
        Ok(view::view(record, view.definition, view.reply.updates))
    }

    /// Whether a run is not over yet; one that cannot be read may still be active.
    pub async fn is_active(store: &Store, run: &str) -> bool {
        let Ok(id) = run.parse() else { return false };
        match store.read(RunById(id)).await {
            Ok(record) => !record.run.is_over(),
            Err(StoreError::NotFound { .. }) => false,
            Err(_) => true,
        }
    }

    /// The state of a run, with the events since the last input: the caller may have missed them.
    pub async fn load_view(&self, id: RunId, now: i64) -> Result<RunView, RunError> {
        let mut view = self.get(id, now).await?;
        let mut updates = self.updates_since(&view.record, &view.definition, None).await?;
        updates.append(&mut view.reply.updates);
        view.reply.updates = updates;
        Ok(view)
    }

    /// The events after a ticket's report, until the next report; without a ticket, after the last report.
    async fn updates_since(
        &self,
        record: &RunRecord,
        definition: &RunDefinition,
        ticket: Option<&Ticket>,
    ) -> Result<Vec<RunUpdate>, RunError> {
        let events = self.store.read(RunTail { id: record.id, limit: TAIL }).await?;
        let said = message_indexes(&events);
        let began = match ticket {
            Some(own) => {
                said.iter().rposition(|at| matches!(&events[*at], RunEvent::Reported { ticket, .. } if ticket == own))
            }
            None => said.len().checked_sub(1),
        };
        let from = began.map_or(0, |index| said[index] + 1);
        let to = began.and_then(|index| said.get(index + 1).copied()).unwrap_or(events.len());
        Ok(run_reply::list_updates(definition, &record.run, &events[from..to]))
    }

    /// Applies an input. If another writer is faster, the decision is made again.
    pub async fn submit(&self, id: RunId, input: RunInput, hand: ExecutionClaim) -> Result<RunView, RunError> {
        self.submit_at(id, None, input, hand).await
    }

    /// The same, unless the run is not at the revision that the caller knows.
    pub async fn submit_at(
        &self,
        id: RunId,
        expected: Option<i64>,
        input: RunInput,
        hand: ExecutionClaim,
    ) -> Result<RunView, RunError> {
        for _ in 0..TRIES {
            let turn = self.run_lock(id).lock().await;
            let record = self.store.read(RunById(id)).await?;
            if let Some(expected) = expected.filter(|expected| *expected != record.revision) {
                let (id, current) = (id.to_string(), record.revision);
                return Err(StoreError::StaleRevision { what: RecordKind::Run, id, expected, current }.into());
            }
            let definition = self.definition(&record).await?;
            if let Some(view) = hand.repeated_view(&record, &definition, &input) {
                return Ok(view);
            }
            if let (true, RunInput::Started { ticket, .. }) = (hand.is_taken(&record), &input) {
                let refusal = InputRefusal::NotAwaited(ticket.clone(), AwaitedInput::Execution);
                return Err(RunError::Refused { refusal, view: Box::new(view(record, definition, Vec::new())) });
            }
            let before = record.run.clone();
            let events = match decide(&definition, &before, input.clone()) {
                Ok(events) => events,
                Err(refusal) => {
                    if is_repeated(&before, &input) {
                        return Ok(view(record, definition, Vec::new()));
                    }
                    let view = Box::new(view(record, definition, Vec::new()));
                    return Err(RunError::Refused { refusal, view });
                }
            };
            let run = events.iter().fold(record.run.clone(), evolve);
            if reports_items(&input)
                && let Some(refusal) = self.parent_refusal(&record, &run).await?
            {
                let view = Box::new(view(record, definition, Vec::new()));
                return Err(RunError::Refused { refusal, view });
            }
            let advanced = if events.is_empty() {
                record
            } else {
                let change = AdvanceRun {
                    id,
                    revision: record.revision,
                    executor: hand.executing(&record, &run),
                    deadline: deadline(&definition, &run),
                    events: events.clone(),
                    run,
                };
                match self.store.write(change).await {
                    Ok(record) => record,
                    Err(StoreError::StaleRevision { .. } | StoreError::Collision) => continue,
                    Err(error) => return Err(error.into()),
                }
            };
            drop(turn);
            let updates = match (ticket_of(&input), events.is_empty()) {
                // A repeated report gets the answer of the first one.
                (Some(ticket), true) => self.updates_since(&advanced, &definition, Some(ticket)).await?,
                _ => run_reply::list_updates(&definition, &advanced.run, &events),
            };
            let mut view = view(advanced, definition, updates);
            if let Some(handed) = subagent_done(&view, &input) {
                view.reply.next = NextAction::Handed(handed);
            }
            let now = event_time(&input).unwrap_or(view.record.updated_at);
            self.report_to_parent(&view.record, now).await?;
            return if input == RunInput::Resume { self.sync_children(view, now).await } else { Ok(view) };
        }
        Err(StoreError::Busy.into())
    }

    /// Changes of one run in this process take turns: otherwise many at once would collide again and again.
    fn run_lock(&self, id: RunId) -> &tokio::sync::Mutex<()> {
        let place = Uuid::from(id).as_u128() % TURNS as u128;
        &self.locks[usize::try_from(place).unwrap_or_default()]
    }

    /// Checks every run whose time may have run out, and returns those that cannot be checked: they do not block the
    /// others.
    pub async fn apply_timeouts(&self, now: i64) -> Result<Vec<(RunId, RunError)>, StoreError> {
        let mut failed = Vec::new();
        for id in self.store.read(OverdueRuns { now }).await? {
            match self.submit(id, RunInput::Elapsed { now }, ExecutionClaim::None).await {
                Ok(_) | Err(RunError::Refused { .. }) => {}
                Err(error) => failed.push((id, error)),
            }
        }
        Ok(failed)
    }

    /// The inputs a run was started with.
    pub async fn pinned(&self, record: &RunRecord) -> Result<BTreeMap<String, PinnedText>, RunError> {
        Ok(self.store.read(PinnedDefinitions(record.hash.clone())).await?)
    }

    async fn definition(&self, record: &RunRecord) -> Result<Arc<RunDefinition>, RunError> {
        let key = (record.hash.clone(), record.about.workflow.clone());
        if let Some(kept) = self.cache.lock().unwrap_or_else(PoisonError::into_inner).get(&key) {
            return Ok(Arc::clone(kept));
        }
        let definitions = self.store.read(PinnedDefinitions(record.hash.clone())).await?;
        let pinned = PinnedDefinition { main: record.about.workflow.clone(), definitions };
        let definition = Arc::new(pinned.definition()?);
        let mut kept = self.cache.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.len() >= KEPT {
            kept.clear();
        }
        kept.insert(key, Arc::clone(&definition));
        Ok(definition)
    }
}

/// Who carries a run on, and what only one run may work through at a time.
struct RunKeeping {
    host: Option<RunHost>,
    work_key: Option<String>,
    /// The key of a request that may be repeated.
    once: Option<IdempotencyKey>,
}

struct RunLocation {
    workspace: String,
    tool: String,
    /// The agent that does the steps; empty where no one is named.
    agent: String,
}

impl RunLocation {
    fn context(self, run: RunId, project: Option<&ProjectId>) -> Map<String, Json> {
        let project = project.map(ToString::to_string).unwrap_or_default();
        let values =
            [("workspace", self.workspace), ("tool", self.tool), ("run", run.to_string()), ("project", project)];
        let agent = Some((STEP_AGENT, self.agent)).filter(|(_, agent)| !agent.is_empty());
        values.into_iter().chain(agent).map(|(key, value)| (key.to_owned(), Json::String(value))).collect()
    }
}

/// The ticket of a report by an agent or the user.
fn ticket_of(input: &RunInput) -> Option<&Ticket> {
    match input {
        RunInput::Report { ticket, .. } | RunInput::Answer { ticket, .. } => Some(ticket),
        _ => None,
    }
}

/// Whether an agent or the user reported, and not the executor.
fn message_indexes(events: &[RunEvent]) -> Vec<usize> {
    let (mut found, mut executing) = (Vec::new(), false);
    for (at, event) in events.iter().enumerate() {
        match event {
            RunEvent::Progressed { progress: ExecutionProgress::Started } => executing = true,
            RunEvent::Waiting { .. } => executing = false,
            RunEvent::Reported { .. } if !executing => found.push(at),
            _ => {}
        }
    }
    found
}

/// Whether the requested state is already reached.
fn is_repeated(run: &Run, input: &RunInput) -> bool {
    matches!(
        (&run.status, input),
        (RunStatus::Cancelled, RunInput::Cancel | RunInput::RequestCancel { .. })
            | (RunStatus::Paused, RunInput::Pause)
            | (RunStatus::Active, RunInput::Resume)
    )
}

/// The time of an event, if it has one.
fn event_time(input: &RunInput) -> Option<i64> {
    match input {
        RunInput::Start { now, .. }
        | RunInput::Report { now, .. }
        | RunInput::ChildRunEnded { now, .. }
        | RunInput::Answer { now, .. }
        | RunInput::Started { now, .. }
        | RunInput::Finished { now, .. }
        | RunInput::Lost { now, .. }
        | RunInput::Consent { now, .. }
        | RunInput::Abandon { now, .. }
        | RunInput::AddItem { now, .. }
        | RunInput::DeliverItems { now, .. }
        | RunInput::Reopen { now, .. }
        | RunInput::Branch { now, .. }
        | RunInput::RequestCancel { now }
        | RunInput::Elapsed { now } => Some(*now),
        RunInput::Pause | RunInput::Resume | RunInput::Cancel => None,
    }
}
