//! Is a run kept as it stands, with everything that happened to it, whoever comes at the same moment?

use std::collections::BTreeMap;

use maestro_core::event::RunId;
use maestro_core::workflow::pinned_definition::{PinnedDefinition, PinnedText};
use maestro_core::workflow::run::{
    AnswerAuthor, CommandExit, FileState, PendingEffect, RecoveryChoice, Run, RunDefinition, RunEvent, RunInput,
    RunStatus, Ticket, UserAnswer, deadline, decide, evolve, pending_effects,
};
use maestro_core::workflow::{StepOutcome, run_reply};
use maestro_store::*;
use serde_json::{Map, Value as Json, json};

use crate::cast::assert_refused;
use crate::world::{MINUTE, World, both};

const DAY: i64 = 24 * 60 * MINUTE;

/// Something of every kind, so that every kind of event happens to its runs.
const EVERYTHING: &str = r"
name: everything
params: {items: {type: list, default: [1, 2, 3]}}
variables: {n: {type: int, default: 0}, word: {type: string, default: x}}
reviews: {r: {}}
limits: {max_transitions: 80}
steps:
- {id: work, type: agent, max_visits: 3, result: {n: int, seen: {type: list, append: true}}, next: {ok: ask, fail: work, exhausted: ask}}
- {id: ask, type: question, prompt: 'which, {n}?', options: [a, b], store: word, optional: true}
- {id: say, type: output, template: t, when: 'n < 5'}
- {id: write, type: command, command: 'run {word}', retry: 1, max_visits: 2, next: {ok: spread, fail: write, exhausted: spread}}
- {id: spread, type: dispatch, for_each: items, group: 2, prompt: p, next: {ok: help, partial: help, fail: help}}
- {id: help, type: call, workflow: helper, timeout: 1, optional: true}
- {id: plan, type: agent, timeout: 5, review: {name: r, part: decompose}, next: {ok: look, fail: look, timeout: look}}
- {id: look, type: dispatch, for_each: reviews.r.open, prompt: p, review: {name: r, part: verify}, max_visits: 6, next: {ok: check, fail: check, partial: check, exhausted: check}}
- {id: check, type: command, command: test, effect: read, next: {ok: gate, fail: gate}}
- {id: gate, type: gate, review: r, checks: [check], max_rounds: 2, next: {pass: done, fail: fix, exhausted: done}}
- {id: fix, type: agent, max_visits: 6, review: {name: r, part: fix}, next: {ok: look, fail: look, exhausted: look}}
- {id: done, type: end, message: '{n} {word} {items}'}
templates: {t: '{n}'}
";
const HELPER: &str = "name: helper\nsteps:\n- {id: s0, type: agent, next: {ok: s1, fail: stop}}\n- {id: s1, type: agent, next: {ok: end, fail: stop}}\n- {id: stop, type: end, status: blocked}\n";
const ONE_STEP: &str =
    "name: one\nsteps:\n- {id: a, type: agent, timeout: 60, next: {ok: end, fail: end, timeout: end}}\n";

fn pinned(texts: &[(&str, &str)]) -> PinnedDefinition {
    let text = |text: &str| PinnedText { text: text.into(), folder: "/skills".into(), resources: BTreeMap::new() };
    let definitions = texts.iter().map(|(name, words)| ((*name).to_owned(), text(words))).collect();
    PinnedDefinition { main: texts[0].0.to_owned(), definitions }
}

fn id(number: u128) -> RunId {
    format!("{number:032x}").parse().unwrap()
}

fn about(workflow: &str) -> RunOrigin {
    RunOrigin {
        workflow: workflow.into(),
        project: None,
        task: None,
        session: None,
        parent: None,
        driver: Driver::Caller,
        rights: maestro_core::agent::RunRights::default(),
    }
}

/// A run in a store, taken on by the engine itself.
struct Walk {
    store: Store,
    definition: RunDefinition,
    record: RunRecord,
}

impl Walk {
    async fn begin(world: &World, number: u128, about: RunOrigin, pinned: &PinnedDefinition, now: i64) -> Self {
        let definition = pinned.definition().unwrap();
        let start = start(number, about, pinned, now);
        let record = world.store.write(start).await.unwrap();
        Self { store: world.store.clone(), definition, record }
    }

    /// The engine's word on an input; what it decides is kept.
    async fn give(&mut self, input: RunInput) -> bool {
        let Ok(events) = decide(&self.definition, &self.record.run, input) else { return false };
        if !events.is_empty() {
            self.record = self.store.write(self.advance(events)).await.unwrap();
        }
        true
    }

    fn advance(&self, events: Vec<RunEvent>) -> AdvanceRun {
        let run = events.iter().fold(self.record.run.clone(), evolve);
        AdvanceRun {
            id: self.record.id,
            revision: self.record.revision,
            deadline: deadline(&self.definition, &run),
            events,
            run,
            executor: None,
        }
    }

    fn report(&self, outcome: StepOutcome, now: i64) -> Vec<RunEvent> {
        let ticket = self.record.run.ticket().unwrap();
        decide(&self.definition, &self.record.run, report(ticket, outcome, json!({}), now)).unwrap()
    }

    async fn kept(&self) -> RunRecord {
        self.store.read(RunById(self.record.id)).await.unwrap()
    }

    async fn log(&self) -> Vec<RunEvent> {
        log(&self.store, self.record.id).await
    }

    /// What the log says comes out as what is kept, and both as what the engine said.
    async fn assert_folds(&self) {
        let kept = self.kept().await;
        assert_eq!(kept, self.record);
        assert_eq!(self.log().await.iter().fold(Run::default(), evolve), kept.run);
    }
}

/// The process that carries on the runs of these tests.
fn host() -> RunHost {
    RunHost { kind: HostKind::Server, process: "machine 1 1".into() }
}

fn start(number: u128, about: RunOrigin, pinned: &PinnedDefinition, now: i64) -> StartRun {
    let definition = pinned.definition().unwrap();
    let input = RunInput::Start { params: Map::new(), context: Map::new(), seed: u64::try_from(number).unwrap(), now };
    let events = decide(&definition, &Run::default(), input).unwrap();
    let run = events.iter().fold(Run::default(), evolve);
    StartRun {
        id: id(number),
        about,
        hash: format!("hash of {}", pinned.main),
        definitions: pinned.definitions.clone(),
        deadline: deadline(&definition, &run),
        events,
        run,
        host: Some(host()),
        work_key: None,
    }
}

async fn log(store: &Store, id: RunId) -> Vec<RunEvent> {
    let rows = store.read(RunLog { id, after: 0, limit: i64::MAX }).await.unwrap();
    assert!(rows.is_sorted_by(|one, next| one.seq < next.seq));
    let event = |row: EventRow| {
        assert!(row.kind.starts_with("run:") && row.run == Some(id.to_string()), "{row:?}");
        let payload: Json = serde_json::from_str(row.payload.get()).unwrap();
        serde_json::from_value(json!({ "type": row.kind, "payload": payload })).unwrap()
    };
    rows.into_iter().map(event).collect()
}

fn report(ticket: Ticket, outcome: StepOutcome, result: Json, now: i64) -> RunInput {
    let Json::Object(result) = result else { panic!("a result has fields") };
    RunInput::Report { ticket, outcome: Some(outcome), set: Map::new(), result, seen: FileState::default(), now }
}

/// The same numbers each time (Knuth's generator): what failed once fails again.
struct Dice(u64);

impl Dice {
    fn below(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }
}

/// What somebody might do about what is waited for, well or badly.
fn respond(effect: &PendingEffect, dice: &mut Dice, now: i64) -> RunInput {
    let outcome = if dice.below(3) == 0 { StepOutcome::FAIL } else { StepOutcome::OK };
    match effect {
        PendingEffect::Instruct { ticket, step, .. } => {
            let severity = ["MUST", "SHOULD", "COULD"][usize::try_from(dice.below(3)).unwrap()];
            let items: Vec<Json> =
                (0..=dice.below(5)).map(|n| json!({ "check": format!("c{n}"), "severity": severity })).collect();
            let result = match step.as_str() {
                "work" => json!({ "n": dice.below(9), "seen": [now] }),
                "plan" => json!({ "items": items }),
                _ => json!({}),
            };
            report(ticket.clone(), outcome, result, now)
        }
        PendingEffect::Delegate { ticket, child, .. } => {
            let mut judge = |item: &Json| {
                let status = if dice.below(2) == 0 { "fail" } else { "pass" };
                Some(json!({ "id": item.get("id")?, "status": status, "evidence": "e", "finding": "f" }))
            };
            let judged: Vec<Json> = child.items.iter().filter_map(&mut judge).collect();
            let result = if judged.is_empty() { json!({ "note": now }) } else { json!({ "items": judged }) };
            report(ticket.clone(), outcome, result, now)
        }
        PendingEffect::Execute { ticket, .. } => {
            RunInput::Started { ticket: ticket.clone(), seen: FileState::default(), now }
        }
        PendingEffect::Await { ticket } => match dice.below(7) {
            0 => RunInput::Lost { ticket: ticket.clone(), now },
            1 => RunInput::Finished { ticket: ticket.clone(), finish: CommandExit::TimedOut, now },
            code => {
                let finish = CommandExit::Exited { code: i32::from(code == 2), output: "out\n".into() };
                RunInput::Finished { ticket: ticket.clone(), finish, now }
            }
        },
        PendingEffect::Ask { ticket, asked, .. } => {
            let options = asked.options.clone().unwrap_or_default();
            let said = options.get(usize::try_from(dice.below(4)).unwrap()).cloned();
            let answer = match said {
                Some(word) => UserAnswer::Value(json!(word)),
                None if dice.below(2) == 0 => UserAnswer::Value(json!("nonsense")),
                None => UserAnswer::Declined,
            };
            RunInput::Answer { ticket: ticket.clone(), answer, by: AnswerAuthor::User, now }
        }
        PendingEffect::Consent { ticket, .. } => {
            let choice = [RecoveryChoice::Again, RecoveryChoice::Done, RecoveryChoice::Abort]
                [usize::try_from(dice.below(3)).unwrap()];
            RunInput::Consent { ticket: ticket.clone(), choice, now }
        }
    }
}

both! {
    async fn a_run_is_read_back_as_it_was_kept(world) {
        let task = world.task("Fix the login").await;
        let session = world.session(&[&task]).await;
        let whole = RunOrigin {
            project: Some(world.project().await),
            task: Some(task.id.clone()),
            session: Some(session.id.clone()),
            parent: Some((id(7), Ticket::quoted("look#1/a.abc123"))),
            driver: Driver::Server,
            rights: maestro_core::agent::RunRights::UNLIMITED,
            ..about("everything")
        };
        let texts = pinned(&[("everything", EVERYTHING), ("helper", HELPER)]);
        let now = world.clock.load(std::sync::atomic::Ordering::Relaxed);
        let mut walk = Walk::begin(world, 1, whole.clone(), &texts, now).await;
        let first = walk.record.clone();
        assert_eq!((&first.about, first.revision, first.created_at, first.ended_at), (&whole, 1, now, None));
        walk.assert_folds().await;
        assert_eq!(world.store.read(PinnedDefinitions(first.hash.clone())).await.unwrap(), texts.definitions);
        let events = world.events_after(0).await;
        let own: Vec<&EventRow> = events.iter().filter(|event| event.run.is_some()).collect();
        assert!(own.iter().all(|event| event.task.as_deref() == Some(task.id.to_string().as_str())));
        assert_eq!(own[0].kind, "run:began");

        world.wait(MINUTE);
        assert!(walk.give(RunInput::Cancel).await);
        let over = walk.kept().await;
        assert_eq!((over.revision, over.updated_at, over.ended_at), (2, now + MINUTE, Some(now + MINUTE)));
        assert_eq!(over.run.status, RunStatus::Cancelled);
        assert_refused!(world.store.read(RunById(id(2))).await, StoreError::NotFound { what: RecordKind::Run, .. });
        assert_refused!(world.store.read(PinnedDefinitions("other".into())).await, StoreError::Corrupt(_));
        world.assert_in_order().await;
    }

    async fn who_executes_something_is_kept_with_the_run(world) {
        let walk = Walk::begin(world, 1, about("one"), &pinned(&[("one", ONE_STEP)]), 0).await;
        let by = Executing { by: "host/boot 12 34".into(), until: 99 };
        let advance = AdvanceRun { executor: Some(by.clone()), ..walk.advance(vec![RunEvent::Paused {}]) };
        assert_eq!(world.store.write(advance).await.unwrap().executor, Some(by.clone()));
        assert_eq!(walk.kept().await.executor, Some(by));
    }

    async fn whoever_read_the_run_before_it_changed_is_refused_and_changes_nothing(world) {
        let mut walk = Walk::begin(world, 1, about("everything"), &pinned(&[("everything", EVERYTHING), ("helper", HELPER)]), 0).await;
        let late = walk.advance(walk.report(StepOutcome::FAIL, 0));
        assert!(walk.give(RunInput::Pause).await);
        let seq = world.last_seq().await;
        for revision in [late.revision, 0, 99] {
            let again = AdvanceRun { revision, ..late.clone() };
            assert_refused!(
                world.store.write(again).await,
                StoreError::StaleRevision { what: RecordKind::Run, current: 2, expected, .. } if expected == revision
            );
        }
        assert_eq!(world.last_seq().await, seq, "nothing happened");
        walk.assert_folds().await;
        let stranger = AdvanceRun { id: id(2), ..late };
        assert_refused!(world.store.write(stranger).await, StoreError::NotFound { what: RecordKind::Run, .. });
    }

    async fn of_many_that_advance_a_run_at_once_one_does(world) {
        let walk = Walk::begin(world, 1, about("one"), &pinned(&[("one", ONE_STEP)]), 0).await;
        let other = world.again(StoreOptions::default()).await;
        let mut work = tokio::task::JoinSet::new();
        for number in 0..16_i64 {
            let store = if number % 2 == 0 { world.store.clone() } else { other.clone() };
            let outcome = if number % 3 == 0 { StepOutcome::OK } else { StepOutcome::FAIL };
            let change = walk.advance(walk.report(outcome, number));
            work.spawn(async move {
                // PostgreSQL may tell two that they were in each other's way; then nothing was done, and one tries again.
                loop {
                    match store.write(change.clone()).await {
                        Err(StoreError::Collision) => {}
                        Err(StoreError::StaleRevision { .. }) => return None,
                        done => return Some(done.unwrap()),
                    }
                }
            });
        }
        let won: Vec<RunRecord> = work.join_all().await.into_iter().flatten().collect();
        assert_eq!(won.len(), 1);
        assert_eq!(won[0].revision, 2);
        assert_eq!(walk.kept().await, won[0]);
        assert_eq!(walk.log().await.iter().fold(Run::default(), evolve), won[0].run);
        let ends = walk.log().await.iter().filter(|event| matches!(event, RunEvent::Ended { .. })).count();
        assert_eq!(ends, 1);
        world.assert_in_order().await;
    }

    async fn who_starts_for_the_same_ticket_gets_the_same_run(world) {
        let texts = pinned(&[("one", ONE_STEP)]);
        let child = |ticket: &str| RunOrigin { parent: Some((id(100), Ticket::quoted(ticket))), ..about("one") };
        for round in 0..5_u128 {
            let ticket = format!("look#{round}/a.abc123");
            let mut work = tokio::task::JoinSet::new();
            for number in 0..8_u128 {
                let (store, start) = (world.store.clone(), start(1000 + round * 8 + number, child(&ticket), &texts, 0));
                work.spawn(async move {
                    loop {
                        match store.write(start.clone()).await {
                            Err(StoreError::Collision) => {}
                            done => return done.unwrap(),
                        }
                    }
                });
            }
            let got = work.join_all().await;
            assert!(got.iter().all(|record| *record == got[0]), "{got:?}");
            let events = log(&world.store, got[0].id).await;
            assert_eq!(events.iter().filter(|event| matches!(event, RunEvent::Began { .. })).count(), 1);
        }
        assert_eq!(world.store.read(RunList::default()).await.unwrap().items.len(), 5);
        // Runs that report to nobody are never taken for each other.
        for number in 0..2 {
            world.store.write(start(number, about("one"), &texts, 0)).await.unwrap();
        }
        assert_eq!(world.store.read(RunList::default()).await.unwrap().items.len(), 7);
        world.assert_in_order().await;
    }

    async fn the_same_request_begins_one_run(world) {
        let texts = pinned(&[("one", ONE_STEP)]);
        let once = || Some(IdempotencyKey { request: "POST /api/runs k".into(), fingerprint: "f".into() });
        let first = world.store.write_once(start(1, about("one"), &texts, 0), once()).await.unwrap();
        let second = world.store.write_once(start(2, about("one"), &texts, 0), once()).await.unwrap();
        assert_eq!(first, second);
        assert_eq!(world.store.read(RunList::default()).await.unwrap().items, [first]);
    }

    async fn what_is_logged_comes_out_as_what_is_kept(world) {
        let texts = pinned(&[("everything", EVERYTHING), ("helper", HELPER)]);
        let mut kinds = std::collections::BTreeSet::new();
        for seed in 0..24_u64 {
            let mut dice = Dice(seed);
            let mut walk = Walk::begin(world, u128::from(seed), about("everything"), &texts, 0).await;
            let mut now = 0;
            for turn in 0.. {
                assert!(turn < 2_000, "the run does not end: {:?}", walk.record.run.position());
                if walk.record.run.is_over() {
                    break;
                }
                now += 1_100;
                if dice.below(5) == 0 {
                    let noise = [RunInput::Pause, RunInput::Resume, RunInput::Elapsed { now }];
                    walk.give(noise[usize::try_from(dice.below(3)).unwrap()].clone()).await;
                }
                if dice.below(150) == 0 {
                    walk.give(RunInput::Cancel).await;
                }
                if walk.record.run.status == RunStatus::Paused {
                    walk.give(RunInput::Resume).await;
                }
                let effects = pending_effects(&walk.definition, &walk.record.run);
                if effects.is_empty() {
                    continue;
                }
                let effect = &effects[usize::try_from(dice.below(effects.len() as u64)).unwrap()];
                let before = walk.record.clone();
                if !walk.give(respond(effect, &mut dice, now)).await {
                    assert_eq!(walk.kept().await, before, "a refusal changes nothing");
                }
                if dice.below(10) == 0 {
                    walk.assert_folds().await;
                }
            }
            walk.assert_folds().await;
            let log = walk.log().await;
            run_reply::list_updates(&walk.definition, &walk.record.run, &log);
            let word = |event: &RunEvent| serde_json::to_value(event).unwrap()["type"].as_str().unwrap().to_owned();
            kinds.extend(log.iter().map(word));
        }
        // The walks went everywhere: everything that can happen did, but for a text that is cut.
        let all = "began called cancelled checked child_ended dropped ended entered executed items_added items_judged \
                   items_reset judged left paused progressed reported resulted resumed returned risk_accepted rounds_granted answered set shown \
                   skipped tolerated waiting";
        let missing: Vec<&str> = all.split_whitespace().filter(|word| !kinds.contains(&format!("run:{word}"))).collect();
        assert_eq!(missing, [""; 0], "never happened");
        world.assert_in_order().await;
    }

    async fn runs_are_listed_by_what_they_belong_to_and_how_they_stand(world) {
        let project = world.project().await;
        let of_project = |workflow: &str| RunOrigin { project: Some(project.clone()), ..about(workflow) };
        let (one, everything) = (pinned(&[("one", ONE_STEP)]), pinned(&[("everything", EVERYTHING), ("helper", HELPER)]));
        let mut paused = Walk::begin(world, 1, of_project("one"), &one, 0).await;
        let mut cancelled = Walk::begin(world, 2, of_project("one"), &one, 0).await;
        let mut completed = Walk::begin(world, 3, about("one"), &one, 0).await;
        let mut failed = Walk::begin(world, 4, of_project("everything"), &everything, 0).await;
        Walk::begin(world, 5, of_project("everything"), &everything, 0).await;
        paused.give(RunInput::Pause).await;
        cancelled.give(RunInput::Cancel).await;
        let ticket = completed.record.run.ticket().unwrap();
        completed.give(report(ticket, StepOutcome::OK, json!({}), 0)).await;
        let ending = maestro_core::workflow::run::RunEnding {
            status: maestro_core::workflow::definition::EndStatus::Blocked,
            message: None,
            outputs: Map::new(),
        };
        failed.record = world.store.write(failed.advance(vec![RunEvent::Ended { ending }])).await.unwrap();

        let found = |project: Option<&_>, workflow: Option<&str>, status| {
            let runs = RunList { project: project.cloned(), workflow: workflow.map(str::to_owned), status, page: ListPage::default() };
            async move {
                let listed = world.store.read(runs).await.unwrap().items;
                listed.into_iter().map(|run| u128::from_str_radix(&run.id.to_string().replace('-', ""), 16).unwrap()).collect::<Vec<_>>()
            }
        };
        assert_eq!(found(None, None, None).await, [1, 2, 3, 4, 5], "oldest first");
        assert_eq!(found(Some(&project), None, None).await, [1, 2, 4, 5]);
        assert_eq!(found(None, Some("one"), None).await, [1, 2, 3]);
        for (status, expected) in RunState::ALL.into_iter().zip([5, 1, 3, 4, 2]) {
            assert_eq!(found(None, None, Some(status)).await, [expected], "{}", status.as_str());
        }
        assert_eq!(found(Some(&project), Some("one"), Some(RunState::Completed)).await, [0_u128; 0]);
        let part = RunList { page: ListPage { after: 0, limit: 2 }, ..RunList::default() };
        let part = world.store.read(part).await.unwrap();
        let rest = RunList { page: ListPage { after: part.next.unwrap(), limit: 10 }, ..RunList::default() };
        assert_eq!((part.items.len(), world.store.read(rest).await.unwrap().items.len()), (2, 3));
    }

    async fn only_runs_whose_time_may_be_up_are_looked_at(world) {
        let texts = pinned(&[("one", ONE_STEP)]);
        let mut soon = Walk::begin(world, 1, about("one"), &texts, 0).await;
        let late = Walk::begin(world, 2, about("one"), &texts, 10_000).await;
        let overdue = |now| async move { world.store.read(OverdueRuns { now }).await.unwrap() };
        assert_eq!(overdue(59_999).await, []);
        assert_eq!(overdue(60_000).await, [soon.record.id]);
        assert_eq!(overdue(70_000).await, [soon.record.id, late.record.id]);
        soon.give(RunInput::Pause).await;
        assert_eq!(overdue(70_000).await, [late.record.id]);
        soon.give(RunInput::Resume).await;
        soon.give(RunInput::Elapsed { now: 60_000 }).await;
        assert!(soon.record.run.is_over());
        assert_eq!(overdue(70_000).await, [late.record.id]);
    }

    async fn a_server_finds_what_is_its_own_to_execute(world) {
        let text = "name: c\nsteps:\n- {id: a, type: command, command: run, effect: write}\n- {id: b, type: agent, next: {ok: end, fail: end}}\n";
        let texts = pinned(&[("c", text)]);
        let ours = RunOrigin { driver: Driver::Server, ..about("c") };
        let mut walk = Walk::begin(world, 1, ours, &texts, 0).await;
        Walk::begin(world, 2, about("c"), &texts, 0).await;
        let undriven = || async { world.store.read(UndrivenRuns { host: host() }).await.unwrap() };
        assert_eq!(undriven().await, [walk.record.id], "what the caller executes is not the server's");
        let ticket = walk.record.run.ticket().unwrap();
        walk.give(RunInput::Started { ticket: ticket.clone(), seen: FileState::default(), now: 0 }).await;
        assert_eq!(undriven().await, [walk.record.id], "whoever began it may have died");
        walk.give(RunInput::Lost { ticket, now: 0 }).await;
        assert_eq!(undriven().await, [], "it waits for a person's word");
        let ticket = walk.record.run.ticket().unwrap();
        walk.give(RunInput::Consent { ticket, choice: RecoveryChoice::Again, now: 0 }).await;
        assert_eq!(undriven().await, [walk.record.id]);
        walk.give(RunInput::Pause).await;
        assert_eq!(undriven().await, []);
    }

    async fn a_removed_project_takes_its_runs_along(world) {
        let texts = pinned(&[("one", ONE_STEP)]);
        let project = world.project().await;
        let own = RunOrigin { project: Some(project.clone()), ..about("one") };
        let gone = Walk::begin(world, 1, own.clone(), &texts, 0).await;
        let stays = Walk::begin(world, 2, about("one"), &texts, 0).await;
        world.store.write(DeleteProject { id: project }).await.unwrap();
        assert_refused!(world.store.read(RunById(gone.record.id)).await, StoreError::NotFound { what: RecordKind::Run, .. });
        let late = gone.advance(gone.report(StepOutcome::OK, 0));
        assert_refused!(world.store.write(late).await, StoreError::NotFound { what: RecordKind::Run, .. });
        assert_eq!(stays.kept().await, stays.record);
        assert_refused!(world.store.write(start(3, own, &texts, 0)).await, StoreError::NotFound { what: RecordKind::Project, .. });
        world.assert_in_order().await;
    }

    async fn a_run_begins_only_for_a_task_that_is_there(world) {
        let ghost = RunOrigin { task: Some("ghost".parse().unwrap()), ..about("one") };
        let refused = world.store.write(start(1, ghost, &pinned(&[("one", ONE_STEP)]), 0)).await;
        assert_refused!(refused, StoreError::NotFound { what: RecordKind::Task, .. });
        assert_eq!(world.last_seq().await, 0);
    }

    async fn the_log_of_a_run_is_kept_while_it_goes_on(world) {
        let texts = pinned(&[("one", ONE_STEP)]);
        let open = Walk::begin(world, 1, about("one"), &texts, 0).await;
        let mut paused = Walk::begin(world, 2, about("one"), &texts, 0).await;
        let mut over = Walk::begin(world, 3, about("one"), &texts, 0).await;
        paused.give(RunInput::Pause).await;
        over.give(RunInput::Cancel).await;
        world.wait(10 * DAY);
        world.task("young").await;
        assert!(world.store.write(PruneHistory { events: 5 * DAY, from: 0 }).await.unwrap().events > 0);
        open.assert_folds().await;
        paused.assert_folds().await;
        assert_eq!(over.log().await, [], "it is over and old");
        assert_eq!(over.kept().await, over.record, "the run itself stays");
        world.assert_in_order().await;
    }
}
