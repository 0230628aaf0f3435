//! Who starts which agent, what is kept of its work, and what happens when a worker falls silent?

use maestro_core::agent::{AgentEvent, Choice, ChoiceKind};
use maestro_core::session::{Approach, EndReason, Session, SessionStatus};
use maestro_store::*;
use serde_json::json;

use crate::cast::assert_refused;
use crate::world::{MINUTE, World, both};

async fn spawned(world: &World, title: &str) -> Session {
    let task = world.task(title).await;
    let session =
        CreateSession { status: SessionStatus::Spawning, ..world.new_session(&[&task], Approach::Simple).await };
    world.store.write(RequestSpawn { session, spec: json!({ "agent": "demo" }) }).await.unwrap()
}

async fn claim(world: &World, worker: &str) -> Option<Spawn> {
    world.store.write(ClaimSpawn { worker: worker.to_owned(), lease: MINUTE }).await.unwrap()
}

fn renew(session: &Session, worker: &str) -> RenewSpawn {
    RenewSpawn { session: session.id.clone(), worker: worker.to_owned(), lease: MINUTE, agent_session: None }
}

fn said(session: &Session, worker: &str, text: &str) -> AppendTranscript {
    let events = vec![(1, AgentEvent::Said { text: text.to_owned() })];
    AppendTranscript { session: session.id.clone(), worker: worker.to_owned(), events }
}

fn over(session: &Session, worker: &str, status: SessionStatus) -> SettleSpawn {
    let after = After::Over { status, end: Some(EndReason::Exited) };
    SettleSpawn { session: session.id.clone(), worker: worker.to_owned(), outcome: json!({ "kind": "done" }), after }
}

both! {
    async fn each_spawn_goes_to_one_worker_the_oldest_first(world) {
        let (first, second) = (spawned(world, "one").await, spawned(world, "two").await);
        assert_eq!(claim(world, "a").await.unwrap().session, first.id);
        assert_eq!(claim(world, "b").await.unwrap().session, second.id);
        assert_eq!(claim(world, "c").await, None);
    }

    async fn many_workers_at_once_never_get_the_same_one(world) {
        for number in 0..20 {
            spawned(world, &format!("task {number}")).await;
        }
        let workers = (0..30).map(|number| {
            let store = world.store.clone();
            tokio::spawn(async move {
                store.write(ClaimSpawn { worker: format!("w{number}"), lease: MINUTE }).await.unwrap()
            })
        });
        let mut got = Vec::new();
        for worker in workers.collect::<Vec<_>>() {
            got.extend(worker.await.unwrap().map(|spawn| spawn.session.to_string()));
        }
        let count = got.len();
        got.sort();
        got.dedup();
        assert_eq!(got.len(), count, "each once");
        while let Some(spawn) = claim(world, "late").await {
            got.push(spawn.session.to_string());
        }
        assert_eq!(got.len(), 20, "and none is left over");
    }

    async fn a_worker_that_falls_silent_loses_what_it_had_and_its_words_count_for_nothing(world) {
        let session = spawned(world, "one").await;
        claim(world, "a").await.unwrap();
        let known = RenewSpawn { agent_session: Some("native-1".into()), ..renew(&session, "a") };
        world.store.write(known).await.unwrap();
        world.store.write(said(&session, "a", "hello")).await.unwrap();
        world.wait(2 * MINUTE);
        let again = claim(world, "b").await.unwrap();
        assert_eq!((again.attempt, again.agent_session.as_deref()), (2, Some("native-1")));
        assert_refused!(world.store.write(said(&session, "a", "late")).await, StoreError::Rule(_));
        assert_refused!(world.store.write(over(&session, "a", SessionStatus::Completed)).await, StoreError::Rule(_));
        assert!(world.store.write(renew(&session, "b")).await.is_ok());
        let kept = Transcript { session: session.id.clone(), page: Page::default() };
        assert_eq!(world.store.read(kept).await.unwrap().items.len(), 1);
    }

    async fn a_worker_hears_that_its_session_was_cancelled_and_nobody_starts_it_again(world) {
        let session = spawned(world, "one").await;
        claim(world, "a").await.unwrap();
        let cancel = Steer { id: session.id.clone(), order: Order::Cancel, actor: Actor::Person };
        world.store.write(cancel).await.unwrap();
        assert_eq!(world.store.write(renew(&session, "a")).await.unwrap(), SessionStatus::Stopped);
        world.store.write(over(&session, "a", SessionStatus::Failed)).await.unwrap();
        let ended = world.find(&session).await;
        assert_eq!((ended.status, ended.end), (SessionStatus::Stopped, Some(EndReason::Cancelled)));
        world.wait(2 * MINUTE);
        assert_eq!(claim(world, "b").await, None);
    }

    async fn what_ended_too_early_is_started_again_when_its_time_comes(world) {
        let session = spawned(world, "one").await;
        claim(world, "a").await.unwrap();
        let not_before = world.clock.load(std::sync::atomic::Ordering::Relaxed) + 5 * MINUTE;
        let after = After::Again { not_before };
        let settle = SettleSpawn {
            session: session.id.clone(), worker: "a".into(), outcome: json!({ "kind": "rate_limit" }), after,
        };
        world.store.write(settle).await.unwrap();
        assert_eq!(claim(world, "b").await, None);
        world.wait(6 * MINUTE);
        assert_eq!(claim(world, "b").await.unwrap().attempt, 2);
    }

    async fn a_permission_is_answered_once_and_never_by_a_worker(world) {
        let session = spawned(world, "one").await;
        claim(world, "a").await.unwrap();
        let options = vec![Choice { id: "x".into(), name: "Allow".into(), kind: ChoiceKind::AllowOnce }];
        let ask = AskPermission {
            session: session.id.clone(), worker: "a".into(), request: "r1".into(), title: "rm -rf build".into(),
            detail: String::new(), options, patience: MINUTE,
        };
        world.store.write(ask.clone()).await.unwrap();
        assert_eq!(world.store.write(ask).await.unwrap().answer, None, "asked twice, it is one question");
        let open = Permissions { session: Some(session.id.clone()), which: Which::Open };
        assert_eq!(world.store.read(open.clone()).await.unwrap().len(), 1);
        let answer = |answer, actor| AnswerPermission {
            session: session.id.clone(), request: "r1".into(), answer, actor,
        };
        let own = crate::cast::worker(&session);
        assert!(world.store.write(answer(ChoiceKind::AllowOnce, own)).await.is_err());
        let given = world.store.write(answer(ChoiceKind::RejectOnce, Actor::Person)).await.unwrap();
        assert_eq!(given.answer, Some(ChoiceKind::RejectOnce));
        assert_refused!(world.store.write(answer(ChoiceKind::AllowOnce, Actor::Person)).await, StoreError::Rule(_));
        assert_eq!(world.store.read(open).await.unwrap().len(), 0);
    }
}
