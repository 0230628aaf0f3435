//! Which session has the seat at a step of a run, and who hears of what came of it?

use maestro_core::agent::SessionOutcome;
use maestro_core::event::RunId;
use maestro_core::report::ReportKind;
use maestro_core::session::{Approach, EndReason, Session, SessionControl, SessionStatus};
use maestro_core::step_session::{StepReport, StepSession};
use maestro_core::workflow::StepOutcome;
use maestro_core::workflow::pinned_definition::{PinnedDefinition, PinnedText};
use maestro_core::workflow::run::{Run, RunDefinition, RunInput, decide, evolve};
use maestro_store::*;
use serde_json::{Map, json};

use crate::cast::{assert_refused, says};
use crate::world::{MINUTE, World, both};

const LOOP: &str = "name: one\nsteps:\n- {id: a, type: agent, session: {agent: demo}, next: {ok: end, fail: end}}\n";

/// The process that carries on the runs of these tests.
fn host() -> RunHost {
    RunHost { kind: HostKind::Server, process: "machine 1 1".into() }
}

/// A run that waits for an agent.
struct Waiting {
    record: RunRecord,
    definition: RunDefinition,
}

impl Waiting {
    async fn new(world: &World, number: u128, driver: Driver) -> Self {
        let text = PinnedText { text: LOOP.into(), folder: "/skills".into(), resources: [].into() };
        let pinned = PinnedDefinition { main: "one".into(), definitions: [("one".to_owned(), text)].into() };
        let definition = pinned.definition().unwrap();
        let input = RunInput::Start { params: Map::new(), context: Map::new(), seed: 1, now: 1 };
        let events = decide(&definition, &Run::default(), input).unwrap();
        let run = events.iter().fold(Run::default(), evolve);
        let rights = maestro_core::agent::RunRights::default();
        let about = RunOrigin {
            workflow: "one".into(),
            project: None,
            task: None,
            session: None,
            parent: None,
            driver,
            rights,
        };
        let id = format!("{number:032x}").parse().unwrap();
        let hash = "hash of one".to_owned();
        let start = StartRun {
            id,
            about,
            hash,
            definitions: pinned.definitions,
            deadline: None,
            events,
            run,
            host: Some(host()),
            work_key: None,
        };
        Self { record: world.store.write(start).await.unwrap(), definition }
    }

    fn id(&self) -> RunId {
        self.record.id
    }

    async fn give(&mut self, world: &World, input: RunInput) {
        let events = decide(&self.definition, &self.record.run, input).unwrap();
        let run = events.iter().fold(self.record.run.clone(), evolve);
        let (id, revision) = (self.record.id, self.record.revision);
        let advance = AdvanceRun { id, revision, deadline: None, events, run, executor: None };
        self.record = world.store.write(advance).await.unwrap();
    }

    async fn take(&self, world: &World, ticket: &str) -> Session {
        world.store.write(seat(world, self.id(), ticket).await).await.unwrap()
    }
}

async fn seat(world: &World, run: RunId, ticket: &str) -> StartStepSession {
    let task = world.task("one").await;
    let session =
        CreateSession { status: SessionStatus::Spawning, ..world.new_session(&[&task], Approach::Simple).await };
    let spec = json!({ "agent": "demo" });
    let request = RequestSpawn { session, spec, claim_policy: ClaimPolicy::AnyWorker, limits: Vec::new() };
    StartStepSession { run, ticket: ticket.to_owned(), request }
}

async fn claim(world: &World) {
    let claim = ClaimSpawn { worker: "w".into(), lease: MINUTE, session: None, scope: ClaimScope::Server };
    world.store.write(claim).await.unwrap().unwrap();
}

/// The agent of a session works, and ends.
async fn end(world: &World, session: &Session) {
    claim(world).await;
    settle(world, session).await;
}

async fn settle(world: &World, session: &Session) {
    let after = NextStart::Over { status: SessionStatus::Completed, end: Some(EndReason::Exited) };
    let (outcome, line) = (SessionOutcome::from_stored(json!({ "kind": "done" })).unwrap(), "It ended".to_owned());
    let settle = SettleSpawn { session: session.id.clone(), worker: "w".into(), outcome, line, next_start: after };
    world.store.write(settle).await.unwrap();
}

async fn ended(world: &World) -> Vec<StepSession> {
    world.store.read(EndedStepSessions { host: host() }).await.unwrap()
}

async fn awaiting(world: &World) -> Vec<RunId> {
    world.store.read(RunsAwaitingAgents { host: host() }).await.unwrap()
}

async fn strays(world: &World) -> Vec<StepSession> {
    world.store.read(OrphanStepSessions).await.unwrap()
}

both! {
    async fn a_step_has_one_session_whoever_comes_at_the_same_moment(world) {
        let run = Waiting::new(world, 1, Driver::Server).await;
        let mut takers = Vec::new();
        for _ in 0..10 {
            let (store, take) = (world.store.clone(), seat(world, run.id(), "t1").await);
            takers.push(tokio::spawn(async move { store.write(take).await.unwrap().id }));
        }
        let mut got = Vec::new();
        for taker in takers {
            got.push(taker.await.unwrap());
        }
        assert!(got.iter().all(|id| *id == got[0]), "{got:?}");
        assert_eq!(world.store.read(RunStepSessions(run.id())).await.unwrap().len(), 1);
        assert_ne!(run.take(world, "t2").await.id, got[0], "another step, another session");
        let seats = world.store.read(RunStepSessions(run.id())).await.unwrap();
        assert_eq!(seats.iter().map(|seat| seat.ticket.as_str()).collect::<Vec<_>>(), ["t1", "t2"]);
    }

    async fn a_session_that_must_judge_is_not_complete_before_its_verdict(world) {
        let run = Waiting::new(world, 1, Driver::Server).await;
        let mut take = seat(world, run.id(), "look#1").await;
        take.request.session.metadata.insert("verdicts".to_owned(), json!(["pass", "fail"]));
        let session = world.store.write(take).await.unwrap();
        let refused = world.store.write(says(&session.id, ReportKind::Complete, "done")).await.unwrap_err();
        let words = refused.to_string();
        assert!(words.contains("--ticket look#1 --outcome pass|fail"), "{words}");
        world.store.write(says(&session.id, ReportKind::Progress, "reading")).await.unwrap();
        let report = StepReport { outcome: Some(StepOutcome::FAIL), ..StepReport::default() };
        let save = SaveStepReport { session: session.id.clone(), ticket: "look#1".into(), report };
        world.store.write(save).await.unwrap();
        let done = world.store.write(says(&session.id, ReportKind::Complete, "done")).await.unwrap();
        assert_eq!(done.status, SessionStatus::Completed);
    }

    async fn a_run_waits_for_a_session_until_it_has_one(world) {
        let run = Waiting::new(world, 1, Driver::Server).await;
        Waiting::new(world, 2, Driver::Caller).await;
        assert_eq!(awaiting(world).await, [run.id()], "who drives a run itself starts nobody");
        let session = run.take(world, "t1").await;
        assert_eq!(awaiting(world).await, []);
        assert_eq!(ended(world).await, []);
        end(world, &session).await;
        assert_eq!(ended(world).await.len(), 1);
        world.store.write(SettleStepSession(session.id.clone())).await.unwrap();
        assert_eq!(ended(world).await, [], "a run is told once");
        assert_eq!(awaiting(world).await, [run.id()]);
    }

    async fn the_last_word_of_the_session_at_the_step_counts_and_nobody_elses(world) {
        let run = Waiting::new(world, 1, Driver::Server).await;
        let (session, other) = (run.take(world, "t1").await, run.take(world, "t2").await);
        let keep = |session: &Session, ticket: &str, word: &str| SaveStepReport {
            session: session.id.clone(), ticket: ticket.into(), report: StepReport { outcome: Some(StepOutcome::new(word)), ..StepReport::default() },
        };
        world.store.write(keep(&session, "t1", "fail")).await.unwrap();
        world.store.write(keep(&session, "t1", "pass")).await.unwrap();
        assert_refused!(world.store.write(keep(&other, "t1", "fail")).await, StoreError::NotFound { .. });
        let kept = world.store.read(StepOfSession(session.id.clone())).await.unwrap().unwrap();
        assert_eq!(kept.report.and_then(|report| report.outcome), Some(StepOutcome::new("pass")));
        world.store.write(SettleStepSession(session.id.clone())).await.unwrap();
        assert_refused!(world.store.write(keep(&session, "t1", "late")).await, StoreError::NotFound { .. });
    }

    async fn a_paused_run_hears_of_its_session_when_it_goes_on(world) {
        let mut run = Waiting::new(world, 1, Driver::Server).await;
        let session = run.take(world, "t1").await;
        claim(world).await;
        run.give(world, RunInput::Pause).await;
        assert_eq!(strays(world).await, [], "who works at a paused run may finish");
        settle(world, &session).await;
        assert_eq!((ended(world).await, awaiting(world).await), (vec![], vec![]));
        run.give(world, RunInput::Resume).await;
        assert_eq!(ended(world).await[0].session, session.id);
        assert_eq!(awaiting(world).await, [], "and nobody else is started before that");
    }

    async fn who_works_for_a_run_that_is_over_is_found_and_its_seat_is_given_up(world) {
        let mut run = Waiting::new(world, 1, Driver::Server).await;
        let session = run.take(world, "t1").await;
        assert_eq!(strays(world).await, []);
        run.give(world, RunInput::Cancel).await;
        assert_eq!(strays(world).await[0].session, session.id);
        let cancel = ControlSession { id: session.id.clone(), control: SessionControl::Cancel, actor: Actor::Person };
        world.store.write(cancel).await.unwrap();
        assert_eq!(strays(world).await, []);
        assert_eq!(ended(world).await[0].session, session.id, "nobody had begun, so nobody will say that it ended");
    }

    async fn a_session_that_was_cancelled_before_anybody_began_is_told_to_its_run(world) {
        let run = Waiting::new(world, 1, Driver::Server).await;
        let session = run.take(world, "t1").await;
        let cancel = ControlSession { id: session.id.clone(), control: SessionControl::Cancel, actor: Actor::Person };
        world.store.write(cancel).await.unwrap();
        assert_eq!(ended(world).await[0].session, session.id);
    }
}
