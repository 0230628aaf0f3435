//! A sub-agent's run that ended while nobody told its parent: the two are written one after the other.

use std::collections::BTreeMap;

use maestro_core::event::RunId;
use maestro_core::workflow::StepOutcome;
use maestro_core::workflow::pinned_definition::{PinnedDefinition, PinnedText};
use maestro_core::workflow::run::{FileState, RunInput, Ticket, decide, evolve};
use maestro_core::workflow::run_reply::NextAction;
use maestro_engine::runs::{RunEngine, RunError, RunStart, RunView};
use maestro_store::{AdvanceRun, Driver, RunById, Store};
use serde_json::{Map, Value as Json, json};

use super::mortal::{clock, now};
use crate::execute::{Place, runtime};

const PARENT: &str = "\
name: parent
description: Hands one thing on.
steps:
- {id: hand-on, type: dispatch, mode: single, call: child, next: {ok: done, partial: lost, fail: lost}}
- {id: done, type: end, message: '{steps.hand-on.result.results}'}
- {id: lost, type: end, status: failure}
";
const CHILD: &str = "\
name: child
description: Does one thing.
steps:
- {id: work, type: agent, result: {found: {type: string}}, outcomes: [ok]}
outputs: {found: '{steps.work.result.found}'}
";

/// A parent and its child's run, which ended with whoever reported its end.
struct Orphan {
    runs: RunEngine,
    parent: RunId,
    ticket: Ticket,
    child: RunId,
}

async fn orphan(store: &Store) -> Orphan {
    let runs = RunEngine::of(store.clone());
    let text = |text: &str| PinnedText { text: text.to_owned(), folder: "/".to_owned(), resources: BTreeMap::new() };
    let definitions = BTreeMap::from([("parent".to_owned(), text(PARENT)), ("child".to_owned(), text(CHILD))]);
    let start = RunStart {
        pinned: PinnedDefinition { main: "parent".to_owned(), definitions },
        params: Map::new(),
        workspace: "/".to_owned(),
        tool: String::new(),
        project: None,
        task: None,
        session: None,
        driver: Driver::Caller,
        rights: maestro_core::agent::RunRights::default(),
        agent: None,
    };
    let parent = runs.start(start, now(), None).await.unwrap();
    let NextAction::Directive { directive } = &parent.reply.next else { panic!("{:?}", parent.reply) };
    let ticket = directive.dispatches[0].ticket.clone();
    let child =
        runs.start_child(parent.record.id, &ticket, maestro_core::agent::RunRights::default(), now()).await.unwrap();
    end(store, &child).await;
    Orphan { runs: RunEngine::of(store.clone()), parent: parent.record.id, ticket, child: child.record.id }
}

/// Writes the end of the child's run, and dies before anybody else hears of it.
async fn end(store: &Store, child: &RunView) {
    let record = &child.record;
    let input = RunInput::Report {
        ticket: record.run.ticket().unwrap(),
        outcome: Some(StepOutcome::OK),
        set: Map::new(),
        result: json!({"found": "land"}).as_object().unwrap().clone(),
        seen: FileState::default(),
        now: now(),
    };
    let events = decide(&child.definition, &record.run, input).unwrap();
    let run = events.iter().fold(record.run.clone(), evolve);
    assert!(run.is_over());
    let (id, revision) = (record.id, record.revision);
    let change = AdvanceRun { id, revision, events, run, executor: None, deadline: None };
    store.write(change).await.unwrap();
}

/// What a parent that is over handed back.
fn heard(view: RunView) -> Json {
    match view.reply.next {
        NextAction::Finished { message, .. } => serde_json::from_str(&message.unwrap()).unwrap(),
        now => panic!("the parent has not heard of it: {now:?}"),
    }
}

/// Does something with an orphan's runs, and returns what its parent handed back as it is kept afterwards.
fn after(look: impl AsyncFnOnce(&Orphan)) -> Json {
    let place = Place::new();
    runtime().block_on(async {
        let store = Store::open(maestro_store::DatabaseLocation::File(place.path("maestro.db")), &clock()).unwrap();
        let orphan = orphan(&store).await;
        assert!(!store.read(RunById(orphan.parent)).await.unwrap().run.is_over());
        look(&orphan).await;
        assert!(store.read(RunById(orphan.parent)).await.unwrap().run.is_over());
        heard(orphan.runs.get(orphan.parent, now()).await.unwrap())
    })
}

#[test]
fn a_parent_hears_of_its_child_whoever_looks_at_which_of_them() {
    let land = json!([{"found": "land", "id": "1", "outcome": "ok"}]);
    let child = after(async |orphan| drop(orphan.runs.get(orphan.child, now()).await.unwrap()));
    assert_eq!(child, land);
    let parent = after(async |orphan| drop(orphan.runs.get(orphan.parent, now()).await.unwrap()));
    assert_eq!(parent, land);
    // The sub-agent that got no answer begins again as it was told: its parent hears of it, and has no part for it left.
    let again = after(async |orphan| {
        let again = orphan
            .runs
            .start_child(orphan.parent, &orphan.ticket, maestro_core::agent::RunRights::default(), now())
            .await;
        assert!(matches!(again, Err(RunError::NotAChild(_))));
    });
    assert_eq!(again, land);
}
