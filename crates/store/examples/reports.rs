//! Reports straight into the store, 64 at a time: what one costs on the writer's thread.

#![allow(
    clippy::print_stdout,
    clippy::cast_precision_loss,
    clippy::unwrap_used,
    reason = "a measurement prints its result"
)]

use std::sync::Arc;
use std::time::Instant;

use maestro_core::SessionRole;
use maestro_core::report::ReportKind;
use maestro_core::session::{Approach, SessionStatus};
use maestro_store::{
    Actor, CreateProject, CreateSession, CreateTask, DatabaseLocation, ReportSource, Store, SubmitReport,
};

#[tokio::main(flavor = "current_thread")]
async fn main() {
    let path = std::env::args().nth(1).unwrap();
    let store = Store::open(DatabaseLocation::File(path.into()), &(Arc::new(|| 1_738_713_600_000_i64) as _)).unwrap();
    let project = CreateProject { name: "p".into(), working_dir: String::new(), description: String::new() };
    let project = store.write(project).await.unwrap().id;
    let mut sessions = Vec::new();
    for _ in 0..64 {
        let task = CreateTask { project: Some(project.clone()), title: "t".into(), ..CreateTask::default() };
        let task = store.write(task).await.unwrap().id;
        let session = CreateSession {
            id: None,
            project: project.clone(),
            tasks: vec![task],
            name: None,
            role: SessionRole::Worker,
            agent: None,
            strategy: Approach::Simple,
            status: SessionStatus::Working,
            env: serde_json::Map::new(),
            metadata: serde_json::Map::new(),
            parent: None,
            hostname: String::new(),
            platform: String::new(),
        };
        sessions.push(store.write(session).await.unwrap().id);
    }
    let started = Instant::now();
    let rounds = 1000;
    for round in 0..rounds {
        let mut waiting = Vec::new();
        for session in &sessions {
            let report = SubmitReport {
                source: ReportSource::Session(session.clone()),
                kind: ReportKind::Progress,
                message: Some(format!("step {round}")),
                tasks: Vec::new(),
                metadata: None,
                question: maestro_store::QuestionFate::Stays,
                actor: Actor::Person,
            };
            let store = store.clone();
            waiting.push(tokio::spawn(async move { store.write(report).await.map(|_| ()) }));
        }
        for one in waiting {
            one.await.unwrap().unwrap();
        }
    }
    let reports = rounds * sessions.len();
    let (commits, _) = store.commits();
    println!(
        "{reports} reports, {commits} commits, {:.1} µs each",
        started.elapsed().as_secs_f64() * 1e6 / reports as f64
    );
}
