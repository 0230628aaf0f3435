//! Requests, claims and settles agents in a database, and prints what one of them costs.
//!
//! `claims DATABASE PROJECT`

#![allow(clippy::print_stdout, clippy::unwrap_used, reason = "a measurement may fail by panicking")]

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use maestro_core::SessionRole;
use maestro_core::agent::SessionOutcome;
use maestro_core::id::ProjectId;
use maestro_core::session::{Approach, SessionStatus};
use maestro_store::{
    AnyDueSpawn, ClaimPolicy, ClaimScope, ClaimSpawn, Clock, CreateSession, DatabaseLocation, NextStart, RequestSpawn,
    SettleSpawn, Store,
};
use serde_json::{Map, Value as Json, json};

const TIMES: i64 = 200;

fn now() -> i64 {
    i64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis()).unwrap()
}

/// Milliseconds of processor time of all threads of this process.
fn cpu_ms() -> f64 {
    let threads = std::fs::read_dir("/proc/self/task").unwrap();
    let spent = threads.map(|thread| {
        let text = std::fs::read_to_string(thread.unwrap().path().join("schedstat")).unwrap();
        text.split_whitespace().next().unwrap().parse::<f64>().unwrap()
    });
    spent.sum::<f64>() / 1e6
}

fn request(project: &ProjectId) -> RequestSpawn {
    let session = CreateSession {
        id: None,
        project: project.clone(),
        tasks: Vec::new(),
        name: None,
        role: SessionRole::Worker,
        agent: Some("demo".to_owned()),
        strategy: Approach::Simple,
        status: SessionStatus::Spawning,
        env: Map::new(),
        metadata: Map::new(),
        parent: None,
        hostname: String::new(),
        platform: String::new(),
    };
    RequestSpawn { session, spec: Json::Null, claim_policy: ClaimPolicy::AnyWorker, limits: Vec::new() }
}

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let mut arguments = std::env::args().skip(1);
    let place = DatabaseLocation::parse(&arguments.next().unwrap());
    let project: ProjectId = arguments.next().unwrap().parse().unwrap();
    let clock: Clock = Arc::new(now);
    let store = tokio::task::spawn_blocking(move || Store::open(place, &clock).unwrap()).await.unwrap();
    let worker = "claims".to_owned();
    let mut begin = 0.0;
    for turn in -10..TIMES {
        if turn == 0 {
            begin = cpu_ms();
        }
        store.write(request(&project)).await.unwrap();
        assert!(store.read(AnyDueSpawn { now: now(), scope: ClaimScope::Server }).await.unwrap());
        let claim = ClaimSpawn { worker: worker.clone(), lease: 60_000, session: None, scope: ClaimScope::Server };
        let claimed = store.write(claim).await.unwrap().unwrap();
        let next_start = NextStart::Over { status: SessionStatus::Completed, end: None };
        let outcome = SessionOutcome::default();
        let settle =
            SettleSpawn { session: claimed.session, worker: worker.clone(), outcome, line: String::new(), next_start };
        store.write(settle).await.unwrap();
        assert!(!store.read(AnyDueSpawn { now: now(), scope: ClaimScope::Server }).await.unwrap());
    }
    #[expect(clippy::cast_precision_loss, reason = "a small number")]
    let cost = (cpu_ms() - begin) / TIMES as f64;
    println!("{}", json!({ "cpu_ms": cost, "times": TIMES }));
}
