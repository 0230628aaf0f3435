//! Who starts which agent, what is kept of its work, and what happens when a worker falls silent?

use maestro_core::agent::{AgentEvent, PermissionChoice, PermissionChoiceKind, SessionOutcome};
use maestro_core::id::SessionId;
use maestro_core::session::{Approach, EndReason, Session, SessionControl, SessionStatus};
use maestro_store::*;
use serde_json::json;

use crate::cast::assert_refused;
use crate::world::{MINUTE, World, both};

async fn spawned(world: &World, title: &str) -> Session {
    let task = world.task(title).await;
    let session =
        CreateSession { status: SessionStatus::Spawning, ..world.new_session(&[&task], Approach::Simple).await };
    world.store.write(request(session)).await.unwrap()
}

fn request(session: CreateSession) -> RequestSpawn {
    RequestSpawn { session, spec: json!({ "agent": "demo" }), claim_policy: ClaimPolicy::AnyWorker, limits: Vec::new() }
}

fn claims(worker: &str) -> ClaimSpawn {
    ClaimSpawn { worker: worker.to_owned(), lease: MINUTE, session: None, scope: ClaimScope::Server }
}

async fn claim(world: &World, worker: &str) -> Option<SpawnRecord> {
    world.store.write(claims(worker)).await.unwrap()
}

fn renew(session: &Session, worker: &str) -> RenewSpawn {
    RenewSpawn {
        session: session.id.clone(),
        worker: worker.to_owned(),
        lease: MINUTE,
        agent_session: None,
        tree: None,
    }
}

fn said(session: &Session, worker: &str, text: &str) -> AppendTranscript {
    let events = vec![(1, AgentEvent::Said { text: text.to_owned() })];
    AppendTranscript { session: session.id.clone(), worker: worker.to_owned(), events }
}

fn over(session: &Session, worker: &str, status: SessionStatus) -> SettleSpawn {
    let after = NextStart::Over { status, end: Some(EndReason::Exited) };
    settle(session, worker, after)
}

fn settle(session: &Session, worker: &str, after: NextStart) -> SettleSpawn {
    let (outcome, line) = (SessionOutcome::from_stored(json!({ "kind": "done" })).unwrap(), "It ended".to_owned());
    SettleSpawn { session: session.id.clone(), worker: worker.to_owned(), outcome, line, next_start: after }
}

both! {
    async fn what_agents_cost_adds_up(world) {
        let outcomes = [
            json!({ "kind": "done", "attempt": 1, "spent": { "input": 1, "output": 1, "cached": 0, "reasoning": 0, "costUsd": 0.25 } }),
            json!({ "kind": "done", "attempt": 1, "spent": { "input": 1, "output": 1, "cached": 0, "reasoning": 0, "costUsd": 0.5 },
                    "granted": { "unlimited": true } }),
            json!({ "kind": "done", "attempt": 1 }),
            json!({ "kind": "not_started", "reasons": [] }),
        ];
        let mut last = None;
        for outcome in outcomes {
            let session = spawned(world, "task").await;
            claim(world, "w").await.unwrap();
            let outcome = SessionOutcome::from_stored(outcome).unwrap();
            let settle = SettleSpawn { outcome, ..over(&session, "w", SessionStatus::Completed) };
            world.store.write(settle).await.unwrap();
            last = Some(session);
        }
        let session = last.unwrap();
        for project in [None, Some(session.project.clone())] {
            let total = world.store.read(SpendSince { project, since: 0 }).await.unwrap();
            assert_eq!(total, SpendTotal { cost_usd: 0.75, unreported: 1 });
        }
        let stranger = Some("proj_1_stranger".parse().unwrap());
        assert_eq!(world.store.read(SpendSince { project: stranger, since: 0 }).await.unwrap(), SpendTotal::default());
        let counted = world.store.read(CostSince { since: 0, except: session.id }).await.unwrap();
        assert!((counted - 0.25).abs() < 1e-9, "{counted}");
    }

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
                store.write(claims(&format!("w{number}"))).await.unwrap()
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
        assert_eq!((again.attempt, again.agent_session.as_deref()), (1, Some("native-1")));
        assert_refused!(world.store.write(said(&session, "a", "late")).await, StoreError::Rule(_));
        assert_refused!(world.store.write(over(&session, "a", SessionStatus::Completed)).await, StoreError::Rule(_));
        assert!(world.store.write(renew(&session, "b")).await.is_ok());
        let kept = TranscriptPage { session: session.id.clone(), page: ListPage::default() };
        assert_eq!(world.store.read(kept).await.unwrap().items.len(), 1);
    }

    async fn a_worker_hears_that_its_session_was_cancelled_and_nobody_starts_it_again(world) {
        let session = spawned(world, "one").await;
        claim(world, "a").await.unwrap();
        let cancel = ControlSession { id: session.id.clone(), control: SessionControl::Cancel, actor: Actor::Person };
        world.store.write(cancel).await.unwrap();
        assert_eq!(world.store.write(renew(&session, "a")).await.unwrap().status, SessionStatus::Stopped);
        world.store.write(over(&session, "a", SessionStatus::Failed)).await.unwrap();
        let ended = world.find(&session).await;
        assert_eq!((ended.status, ended.end), (SessionStatus::Stopped, Some(EndReason::Cancelled)));
        world.wait(2 * MINUTE);
        assert_eq!(claim(world, "b").await, None);
    }

    async fn who_ended_while_its_worker_was_gone_is_settled_by_the_next_one(world) {
        let session = spawned(world, "one").await;
        claim(world, "a").await.unwrap();
        let cancel = ControlSession { id: session.id.clone(), control: SessionControl::Cancel, actor: Actor::Person };
        world.store.write(cancel).await.unwrap();
        assert_eq!(claim(world, "b").await, None, "its worker may still be there");
        world.store.write(ReleaseSpawns { workers: vec!["a".into()] }).await.unwrap();
        assert_eq!(world.store.read(ClaimHolders).await.unwrap(), [""; 0]);
        assert_eq!(claim(world, "b").await.unwrap().session, session.id);
        world.store.write(over(&session, "b", SessionStatus::Failed)).await.unwrap();
        assert_eq!(world.find(&session).await.status, SessionStatus::Stopped);
        assert_eq!(claim(world, "c").await, None);
    }

    async fn what_ended_too_early_is_started_again_when_its_time_comes(world) {
        let session = spawned(world, "one").await;
        claim(world, "a").await.unwrap();
        let not_before = world.clock.load(std::sync::atomic::Ordering::Relaxed) + 5 * MINUTE;
        let after = NextStart::Retry { not_before };
        world.store.write(settle(&session, "a", after)).await.unwrap();
        assert_eq!(claim(world, "b").await, None);
        world.wait(6 * MINUTE);
        assert_eq!(claim(world, "b").await.unwrap().attempt, 2);
    }

    async fn a_permission_is_answered_once_and_never_by_a_session(world) {
        let session = spawned(world, "one").await;
        claim(world, "a").await.unwrap();
        let options = vec![PermissionChoice { id: "x".into(), name: "Allow".into(), kind: PermissionChoiceKind::AllowOnce }];
        let ask = AskPermission {
            session: session.id.clone(), worker: "a".into(), request: "r1".into(), title: "rm -rf build".into(),
            detail: String::new(), options, patience: MINUTE,
        };
        world.store.write(ask.clone()).await.unwrap();
        assert_eq!(world.store.write(ask).await.unwrap().answer, None, "asked twice, it is one question");
        let open = PermissionList { session: Some(session.id.clone()), filter: PermissionFilter::Open };
        assert_eq!(world.store.read(open.clone()).await.unwrap().len(), 1);
        let answer = |answer, actor| AnswerPermission {
            session: session.id.clone(), request: "r1".into(), answer, actor,
        };
        let own = crate::cast::worker(&session);
        assert!(world.store.write(answer(PermissionChoiceKind::AllowOnce, own)).await.is_err());
        let leading = Actor::Session { id: session.id.clone(), role: maestro_core::SessionRole::Orchestrator };
        assert_refused!(world.store.write(answer(PermissionChoiceKind::AllowOnce, leading)).await, StoreError::Forbidden(_));
        let given = world.store.write(answer(PermissionChoiceKind::RejectOnce, Actor::Person)).await.unwrap();
        assert_eq!(given.answer, Some(PermissionChoiceKind::RejectOnce));
        assert_refused!(world.store.write(answer(PermissionChoiceKind::AllowOnce, Actor::Person)).await, StoreError::Rule(_));
        assert_eq!(world.store.read(open).await.unwrap().len(), 0);
    }

    async fn it_is_stored_under_its_requested_id_with_its_variables_and_works_from_its_first_word_on(world) {
        let id: SessionId = world.store.make_id().unwrap();
        let task = world.task("one").await;
        let session = CreateSession {
            id: Some(id.clone()),
            status: SessionStatus::Spawning,
            env: [("COLOR".to_owned(), json!("red"))].into_iter().collect(),
            ..world.new_session(&[&task], Approach::Simple).await
        };
        let session = world.store.write(request(session)).await.unwrap();
        assert_eq!(session.id, id);
        assert_eq!(world.find(&session).await.env["COLOR"], "red");
        assert_eq!(session.status, SessionStatus::Spawning);
        claim(world, "a").await.unwrap();
        world.store.write(said(&session, "a", "hello")).await.unwrap();
        assert_eq!(world.find(&session).await.status, SessionStatus::Working);
    }

    async fn who_waits_for_words_is_started_again_when_it_has_some_and_hears_them_once(world) {
        let session = spawned(world, "one").await;
        claim(world, "a").await.unwrap();
        world.store.write(settle(&session, "a", NextStart::AwaitInput { needs: "a decision".into() })).await.unwrap();
        assert_eq!(claim(world, "b").await, None);
        world.wait(600 * MINUTE);
        assert_eq!(world.store.write(ExpireSilentSessions).await.unwrap(), [], "who waits for a person is not silent");
        let say = SendMessage { session: session.id.clone(), from: "me".into(), text: "go on".into(), actor: Actor::Person };
        let message = world.store.write(say).await.unwrap();
        assert_eq!(claim(world, "b").await.unwrap().attempt, 1, "and it counts anew");
        let unheard = world.store.read(UnreadMessages(session.id.clone())).await.unwrap();
        assert_eq!(unheard.iter().map(|message| message.text.as_str()).collect::<Vec<_>>(), ["go on"]);
        let passed = MarkDelivered {
            session: session.id.clone(), worker: "b".into(), messages: vec![message.id], how: "with its prompt".into(),
        };
        world.store.write(passed).await.unwrap();
        assert_eq!(world.store.read(UnreadMessages(session.id.clone())).await.unwrap(), []);
        assert_eq!(world.store.read(SessionNotices(session.id.clone())).await.unwrap().notices, []);
    }

    async fn a_person_takes_an_agent_from_its_worker_and_gives_it_back(world) {
        let session = spawned(world, "one").await;
        claim(world, "a").await.unwrap();
        let attach = |by: &str| AttachSession { session: session.id.clone(), by: by.into(), lease: MINUTE, actor: Actor::Person };
        assert_eq!(world.store.write(attach("me")).await.unwrap().state, SpawnState::Claimed);
        assert_eq!(world.store.write(renew(&session, "a")).await.unwrap().wish, WorkerSignal::LetGo);
        world.store.write(settle(&session, "a", NextStart::HandOver)).await.unwrap();
        assert_eq!(world.store.write(attach("me")).await.unwrap().state, SpawnState::Attached);
        assert_refused!(world.store.write(attach("you")).await, StoreError::Rule(_));
        assert_eq!(claim(world, "b").await, None);
        let given_back = DetachSession { session: session.id.clone(), by: "me".into() };
        assert_eq!(world.store.write(given_back).await.unwrap().state, SpawnState::Waiting);
        assert_eq!(claim(world, "b").await.unwrap().attempt, 1);
        world.store.write(ReleaseSpawns { workers: vec!["b".into()] }).await.unwrap();
        assert_eq!(claim(world, "c").await.unwrap().attempt, 1, "who is gone is not waited for, and costs no start");
        assert_eq!(world.store.read(ClaimHolders).await.unwrap(), ["c"]);
    }

    async fn what_a_named_starter_is_to_start_is_left_to_it(world) {
        let task = world.task("one").await;
        let session =
            CreateSession { status: SessionStatus::Spawning, ..world.new_session(&[&task], Approach::Simple).await };
        let request = RequestSpawn { claim_policy: ClaimPolicy::SpecificSession, ..request(session) };
        let session = world.store.write(request).await.unwrap();
        assert_eq!(claim(world, "a").await, None);
        let named = ClaimSpawn { session: Some(session.id.clone()), ..claims("b") };
        assert_eq!(world.store.write(named.clone()).await.unwrap().unwrap().session, session.id);
        assert_eq!(world.store.write(ClaimSpawn { worker: "c".into(), ..named }).await.unwrap(), None);
    }

    async fn a_session_has_no_more_agents_than_it_may(world) {
        let parent = spawned(world, "parent").await;
        let mut answers = Vec::new();
        for title in ["one", "two", "three"] {
            let task = world.task(title).await;
            let session = CreateSession {
                parent: Some(parent.id.clone()), status: SessionStatus::Spawning,
                ..world.new_session(&[&task], Approach::Simple).await
            };
            let limits = vec![("maxConcurrentTasks".to_owned(), 5), ("maxWorkers".to_owned(), 2)];
            answers.push(world.store.write(RequestSpawn { limits, ..request(session) }).await);
        }
        let refused = answers.pop().unwrap();
        assert_refused!(refused, StoreError::Limit { name, most: 2, living: 2, .. } if name == "maxWorkers");
        assert!(answers.iter().all(Result::is_ok));
    }

    async fn the_end_of_a_transcript_is_read_backwards_within_bounds(world) {
        let (session, other) = (spawned(world, "one").await, spawned(world, "two").await);
        claim(world, "a").await.unwrap();
        claim(world, "a").await.unwrap();
        for number in 0..10 {
            world.store.write(said(&session, "a", &format!("word {number}"))).await.unwrap();
            world.store.write(said(&other, "a", "elsewhere")).await.unwrap();
        }
        let sessions = vec![session.id.clone(), spawned(world, "idle").await.id];
        let deeds = world.store.read(LastActivity { sessions }).await.unwrap();
        assert_eq!(deeds.into_iter().collect::<Vec<_>>(), [(session.id.clone(), 1)]);
        let tail = TranscriptTail { session: session.id.clone(), before: None, limit: 4, characters: 1_000_000 };
        let read = |tail: TranscriptTail| async move {
            let TranscriptExcerpt { entries, more } = world.store.read(tail).await.unwrap();
            let words = entries.iter().map(|entry| match &entry.event {
                AgentEvent::Said { text } => text.trim_start_matches("word ").to_owned(),
                other => panic!("{other:?}"),
            });
            (words.collect::<Vec<_>>().join(" "), more, entries.first().map(|entry| entry.ord))
        };
        let (words, more, first) = read(tail.clone()).await;
        assert_eq!((words.as_str(), more), ("6 7 8 9", true));
        let (words, more, first) = read(TranscriptTail { before: first, ..tail.clone() }).await;
        assert_eq!((words.as_str(), more), ("2 3 4 5", true));
        let (words, more, first) = read(TranscriptTail { before: first, ..tail.clone() }).await;
        assert_eq!((words.as_str(), more), ("0 1", false));
        assert_eq!(read(TranscriptTail { before: first, ..tail.clone() }).await, (String::new(), false, None));
        let one = TranscriptTail { characters: 1, ..tail.clone() };
        assert_eq!(read(one).await.0, "9", "the newest, however long it is");
        let two = TranscriptTail { characters: 60, ..tail };
        assert_eq!(read(two).await.0, "8 9");
    }

    async fn what_counts_from_the_beginning_on_is_found_among_the_rest(world) {
        let session = spawned(world, "one").await;
        claim(world, "a").await.unwrap();
        world.store.write(said(&session, "a", "{\"type\":\"agent:context\"}")).await.unwrap();
        let events = vec![(1, AgentEvent::Context { used: 1, size: 2 }), (2, AgentEvent::Cut { bytes: 3 })];
        let append = AppendTranscript { session: session.id.clone(), worker: "a".to_owned(), events };
        world.store.write(append).await.unwrap();
        let of = TranscriptEvents { session: session.id.clone(), after: 0, kinds: &["agent:context", "agent:usage"] };
        let found = world.store.read(of.clone()).await.unwrap();
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!(world.store.read(TranscriptEvents { after: found[0].ord, ..of }).await.unwrap(), []);
    }

    async fn a_question_waits_while_its_session_lives_and_its_time_lasts(world) {
        let (session, project) = (spawned(world, "one").await, world.project().await);
        claim(world, "a").await.unwrap();
        let ask = |request: &str, patience| AskPermission {
            session: session.id.clone(), worker: "a".into(), request: request.into(), title: "push".into(),
            detail: String::new(), options: Vec::new(), patience,
        };
        world.store.write(ask("short", MINUTE)).await.unwrap();
        world.store.write(ask("long", 10 * MINUTE)).await.unwrap();
        let now = || world.clock.load(std::sync::atomic::Ordering::Relaxed);
        let waiting = |project| async move {
            let read = PendingPermissions { project, session: None, at: now(), limit: 1 };
            let ListExcerpt { items, total } = world.store.read(read).await.unwrap();
            (items.into_iter().map(|one| one.request).collect::<Vec<_>>().join(" "), total)
        };
        assert_eq!(waiting(None).await, ("short".to_owned(), 2));
        assert_eq!(waiting(Some(project)).await, ("short".to_owned(), 2));
        assert_eq!(waiting(Some("elsewhere".parse().unwrap())).await, (String::new(), 0));
        world.wait(2 * MINUTE);
        assert_eq!(waiting(None).await, ("long".to_owned(), 1));
        let late = AnswerPermission {
            session: session.id.clone(), request: "short".into(), answer: PermissionChoiceKind::AllowOnce, actor: Actor::Person,
        };
        assert_refused!(world.store.write(late).await, StoreError::Rule(_));
        let cancel = ControlSession { id: session.id.clone(), control: SessionControl::Cancel, actor: Actor::Person };
        world.store.write(cancel).await.unwrap();
        assert_eq!(waiting(None).await, (String::new(), 0));
    }
}

both! {
    async fn events_say_what_acted_by_itself(world) {
        let session = spawned(world, "one").await;
        let seq = world.last_seq().await;
        let steer = ControlSession { id: session.id.clone(), control: SessionControl::Cancel, actor: Actor::Step };
        world.store.write(steer).await.unwrap();
        let cancelled = world.events_after(seq).await;
        assert!(!cancelled.is_empty());
        for row in cancelled {
            assert!(row.payload.get().starts_with("{\"actor\":\"step\","), "{}", row.payload);
        }
        let seq = world.last_seq().await;
        let person = spawned(world, "two").await;
        world.store.write(ControlSession { id: person.id, control: SessionControl::Cancel, actor: Actor::Person }).await.unwrap();
assert!(world.events_after(seq).await.iter().all(|row| !row.payload.get().contains("actor")));
    }

    async fn a_database_that_cannot_be_written_to_shows_until_it_can(world) {
        assert_eq!(world.store.failure(), None);
        let seq = world.last_seq().await;
        world.sql("ALTER TABLE events RENAME TO away").await;
        let project = CreateProject { name: "x".into(), working_dir: "/x".into(), description: String::new() };
        assert!(world.store.write(project.clone()).await.is_err());
        let failure = world.store.failure().unwrap();
        assert_eq!(failure.failures, 1);
        assert!(failure.reason.contains("events"), "{}", failure.reason);
        world.sql("ALTER TABLE away RENAME TO events").await;
        world.store.write(project).await.unwrap();
        assert_eq!(world.store.failure(), None);
        assert!(world.last_seq().await > seq);
    }
}
