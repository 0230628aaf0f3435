//! A sub-agent's run that ended while nobody told its parent: the two are written one after the other.

use std::collections::BTreeMap;

use maestro_core::event::RunId;
use maestro_core::workflow::Outcome;
use maestro_core::workflow::pinned::{Pinned, PinnedText};
use maestro_core::workflow::run::{Input, Seen, Ticket, decide, evolve};
use maestro_core::workflow::told::Now;
use maestro_engine::runs::{Runs, Start, View};
use maestro_store::{AdvanceRun, Driver, Store};
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
    runs: Runs,
    parent: RunId,
    ticket: Ticket,
    child: RunId,
}

async fn orphan(store: &Store) -> Orphan {
    let runs = Runs::of(store.clone());
    let text = |text: &str| PinnedText { text: text.to_owned(), folder: "/".to_owned(), resources: BTreeMap::new() };
    let definitions = BTreeMap::from([("parent".to_owned(), text(PARENT)), ("child".to_owned(), text(CHILD))]);
    let start = Start {
        pinned: Pinned { main: "parent".to_owned(), definitions },
        params: Map::new(),
        workspace: "/".to_owned(),
        tool: String::new(),
        project: None,
        task: None,
        session: None,
        driver: Driver::Caller,
    };
    let parent = runs.start(start, now(), None).await.unwrap();
    let Now::Directive { directive } = &parent.told.now else { panic!("{:?}", parent.told) };
    let ticket = directive.dispatches[0].ticket.clone();
    let child = runs.start_child(parent.record.id, &ticket, now()).await.unwrap();
    end(store, &child).await;
    Orphan { runs: Runs::of(store.clone()), parent: parent.record.id, ticket, child: child.record.id }
}

/// Writes the end of the child's run, and dies before anybody else hears of it.
async fn end(store: &Store, child: &View) {
    let record = &child.record;
    let input = Input::Report {
        ticket: record.run.ticket().unwrap(),
        outcome: Some(Outcome::OK),
        set: Map::new(),
        result: json!({"found": "land"}).as_object().unwrap().clone(),
        seen: Seen::default(),
        now: now(),
    };
    let events = decide(&child.definition, &record.run, input).unwrap();
    let run = events.iter().fold(record.run.clone(), evolve);
    assert!(run.is_over());
    let (id, revision) = (record.id, record.revision);
    let change = AdvanceRun { id, revision, events, run, executor: None, deadline: None };
    store.write(change).await.unwrap();
}

impl Orphan {
    /// What the parent handed back, once it is over.
    async fn heard(&self) -> Option<Json> {
        match self.runs.get(self.parent, now()).await.unwrap().told.now {
            Now::Finished { message, .. } => Some(serde_json::from_str(&message.unwrap()).unwrap()),
            _ => None,
        }
    }
}

#[test]
fn a_parent_hears_of_its_child_when_anybody_looks_at_the_child_again() {
    let place = Place::new();
    let file = |name: &str| maestro_store::Place::File(place.path(name));
    runtime().block_on(async {
        let store = Store::open(file("looked-at.db"), &clock()).unwrap();
        let orphan = orphan(&store).await;
        assert_eq!(orphan.heard().await, None);
        orphan.runs.get(orphan.child, now()).await.unwrap();
        assert_eq!(orphan.heard().await, Some(json!([{"found": "land"}])));
    });
    runtime().block_on(async {
        let store = Store::open(file("started.db"), &clock()).unwrap();
        let orphan = orphan(&store).await;
        // The parent is told again to start the child, which is the same run.
        let again = orphan.runs.start_child(orphan.parent, &orphan.ticket, now()).await.unwrap();
        assert_eq!(again.record.id, orphan.child);
        assert_eq!(orphan.heard().await, Some(json!([{"found": "land"}])));
    });
}
