//! Who carries a run on, and that only one run works through the same.

use std::collections::BTreeMap;

use maestro_core::landing::LandingKind;
use maestro_core::workflow::pinned_definition::{PinnedDefinition, PinnedText};
use maestro_core::workflow::run::{Run, RunInput, decide, evolve};
use maestro_store::*;
use serde_json::{Map, json};

use crate::world::{MINUTE, World, both};

const LOOP: &str = "name: one\nsteps:\n- {id: a, type: agent, session: {agent: demo}, next: {ok: end, fail: end}}\n";

fn host(kind: HostKind, name: &str) -> RunHost {
    RunHost { kind, process: format!("machine {name} 1") }
}

fn pinned() -> PinnedDefinition {
    let text = PinnedText { text: LOOP.into(), folder: "/skills".into(), resources: BTreeMap::new() };
    PinnedDefinition { main: "one".into(), definitions: [("one".to_owned(), text)].into() }
}

/// A run that waits for an agent, carried on by this host.
fn start(number: u128, host: Option<RunHost>, key: Option<&str>) -> StartRun {
    let pinned = pinned();
    let input = RunInput::Start { params: Map::new(), context: Map::new(), seed: 1, now: 1 };
    let events = decide(&pinned.definition().unwrap(), &Run::default(), input).unwrap();
    let run = events.iter().fold(Run::default(), evolve);
    StartRun {
        id: format!("{number:032x}").parse().unwrap(),
        about: RunOrigin {
            workflow: "one".into(),
            project: None,
            task: None,
            session: None,
            parent: None,
            driver: Driver::Server,
            rights: maestro_core::agent::RunRights::default(),
        },
        hash: "hash of one".to_owned(),
        definitions: pinned.definitions,
        events,
        run,
        deadline: None,
        host,
        work_key: key.map(str::to_owned),
    }
}

async fn give(world: &World, record: RunRecord, input: RunInput) -> Result<RunRecord, StoreError> {
    let events = decide(&pinned().definition().unwrap(), &record.run, input).unwrap();
    let run = events.iter().fold(record.run.clone(), evolve);
    let advance = AdvanceRun { id: record.id, revision: record.revision, deadline: None, events, run, executor: None };
    world.store.write(advance).await
}

/// Requests a session for the step of a run.
async fn seat(world: &World, run: &RunRecord) -> StartStepSession {
    let task = world.task("one").await;
    let session = CreateSession {
        status: maestro_core::session::SessionStatus::Spawning,
        ..world.new_session(&[&task], maestro_core::session::Approach::Simple).await
    };
    let spec = json!({ "agent": "demo" });
    let request = RequestSpawn { session, spec, claim_policy: ClaimPolicy::AnyWorker, limits: Vec::new() };
    StartStepSession { run: run.id, ticket: "t1".to_owned(), request }
}

both! {
    async fn only_one_run_works_through_the_same_until_it_is_over(world) {
        let first = world.store.write(start(1, None, Some("plan"))).await.unwrap();
        let second = world.store.write(start(2, None, Some("plan"))).await;
        assert_eq!(second.unwrap_err().to_string(), format!("run {} works on this already", first.id));
        world.store.write(start(3, None, Some("another"))).await.unwrap();
        let over = give(world, first, RunInput::Cancel).await.unwrap();
        let third = world.store.write(start(4, None, Some("plan"))).await.unwrap();
        let again = give(world, over, RunInput::Reopen { params: Map::new(), note: None, now: 1 }).await;
        assert!(again.unwrap_err().to_string().contains(&third.id.to_string()), "another one is at it by now");
    }

    async fn the_agents_of_a_run_are_started_by_the_workers_of_its_process_only(world) {
        let (mine, other) = (host(HostKind::Command, "10"), host(HostKind::Command, "20"));
        let run = world.store.write(start(1, Some(mine.clone()), None)).await.unwrap();
        world.store.write(seat(world, &run).await).await.unwrap();
        let claim = |scope| ClaimSpawn { worker: "w".into(), lease: MINUTE, session: None, scope };
        let of = |host: &RunHost| ClaimScope::Command { host: host.clone(), since: 0 };
        for scope in [ClaimScope::Server, of(&other)] {
            assert_eq!(world.store.write(claim(scope)).await.unwrap(), None);
        }
        let paused = give(world, run, RunInput::Pause).await.unwrap();
        assert_eq!(world.store.write(claim(of(&mine))).await.unwrap(), None, "nothing starts for a paused run");
        give(world, paused, RunInput::Resume).await.unwrap();
        assert!(world.store.write(claim(of(&mine))).await.unwrap().is_some());
    }

    async fn a_run_is_given_to_another_process_and_listed_there(world) {
        let (gone, next) = (host(HostKind::Server, "10"), host(HostKind::Server, "20"));
        let run = world.store.write(start(1, Some(gone.clone()), None)).await.unwrap();
        assert_eq!(world.store.read(HostsOfRuns).await.unwrap(), [Some(gone.clone())]);
        world.store.write(HostRun { id: run.id, host: next.clone() }).await.unwrap();
        let of = |host| async { world.store.read(RunsOfHost(host)).await.unwrap().len() };
        assert_eq!((of(Some(gone)).await, of(Some(next)).await, of(None).await), (0, 1, 0));
    }

    async fn what_became_of_a_result_is_kept_with_its_date(world) {
        let run = world.store.write(start(1, None, None)).await.unwrap();
        let over = give(world, run, RunInput::Cancel).await.unwrap();
        let merged = RecordLanding { id: over.id, how: LandingKind::Merged, into: Some("main".into()) };
        let landing = world.store.write(merged).await.unwrap().landing.unwrap();
        assert_eq!((landing.how, landing.into.as_deref()), (LandingKind::Merged, Some("main")));
        let events = world.store.read(RunTail { id: over.id, limit: 1 }).await.unwrap();
        assert_eq!(serde_json::to_value(&events[0]).unwrap()["type"], "run:landed");
    }
}
