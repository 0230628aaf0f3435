//! Plays a worker and its agent for tests of what people see: each line of its input is an order, and each is answered
//! by a line. So a test says what an agent does, and when.
//!
//! `agent DATABASE`, then for example `{"did":[{"type":"agent:said","payload":{"text":"hello"}}]}`.

#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a part that is played in tests may fail by panicking")]

use std::io::BufRead as _;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use maestro_core::SessionRole;
use maestro_core::agent::{AgentEvent, PermissionChoice, SessionOutcome};
use maestro_core::id::{ProjectId, SessionId, TaskId};
use maestro_core::session::{Approach, EndReason, SessionStatus};
use maestro_store::{
    AppendTranscript, AskPermission, Change, ChangeTx, ClaimPolicy, ClaimSpawn, Clock, CreateSession, DatabaseLocation,
    DeliveryStage, NextStart, RecordDeliveries, RequestSpawn, SettleSpawn, Store, StoreError,
};
use serde::Deserialize;
use serde_json::{Map, Value as Json, json};

/// What is to be done.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
enum Order {
    Begin { project: ProjectId, task: TaskId, agent: String, skills: Vec<String> },
    Did(Vec<AgentEvent>),
    Asks { request: String, title: String, detail: String, options: Vec<PermissionChoice>, seconds: i64 },
    Receipts(Vec<(String, String, DeliveryStage)>),
    Settle { outcome: Json, status: SessionStatus },
}

const HOUR: i64 = 60 * 60 * 1000;

fn now() -> i64 {
    i64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis()).unwrap()
}

/// Who plays the worker: this process.
fn worker() -> String {
    format!("played-{}", std::process::id())
}

/// Asks for an agent and claims it in one step, so that no real worker comes between.
struct Begin(RequestSpawn);

impl Change for Begin {
    type Output = SessionId;

    fn apply(&self, tx: &mut ChangeTx<'_>) -> Result<SessionId, StoreError> {
        let made = self.0.apply(tx)?;
        let claimed =
            ClaimSpawn { worker: worker(), lease: HOUR, session: None, scope: maestro_store::ClaimScope::Server }
                .apply(tx)?;
        assert_eq!(claimed.map(|spawn| spawn.session), Some(made.id.clone()), "nothing else waits");
        Ok(made.id)
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let place = DatabaseLocation::File(std::env::args().nth(1).unwrap().into());
    let clock: Clock = Arc::new(now);
    let store = Store::open(place, &clock).unwrap();
    let mut session: Option<SessionId> = None;
    for line in std::io::stdin().lock().lines() {
        let order: Order = serde_json::from_str(&line.unwrap()).unwrap();
        if let Order::Begin { project, task, agent, skills } = order {
            let made = store.write(begin(project, task, agent, &skills)).await.unwrap();
            println!("{made}");
            session = Some(made);
        } else {
            carry_out(&store, session.clone().unwrap(), order).await.unwrap();
            println!("ok");
        }
    }
}

fn begin(project: ProjectId, task: TaskId, agent: String, skills: &[String]) -> Begin {
    let spec =
        json!({ "agent": agent, "workspace": "/home/me/my-repo", "promptMaxChars": 200_000, "permission": "ask" });
    let session = CreateSession {
        id: None,
        project,
        tasks: vec![task],
        name: None,
        role: SessionRole::Worker,
        agent: Some(agent),
        strategy: Approach::Simple,
        status: SessionStatus::Working,
        env: Map::new(),
        metadata: Map::from_iter([("skills".to_owned(), json!(skills))]),
        parent: None,
        hostname: "workshop".to_owned(),
        platform: "linux".to_owned(),
    };
    Begin(RequestSpawn { session, spec, claim_policy: ClaimPolicy::AnyWorker, limits: Vec::new() })
}

async fn carry_out(store: &Store, session: SessionId, order: Order) -> Result<(), StoreError> {
    let worker = worker();
    match order {
        Order::Begin { .. } => Ok(()),
        Order::Did(events) => {
            let events = events.into_iter().map(|event| (now(), event)).collect();
            store.write(AppendTranscript { session, worker, events }).await
        }
        Order::Asks { request, title, detail, options, seconds } => {
            let patience = seconds * 1000;
            let ask = AskPermission { session, worker, request, title, detail, options, patience };
            store.write(ask).await.map(drop)
        }
        Order::Receipts(texts) => store.write(RecordDeliveries { session, texts }).await,
        Order::Settle { outcome, status } => {
            let after = NextStart::Over { status, end: Some(EndReason::Exited) };
            let line = "It ended".to_owned();
            let outcome = SessionOutcome::from_stored(outcome).unwrap();
            store.write(SettleSpawn { session, worker, outcome, line, next_start: after }).await
        }
    }
}
