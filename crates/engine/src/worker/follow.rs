//! What does an agent do from its first word to its last, and what came of it?

use std::path::PathBuf;
use std::time::Duration;

use maestro_core::agent::spawn::Budget;
use maestro_core::agent::{
    AgentEvent, ChoiceKind, Ending, Evidence, Expected, Ledger, Outcome, Reporting, Verdict, bounded, outcome,
};
use maestro_core::id::SessionId;
use maestro_core::session::{EndReason, SessionStatus};
use maestro_store::{
    After, AppendTranscript, AskPermission, Clock, Permissions, RenewSpawn, SessionById, Spawn, Store, Which,
};
use serde_json::{Value as Json, json};
use tokio::time::{Instant, interval_at};

use super::LEASE;
use crate::agents::{Handle, Session};
use crate::changes;

/// How often the claim is renewed and orders are looked for.
const BEAT: Duration = Duration::from_secs(1);
/// How often what an agent did is kept.
const FLUSH: Duration = Duration::from_millis(100);
/// How many events are kept at once.
const BATCH: usize = 256;
/// How long an answer to an agent's question is waited for, in milliseconds.
const PATIENCE: i64 = 30 * 60 * 1000;

/// Whoever follows one agent.
pub(super) struct Follower {
    pub(super) store: Store,
    pub(super) clock: Clock,
    pub(super) session: SessionId,
    pub(super) worker: String,
    pub(super) workspace: PathBuf,
    pub(super) budget: Budget,
    pub(super) reporting: Reporting,
}

/// What is known of an agent while it works.
struct Course {
    evidence: Evidence,
    ledger: Ledger,
    batch: Vec<(i64, AgentEvent)>,
    asked: Vec<(String, i64)>,
}

impl Follower {
    /// Follows an agent to its end, and says what came of it and what follows.
    pub(super) async fn follow(self, mut agent: Session, spawn: &Spawn) -> (Json, After) {
        // One that converses would wait for more, and nobody has more to say.
        agent.handle.finish().await;
        let before = changes::tree(&self.workspace);
        let evidence = Evidence::new(self.reporting, Expected::Anything);
        let mut course = Course { evidence, ledger: Ledger::default(), batch: Vec::new(), asked: Vec::new() };
        let (mut beat, mut flush) =
            (interval_at(Instant::now() + BEAT, BEAT), interval_at(Instant::now() + FLUSH, FLUSH));
        loop {
            tokio::select! {
                event = agent.events.recv() => match event {
                    Some(event) => self.note(event, &mut course).await,
                    None => break,
                },
                _ = flush.tick() => self.keep(&mut course).await,
                _ = beat.tick() => self.look(&agent.handle, &mut course).await,
            }
            if course.batch.len() >= BATCH {
                self.keep(&mut course).await;
            }
        }
        self.keep(&mut course).await;
        let after = changes::tree(&self.workspace);
        course.evidence.changed = match (before.as_deref(), after.as_deref()) {
            (Some(before), Some(after)) => changes::between(&self.workspace, before, after).unwrap_or_default(),
            _ => Vec::new(),
        };
        self.settled(&course, spawn).await
    }

    async fn note(&self, event: AgentEvent, course: &mut Course) {
        let event = bounded(event);
        course.evidence.note(&event);
        course.ledger.note(&event);
        if let AgentEvent::Asked { id, title, detail, options } = &event {
            let ask = AskPermission {
                session: self.session.clone(),
                worker: self.worker.clone(),
                request: id.clone(),
                title: title.clone(),
                detail: detail.clone(),
                options: options.clone(),
                patience: PATIENCE,
            };
            if let Ok(asked) = self.store.write(ask).await {
                course.asked.push((asked.request, asked.expires_at));
            }
        }
        course.batch.push(((self.clock)(), event));
    }

    async fn keep(&self, course: &mut Course) {
        if course.batch.is_empty() {
            return;
        }
        let events = std::mem::take(&mut course.batch);
        let append = AppendTranscript { session: self.session.clone(), worker: self.worker.clone(), events };
        // A claim that is lost is found out with the next beat.
        let _ = self.store.write(append).await;
    }

    /// Renews the claim, and does what was decided meanwhile.
    async fn look(&self, handle: &Handle, course: &mut Course) {
        let renew = RenewSpawn {
            session: self.session.clone(),
            worker: self.worker.clone(),
            lease: LEASE,
            agent_session: handle.agent_session(),
        };
        match self.store.write(renew).await {
            Ok(SessionStatus::Stopped | SessionStatus::Failed) => {
                course.evidence.ending = Ending::Cancelled;
                handle.cancel();
            }
            Err(maestro_store::StoreError::Rule(_)) => handle.cancel(),
            _ => {}
        }
        let spent = course.ledger.spent();
        let over = [
            self.budget.tokens.filter(|most| spent.tokens() > *most).map(|most| format!("{most} tokens")),
            self.budget.cost_usd.filter(|most| spent.cost_usd > *most).map(|most| format!("${most}")),
        ];
        if let Some(what) = over.into_iter().flatten().next() {
            course.evidence.ending = Ending::Limit { what };
            handle.cancel();
        }
        self.answer(handle, course).await;
    }

    /// Passes answers on; what nobody answered in time is a no.
    async fn answer(&self, handle: &Handle, course: &mut Course) {
        if course.asked.is_empty() {
            return;
        }
        let wanted = Permissions { session: Some(self.session.clone()), which: Which::All };
        let Ok(known) = self.store.read(wanted).await else { return };
        let now = (self.clock)();
        let mut open = Vec::new();
        for (request, expires) in std::mem::take(&mut course.asked) {
            let answered = known.iter().find(|one| one.request == request).and_then(|one| one.answer);
            match answered.or((expires <= now).then_some(ChoiceKind::RejectOnce)) {
                Some(kind) => drop(handle.answer(&request, kind).await),
                None => open.push((request, expires)),
            }
        }
        course.asked = open;
    }

    async fn settled(&self, course: &Course, spawn: &Spawn) -> (Json, After) {
        let status = self.store.read(SessionById(self.session.clone())).await.map(|session| session.status);
        let reported = matches!(status, Ok(SessionStatus::Completed));
        let found = outcome(&course.evidence);
        let spent = course.ledger.spent();
        let told = json!({
            "outcome": found,
            "tokens": spent.tokens(),
            "costUsd": spent.cost_usd,
            "changedFiles": course.evidence.changed,
        });
        let over = |status| After::Over { status, end: Some(EndReason::Exited) };
        if reported {
            return (told, over(SessionStatus::Completed));
        }
        let may_again = spawn.attempt < i64::from(self.budget.starts);
        let again = |ms: i64| After::Again { not_before: (self.clock)() + ms };
        let after = match (course.evidence.verdict(), &found) {
            (Some(Verdict::RetryAfter { ms }), _) if may_again => again(i64::try_from(ms).unwrap_or(i64::MAX / 2)),
            (Some(Verdict::WaitUntil { at }), _) if may_again => After::Again { not_before: at },
            (Some(Verdict::Retry), Outcome::Failed { .. } | Outcome::NothingDone) if may_again => again(5_000),
            (_, Outcome::Done) => over(SessionStatus::Completed),
            (_, Outcome::Cancelled) => over(SessionStatus::Stopped),
            _ => over(SessionStatus::Failed),
        };
        (told, after)
    }
}
