//! A database of schema 4, opened by this program: everything in it reads back, and work goes on from there.

use std::sync::atomic::Ordering;

use maestro_core::agent::{AgentEvent, SessionOutcome, SessionResult};
use maestro_core::event::RunId;
use maestro_core::id::SessionId;
use maestro_core::session::{EndReason, SessionStatus};
use maestro_core::task::TaskStatus;
use maestro_core::workflow::pinned_definition::PinnedDefinition;
use maestro_core::workflow::run::{RunInput, RunStatus, decide, evolve};
use maestro_store::*;
use serde_json::json;

use crate::world::{MINUTE, World};

const STEPS: [&str; 4] = [
    include_str!("../../migrations/0001_base.sql"),
    include_str!("../../migrations/0002_runs.sql"),
    include_str!("../../migrations/0003_agents.sql"),
    include_str!("../../migrations/0004_seats.sql"),
];
const VERSIONS: &str = "CREATE TABLE maestro_schema (version BIGINT PRIMARY KEY, at BIGINT NOT NULL);\
                        INSERT INTO maestro_schema VALUES (1, 1), (2, 1), (3, 1), (4, 1);";
const ROWS: &str = include_str!("schema4.sql");
/// How the first agent of that session ended, before another one was started.
const ENDED: &str = r#"UPDATE spawns SET outcome = '{"kind":"failed","reasons":[],"attempt":1,"spent":{"input":1,"output":1,"cached":0,"reasoning":0,"costUsd":1.25},"granted":{"costUsd":0.5}}';"#;
/// A task that makes all others old ones.
const NEWER: &str = "INSERT INTO tasks (ord, id, project_id, title, description, status, priority, initial_prompt, skills, \
                     agents, dependencies, created_at, updated_at, by_hand, revision) SELECT 50000, 'task_1_newer', id, \
                     'newer', '', 'todo', 'medium', '', '[]', '[]', '[]', 1, 1, 0, 1 FROM projects;";

const SESSION: &str = "sess_1794823310090_lagqnxdrq";
const WORKER: &str = "worker-1";
/// A moment after the last thing that happened in that database.
const NOW: i64 = 1_794_823_330_000;

fn schema4(order: &str, sequence: &str) -> String {
    let tables = STEPS.join("\n").replace("ORDER KEY", order).replace("SEQUENCE KEY", sequence);
    [&tables, VERSIONS, ROWS, ENDED, NEWER].join("\n")
}

#[tokio::test]
async fn a_paused_run_survives_on_sqlite() {
    let statements = schema4("INTEGER PRIMARY KEY", "INTEGER PRIMARY KEY AUTOINCREMENT");
    let world = World::sqlite_holding(&statements);
    let mut copy = world.store.file().unwrap().as_os_str().to_owned();
    copy.push(".schema-4");
    let copy = rusqlite::Connection::open(copy).unwrap();
    let version = copy.query_row("SELECT max(version) FROM maestro_schema", [], |row| row.get::<_, i64>(0));
    assert_eq!(version, Ok(4), "a program of before can go on with the copy");
    check(&world).await;
}

#[tokio::test]
async fn a_paused_run_survives_on_postgres() {
    let statements = schema4("BIGSERIAL PRIMARY KEY", "BIGSERIAL PRIMARY KEY");
    let world = tokio::task::spawn_blocking(move || World::postgres_holding(&statements)).await.unwrap();
    if let Some(world) = world {
        check(&world).await;
    }
}

async fn check(world: &World) {
    world.clock.store(NOW, Ordering::Relaxed);
    assert_eq!(world.store.read(CheckIntegrity).await.unwrap(), []);
    costs_and_words_are_known(world).await;
    session_reads_back(world, &SESSION.parse().unwrap()).await;
    answer_reads_back(world).await;
    run_goes_on(world, &SESSION.parse().unwrap()).await;
    status_stays_manual(world).await;
    world.store.write(PruneHistory { events: MINUTE, from: 0 }).await.unwrap();
    assert_eq!(world.store.read(CheckIntegrity).await.unwrap(), []);
}

async fn session_reads_back(world: &World, session: &SessionId) {
    let store = &world.store;
    assert_eq!(store.read(SessionById(session.clone())).await.unwrap().status, SessionStatus::Working);

    let spawn = store.read(SpawnBySession(session.clone())).await.unwrap().unwrap();
    assert_eq!((spawn.state, spawn.worker.as_deref()), (SpawnState::Claimed, Some(WORKER)));
    assert_eq!(spawn.tree.as_deref(), Some("4b825dc642cb6eb9a060e54bf8d69288fbee4904"));
    let held = store.read(ClaimStatuses { worker: WORKER.into() }).await.unwrap();
    assert_eq!(held[0].1.signal, WorkerSignal::LetGo, "somebody asked to attach");

    let page = TranscriptPage { session: session.clone(), page: ListPage::default() };
    let transcript = store.read(page).await.unwrap().items;
    assert_eq!(transcript.len(), 3);
    assert!(matches!(&transcript[1].event, AgentEvent::ToolBegan { id, .. } if id == "call-1"), "{transcript:?}");

    let receipts = store.read(SkillDeliveries(session.clone())).await.unwrap();
    assert_eq!(
        receipts.iter().map(|receipt| receipt.stage).collect::<Vec<_>>(),
        [DeliveryStage::Handed, DeliveryStage::Read]
    );
    let texts = receipts.into_iter().map(|receipt| (receipt.skill, receipt.hash, receipt.stage)).collect();
    store.write(RecordDeliveries { session: session.clone(), texts }).await.unwrap();
    assert_eq!(store.read(SkillDeliveries(session.clone())).await.unwrap().len(), 2, "known deliveries are kept once");

    let page = MessageList { session: session.clone(), page: ListPage::default() };
    assert_eq!(store.read(page).await.unwrap().items[0].how.as_deref(), Some("with its prompt"));
}

async fn costs_and_words_are_known(world: &World) {
    let spent = world.store.read(SpendSince { project: None, since: 0 }).await.unwrap();
    assert_eq!(spent, SpendTotal { cost_usd: 1.25, unreported: 0 });
    let counted = CostSince { since: 0, except: "sess_1_other".parse().unwrap() };
    assert!((world.store.read(counted).await.unwrap() - 0.75).abs() < 1e-9, "what a person allowed does not count");
    let search = TextSearch { text: "login form".to_owned(), project: None, limit: 9 };
    let found = world.store.read(search).await.unwrap().tasks;
    assert_eq!(found.iter().map(|task| task.title.as_str()).collect::<Vec<_>>(), ["Add a login form"]);
}

async fn answer_reads_back(world: &World) {
    let say = SendMessage {
        session: SESSION.parse().unwrap(),
        from: "you".into(),
        text: "Use the new API".into(),
        actor: Actor::Person,
    };
    let once = IdempotencyKey { request: "say-1".into(), fingerprint: "say".into() };
    let message = world.store.write_once(say, Some(once)).await.unwrap();
    assert_eq!(message.id.to_string(), "msg_1794823313187_jzs82a9g9", "the request was answered before");
}

/// The agent ends, the run resumes, and only then receives what the session reported for its step.
async fn run_goes_on(world: &World, session: &SessionId) {
    let store = &world.store;
    let id: RunId = "01a1e3ce-4b00-77ea-911b-b4384c9e6268".parse().unwrap();
    let record = store.read(RunById(id)).await.unwrap();
    assert_eq!((&record.run.status, record.about.driver), (&RunStatus::Paused, Driver::Server));
    let definitions = store.read(PinnedDefinitions(record.hash.clone())).await.unwrap();
    let definition = PinnedDefinition { main: record.about.workflow.clone(), definitions }.definition().unwrap();

    let seat = store.read(StepOfSession(session.clone())).await.unwrap().unwrap();
    assert_eq!((seat.run, seat.ticket.as_str()), (id, "a#1.a2bx7c"));
    assert_eq!(seat.report.as_ref().map(|report| json!(report)["outcome"].clone()), Some(json!("ok")));
    let after = NextStart::Over { status: SessionStatus::Completed, end: Some(EndReason::Exited) };
    let (outcome, line) = (SessionOutcome { result: SessionResult::Done, work: None }, "It ended".to_owned());
    let settle = SettleSpawn { session: session.clone(), worker: WORKER.into(), outcome, line, next_start: after };
    store.write(settle).await.unwrap();
    let host = RunHost { kind: HostKind::Server, process: "machine 1 1".into() };
    assert_eq!(store.read(EndedStepSessions { host: host.clone() }).await.unwrap(), [], "its run is paused");

    let events = decide(&definition, &record.run, RunInput::Resume).unwrap();
    let run = events.iter().fold(record.run.clone(), evolve);
    let advance = AdvanceRun { id, revision: record.revision, deadline: None, events, run, executor: None };
    store.write(advance).await.unwrap();
    assert_eq!(store.read(EndedStepSessions { host: host.clone() }).await.unwrap(), [], "no process has it yet");
    store.write(HostRun { id, host: host.clone() }).await.unwrap();
    assert_eq!(store.read(EndedStepSessions { host: host.clone() }).await.unwrap(), [seat]);
    let end = store.read(StepSessionEnds(id)).await.unwrap().remove(0);
    assert_eq!(end.outcome, Some(SessionOutcome { result: SessionResult::Done, work: None }));
    store.write(SettleStepSession(session.clone())).await.unwrap();
    assert_eq!(store.read(EndedStepSessions { host: host.clone() }).await.unwrap(), []);
}

/// A person set this task to in progress, so it stays so when its only active subtask goes.
async fn status_stays_manual(world: &World) {
    let tasks = world.store.read(TaskList::default()).await.unwrap().items;
    let part = tasks.iter().find(|task| task.title == "Fix the login").unwrap();
    let delete = DeleteTask { id: part.id.clone(), subtasks: SubtaskPolicy::Keep, actor: Actor::Person };
    world.store.write(delete).await.unwrap();
    let whole = world.store.read(TaskById(part.parent.clone().unwrap())).await.unwrap();
    assert_eq!((whole.title.as_str(), whole.status), ("Ship it", TaskStatus::InProgress));
}
