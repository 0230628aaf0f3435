//! Monitor of one agent from its first event to its last.

mod limits;
mod questions;

use std::time::Duration;

use maestro_core::agent::{AgentEvent, CodingAgent, EndCause, LimitGrant, StopReason, limit_event};
use maestro_core::id::SessionId;
use maestro_core::report::ReportKind;
use maestro_core::session::SessionStatus;
use maestro_core::step_session::StepSession;
use maestro_store::{
    AppendTranscript, ClaimStatus, DatabaseLocation, DeliveryStage, MarkDelivered, RecordDeliveries, RenewSpawn,
    SessionById, SpawnRecord, StepOfSession, StoreError, UnreadMessages, WorkerSignal,
};
use tokio::sync::watch;
use tokio::time::{Instant, MissedTickBehavior, interval_at};

use self::limits::LimitQuestion;
use super::history::{self, SessionHistory};
use super::launch::LaunchedAgent;
use super::settle::{self, ProcessEnd, SettledSession};
use super::transcript_buffer::TranscriptBuffer;
use super::{AgentWorker, LEASE};
use crate::agents::process::{KillReason, ProcessExit, ProcessOutcome};
use crate::agents::{AgentHandle, RunningAgent, chosen_env};
use crate::blocking;
use crate::git_changes;

/// How often the claim is renewed.
const BEAT: Duration = Duration::from_secs(3);
/// For how long an agent goes on without a renewal: it stands still before another worker can claim its session.
const AGENT_LEASE: Duration = Duration::from_millis(LEASE.unsigned_abs()).saturating_sub(BEAT);
/// How often what an agent did is kept.
const FLUSH: Duration = Duration::from_millis(100);
/// How many events are kept at once.
const BATCH: usize = 256;

/// Monitors an agent to its end, and returns the result and what follows.
pub(super) async fn monitor(
    worker: &AgentWorker,
    launched: LaunchedAgent,
    spawn: &SpawnRecord,
    standing: watch::Receiver<Option<ClaimStatus>>,
) -> SettledSession {
    let LaunchedAgent { agent, spec, since, workspace, checks, history, .. } = launched;
    let LaunchedAgent { resumed, tree, kind, temporary, token, socket, .. } = launched;
    // Its programs call for as long as it is monitored.
    let _socket = socket;
    let RunningAgent { mut events, handle, .. } = agent;
    let mut monitor = SessionMonitor {
        worker,
        session: &spawn.session,
        kind,
        handle,
        standing,
        spec,
        workspace,
        checks,
        history,
        silent: resumed,
        buffer: TranscriptBuffer::default(),
        receipts: Vec::new(),
        asked: Vec::new(),
        allowed: Vec::new(),
        token,
        wish: WorkerSignal::GoOn,
        paused: PauseState::Running,
        tree: spawn.tree.clone().or(tree),
        attempt: spawn.attempt,
        limit: None,
        limits_asked: 0,
        granted: LimitGrant::default(),
    };
    monitor.renew().await;
    // An agent that has nothing left waits for this.
    monitor.enforce_budget().await;
    let beat = |every| {
        let mut beats = interval_at(Instant::now() + every, every);
        beats.set_missed_tick_behavior(MissedTickBehavior::Delay);
        beats
    };
    let (mut beats, mut flushes) = (beat(BEAT), beat(FLUSH));
    loop {
        tokio::select! {
            event = events.recv() => match event {
                Some(event) => monitor.note(event).await,
                None => break,
            },
            changed = monitor.standing.changed() => if changed.is_ok() { monitor.apply_control().await },
            _ = flushes.tick() => monitor.flush().await,
            _ = beats.tick() => {
                monitor.renew().await;
                monitor.expire().await;
            }
        }
    }
    monitor.keep_all().await;
    // Nothing of it is left that could still write there.
    if let Err(error) = blocking::run(move || temporary.close()).await {
        tracing::warn!(session = %spawn.session, "its temporary files could not be removed: {error}");
    }
    monitor.settle(spawn, since).await
}

/// Whether an agent goes on or stands still.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PauseState {
    Running,
    Paused,
}

/// The monitor of one agent.
struct SessionMonitor<'a> {
    worker: &'a AgentWorker,
    session: &'a SessionId,
    kind: CodingAgent,
    handle: AgentHandle,
    standing: watch::Receiver<Option<ClaimStatus>>,
    spec: maestro_core::agent::spawn::SpawnSpec,
    workspace: std::path::PathBuf,
    checks: Vec<String>,
    history: SessionHistory,
    /// Whether it goes on with a session of its own and did nothing yet.
    silent: bool,
    /// What is not kept yet.
    buffer: TranscriptBuffer,
    receipts: Vec<(String, String, DeliveryStage)>,
    /// The questions that are open, and until when.
    asked: Vec<(String, i64)>,
    /// What was allowed for all of this run, whatever the agent itself remembers of it.
    allowed: Vec<(String, String)>,
    /// The session's secret.
    token: String,
    wish: WorkerSignal,
    paused: PauseState,
    tree: Option<String>,
    /// Which start this is.
    attempt: i64,
    /// The question about a limit that is reached; until it is answered the agent stands still.
    limit: Option<LimitQuestion>,
    /// How often more was asked for.
    limits_asked: u32,
    /// What a person allowed beyond the limits.
    granted: LimitGrant,
}

impl SessionMonitor<'_> {
    async fn note(&mut self, event: AgentEvent) {
        let event = masked(limit_event(self.with_hint(event)), &self.token);
        self.receipts.extend(self.history.note(&event));
        let (asked, began) = (matches!(event, AgentEvent::Asked { .. }), matches!(event, AgentEvent::Began { .. }));
        let turn_ended = matches!(event, AgentEvent::Ended { .. });
        let is_end = matches!(event, AgentEvent::Usage { .. } | AgentEvent::Ended { .. });
        if asked {
            self.ask(&event).await;
        }
        if let AgentEvent::Ended { stop: StopReason::Cancelled, .. } = event {
            self.asked.clear();
        }
        if matches!(event, AgentEvent::Said { .. } | AgentEvent::Thought { .. } | AgentEvent::ToolBegan { .. }) {
            self.silent = false;
        }
        let now = self.worker.machine.host.now();
        if self.is_at_work() {
            self.history.worked.extend(now);
        }
        self.buffer.add(now, event);
        if began {
            // What it calls its session must outlive us from the first moment on.
            self.renew().await;
        }
        if self.buffer.len() >= BATCH || asked || began {
            self.flush().await;
        }
        if turn_ended {
            self.next_turn().await;
        }
        // What ends a turn ends the spending as well.
        if !is_end {
            self.enforce_budget().await;
        }
    }

    /// Trouble of an agent that misses a variable of the user's, with what gives it to agents.
    fn with_hint(&self, mut event: AgentEvent) -> AgentEvent {
        let machine = &self.worker.machine;
        if let AgentEvent::Trouble { message, .. } = &mut event
            && let Some(hint) =
                chosen_env::missing_hint(message, &self.kind, &machine.variables, &machine.sandbox.agent_env)
        {
            message.extend([" (hint: ", &hint, ")"]);
        }
        event
    }

    /// Sends an agent the messages that arrived during its turn; without any, it may end.
    async fn next_turn(&mut self) {
        let over = self.standing.borrow().as_ref().is_some_and(|standing| standing.status.is_over());
        let unheard = if over {
            Vec::new()
        } else {
            let unheard = self.worker.store.read(UnreadMessages(self.session.clone())).await;
            // What cannot be read now stays queued, and starts the agent again once it ended.
            self.record(unheard).unwrap_or_default()
        };
        let mut told = Vec::new();
        for message in unheard {
            let text = format!("{} says: {}", message.from, message.text);
            if self.handle.say(&text).await.is_err() {
                break;
            }
            told.push(message.id);
        }
        if told.is_empty() {
            return self.handle.finish().await;
        }
        let how = "told by its protocol".to_owned();
        let passed = MarkDelivered { session: self.session.clone(), worker: self.name(), messages: told, how };
        let passed = self.worker.store.write(passed).await;
        self.record(passed);
    }

    /// Does what was decided meanwhile.
    async fn apply_control(&mut self) {
        let standing = self.standing.borrow_and_update().clone();
        let Some(standing) = standing else {
            // Another worker has it now.
            return self.handle.cancel();
        };
        if standing.signal == WorkerSignal::LetGo && self.wish == WorkerSignal::GoOn {
            self.wish = WorkerSignal::LetGo;
            self.history.evidence.ending = EndCause::Cancelled;
            self.handle.cancel();
        }
        match (standing.status, self.paused) {
            (SessionStatus::Stopped | SessionStatus::Failed, _) => {
                self.history.evidence.ending = EndCause::Cancelled;
                self.handle.cancel();
            }
            (SessionStatus::Paused, PauseState::Running) => {
                if self.is_at_work() {
                    self.history.worked.extend(self.worker.machine.host.now());
                }
                self.paused = PauseState::Paused;
                if self.handle.pause().await.is_err() {
                    tracing::debug!("the agent ended before it was paused");
                }
            }
            (SessionStatus::Paused, PauseState::Paused) | (_, PauseState::Running) => {}
            (_, PauseState::Paused) => {
                self.paused = PauseState::Running;
                self.history.worked.begin(self.worker.machine.host.now());
                if self.limit.is_none() && self.handle.resume().await.is_err() {
                    tracing::debug!("the agent ended before it was resumed");
                }
            }
        }
        self.answer().await;
    }

    /// Stores what is left of the transcript, however long the database takes.
    async fn keep_all(&mut self) {
        let events = self.buffer.take();
        if !events.is_empty() {
            let append = || {
                self.worker.store.write(AppendTranscript {
                    session: self.session.clone(),
                    worker: self.name(),
                    events: events.clone(),
                })
            };
            if let Err(error) = self.worker.health.persist(&AgentWorker::task_of(self.session), append).await {
                tracing::warn!("the end of the transcript was not stored: {error}");
            }
        }
        self.flush().await;
    }

    async fn flush(&mut self) {
        if !self.worker.health.is_due(&AgentWorker::task_of(self.session)) {
            return;
        }
        let events = self.buffer.take();
        if !events.is_empty() {
            let append =
                AppendTranscript { session: self.session.clone(), worker: self.name(), events: events.clone() };
            match self.worker.store.write(append).await {
                // A claim that is lost shows in the session's status.
                Err(StoreError::Rule(_)) => {}
                Err(error) if error.is_failure() => {
                    self.buffer.put_back(events);
                    self.record(Err::<(), _>(error));
                }
                stored => drop(self.record(stored)),
            }
        }
        if !self.receipts.is_empty() {
            let texts = std::mem::take(&mut self.receipts);
            let kept = self.worker.store.write(RecordDeliveries { session: self.session.clone(), texts }).await;
            self.record(kept);
        }
    }

    /// Records what the store answers about this session.
    fn record<T>(&self, answer: Result<T, StoreError>) -> Option<T> {
        self.worker.health.record(&AgentWorker::task_of(self.session), answer)
    }

    async fn renew(&self) {
        let renew = RenewSpawn {
            session: self.session.clone(),
            worker: self.name(),
            lease: LEASE,
            agent_session: self.handle.agent_session(),
            tree: self.tree.clone(),
        };
        match self.worker.store.write(renew).await {
            Err(StoreError::Rule(reason)) => {
                tracing::warn!("the agent is ended: {reason}");
                self.handle.cancel();
            }
            renewed => {
                // Where all workers share a file of this machine, no other can have it while that is out of reach.
                let is_local = matches!(self.worker.store.location(), DatabaseLocation::File(_));
                if renewed.is_ok() || is_local {
                    self.handle.renew(AGENT_LEASE);
                }
                self.record(renewed);
            }
        }
    }

    fn name(&self) -> String {
        self.worker.machine.identity.as_str().to_owned()
    }

    /// How its process ended; that it fell silent counts for more than how it died of that.
    async fn end(&mut self) -> ProcessEnd {
        let ended = self.handle.wait().await;
        if ended.because == Some(KillReason::Idle) && self.history.evidence.ending == EndCause::Own {
            self.history.evidence.ending = EndCause::Silent;
        }
        match ended {
            ProcessOutcome { how: ProcessExit::Killed(_) | ProcessExit::Lost, because: None } => ProcessEnd::Died,
            ProcessOutcome { because: None, .. } if self.silent => ProcessEnd::Forgot,
            _ => ProcessEnd::Orderly,
        }
    }

    /// Whether it works: it neither was paused nor waits for more.
    fn is_at_work(&self) -> bool {
        self.limit.is_none() && self.paused == PauseState::Running
    }

    async fn settle(mut self, spawn: &SpawnRecord, since: i64) -> SettledSession {
        let end = self.end().await;
        if self.is_at_work() {
            self.history.worked.extend(self.worker.machine.host.now());
        }
        let after = self.tree_now().await;
        self.history.evidence.changed = self.changed(after.clone()).await;
        self.history.evidence.last_words = self.history.progress.last_words();
        if end == ProcessEnd::Orderly {
            let counted = self.worker.count_skill_uses(self.session).await;
            self.record(counted);
        }
        let decided = self.worker.final_status(self.session, &mut self.history, since).await;
        settle::settle(&settle::SettleInput {
            evidence: &self.history.evidence,
            spent: self.history.ledger.spent(),
            granted: self.granted,
            worked: self.history.worked,
            tree: after,
            turns: self.history.progress.turns(),
            budget: &self.spec.budget,
            fallback: self.spec.taken_over(&self.kind.name, &self.history.ledger.spent()),
            attempt: spawn.attempt,
            status: decided.status,
            needs_input: decided.needs_input.as_deref(),
            end,
            wish: self.wish,
            unheard: decided.unheard,
            outages: settle::outages_before(spawn),
            reminder: self.spec.reminder.as_deref(),
            reminded: settle::was_reminded(spawn),
            now: self.worker.machine.host.now(),
        })
    }

    /// What all files together are now.
    async fn tree_now(&self) -> Option<String> {
        let workspace = self.workspace.clone();
        blocking::run(move || git_changes::tree_hash(&workspace)).await
    }

    /// The files that really changed since the session's first start.
    async fn changed(&self, after: Option<String>) -> Vec<String> {
        let Some((before, after)) = self.tree.clone().zip(after) else { return Vec::new() };
        let workspace = self.workspace.clone();
        let look = move || git_changes::changed_files(&workspace, &before, &after);
        let changed = blocking::run(look).await.unwrap_or_default();
        changed.into_iter().filter(|path| !self.kind.leaves_behind(path)).collect()
    }
}

/// What was decided about a session while its agent worked.
pub(super) struct FinalStatus {
    pub(super) status: SessionStatus,
    pub(super) needs_input: Option<String>,
    /// How many messages its agent has not received.
    pub(super) unheard: usize,
}

impl AgentWorker {
    /// The decision about a session whose agent has ended. It is read however long the database takes: a cancelled
    /// session must not start again. A deleted session counts as stopped.
    pub(super) async fn final_status(
        &self,
        session: &SessionId,
        history: &mut SessionHistory,
        since: i64,
    ) -> FinalStatus {
        let task = Self::task_of(session);
        let found = self.health.persist(&task, || self.store.read(SessionById(session.clone()))).await;
        let (status, needs_input) = match found {
            Ok(session) => (session.status, session.needs_input),
            Err(error) => {
                tracing::warn!("the session cannot be found: {error}");
                (SessionStatus::Stopped, None)
            }
        };
        let lines = self.health.persist(&task, || history::lines(&self.store, session)).await;
        history.note_reports(&lines.unwrap_or_default(), since);
        let step = self.health.persist(&task, || self.store.read(StepOfSession(session.clone()))).await;
        if let Ok(Some(StepSession { report: Some(_), .. })) = step
            && history.evidence.reported.is_none()
        {
            // What it reported for its step says that it is done.
            history.evidence.note_report(ReportKind::Complete, "reported for its step");
        }
        let unheard = self.health.persist(&task, || self.store.read(UnreadMessages(session.clone()))).await;
        FinalStatus { status, needs_input, unheard: unheard.map_or(0, |unheard| unheard.len()) }
    }
}

/// The event without the session's secret: a reader of a transcript must not be able to act for the session.
fn masked(event: AgentEvent, secret: &str) -> AgentEvent {
    let Ok(text) = serde_json::to_string(&event) else { return event };
    if secret.is_empty() || !text.contains(secret) {
        return event;
    }
    serde_json::from_str(&text.replace(secret, "(secret)")).unwrap_or(event)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_transcript_holds_the_secret_of_its_session() {
        let said = |text: &str| AgentEvent::Said { text: text.to_owned() };
        assert_eq!(masked(said("TOKEN=mst_1 \"x\""), "mst_1"), said("TOKEN=(secret) \"x\""));
        assert_eq!(masked(said("nothing"), "mst_1"), said("nothing"));
    }
}
