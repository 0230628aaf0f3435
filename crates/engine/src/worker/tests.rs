//! Tests of a worker whose database fails for a while.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use maestro_core::SessionRole;
use maestro_core::agent::spawn::{AgentEndpoints, SpawnSpec};
use maestro_core::agent::{Permission, ReportAbility, SessionOutcome, SessionResult};
use maestro_core::session::{Approach, EndReason, Session, SessionControl, SessionStatus};
use maestro_store::{
    Actor, ClaimPolicy, Clock, ControlSession, CreateProject, CreateSession, DatabaseLocation, NextStart, RequestSpawn,
    SpawnBySession, SpawnState, StoreOptions,
};
use serde_json::Map;
use tempfile::TempDir;

use super::history::SessionHistory;
use super::*;
use crate::host::BareHost;
use crate::identity::ProcessIdentity;
use crate::sandbox::SandboxSettings;

/// A worker on a database of its own, and a session that it has claimed.
struct Site {
    worker: AgentWorker,
    session: Session,
    file: PathBuf,
    _directory: TempDir,
}

impl Site {
    async fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("maestro.db");
        let clock: Clock =
            Arc::new(|| i64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis()).unwrap());
        let options = StoreOptions { busy_timeout: Duration::from_millis(20) };
        let store = Store::open_with(DatabaseLocation::File(file.clone()), &clock, options).unwrap();
        let machine = ExecutionHost {
            host: Arc::new(BareHost),
            maestro: PathBuf::from("/nowhere/maestro"),
            home: directory.path().to_owned(),
            own_dirs: Vec::new(),
            shared_dirs: Vec::new(),
            sandbox: SandboxSettings::default(),
            variables: BTreeMap::new(),
            identity: ProcessIdentity::of_this_process(),
            sockets: None,
        };
        let worker = AgentWorker {
            store,
            endpoints: AgentEndpoints::default(),
            machine: Arc::new(machine),
            most: 1,
            health: DaemonHealth::new(clock),
            scope: maestro_store::ClaimScope::Server,
        };
        let session = requested(&worker.store).await;
        worker.claim(Some(session.id.clone())).await.unwrap();
        Self { worker, session, file, _directory: directory }
    }

    /// Does something to the database behind the store's back.
    fn meddle(&self, sql: &str) -> rusqlite::Connection {
        let connection = rusqlite::Connection::open(&self.file).unwrap();
        connection.execute_batch(sql).unwrap();
        connection
    }

    /// Waits until the worker shows that something fails.
    async fn until_degraded(&self) {
        while self.worker.health.failures().is_empty() {
            sleep(Duration::from_millis(5)).await;
        }
    }
}

async fn requested(store: &Store) -> Session {
    let project = CreateProject { name: "shop".into(), working_dir: "/work".into(), description: String::new() };
    let session = CreateSession {
        id: None,
        project: store.write(project).await.unwrap().id,
        tasks: Vec::new(),
        name: None,
        role: SessionRole::Worker,
        agent: None,
        strategy: Approach::Simple,
        status: SessionStatus::Spawning,
        env: Map::new(),
        metadata: Map::new(),
        parent: None,
        hostname: "host".into(),
        platform: "linux".into(),
    };
    let spec = serde_json::to_value(spec()).unwrap();
    let request = RequestSpawn { session, spec, claim_policy: ClaimPolicy::AnyWorker, limits: Vec::new() };
    store.write(request).await.unwrap()
}

fn spec() -> SpawnSpec {
    SpawnSpec {
        agent: None,
        fallback: None,
        driver: None,
        model: None,
        workspace: "/nowhere".to_owned(),
        worktree: None,
        skills: Vec::new(),
        table: String::new(),
        prompt: None,
        plan_task: None,
        whole: None,
        continues: None,
        prompt_max_chars: 1000,
        permission: Permission::Edits,
        demo: maestro_core::agent::DemoAgentUse::BySetting,
        reminder: None,
        budget: maestro_core::agent::spawn::SessionLimits::default(),
    }
}

#[tokio::test]
async fn a_result_that_cannot_be_stored_at_once_is_stored_later_and_shows_meanwhile() {
    let site = Site::new().await;
    let locked = site.meddle("BEGIN IMMEDIATE");
    let settled = SettledSession {
        outcome: SessionOutcome { result: SessionResult::Done, work: None },
        line: "The agent is done".to_owned(),
        after: NextStart::Over { status: SessionStatus::Completed, end: Some(EndReason::Exited) },
    };
    let (worker, session) = (site.worker.clone(), site.session.id.clone());
    let settling = tokio::spawn(async move { worker.settle(&session, settled).await });
    site.until_degraded().await;
    let [failure] = site.worker.health.failures().try_into().unwrap();
    assert_eq!(failure.task.part, DaemonPart::Worker);
    assert!(failure.reason.contains("busy"), "{}", failure.reason);
    assert!(!settling.is_finished(), "nothing is said to be done before it is stored");
    drop(locked);
    assert_eq!(settling.await.unwrap(), "The agent is done");
    let spawn = site.worker.store.read(SpawnBySession(site.session.id.clone())).await.unwrap().unwrap();
    assert_eq!(spawn.state, SpawnState::Done);
    assert!(spawn.outcome.unwrap().is_done());
    assert_eq!(site.worker.health.failures(), [], "and nothing fails any more");
}

#[tokio::test]
async fn a_result_that_another_worker_has_is_not_said_to_be_done() {
    let site = Site::new().await;
    site.meddle("UPDATE spawns SET worker = 'another'");
    let settled = SettledSession {
        outcome: SessionOutcome { result: SessionResult::Done, work: None },
        line: "The agent is done".to_owned(),
        after: NextStart::Over { status: SessionStatus::Completed, end: Some(EndReason::Exited) },
    };
    let line = site.worker.settle(&site.session.id, settled).await;
    assert!(line.starts_with("the result was not stored"), "{line}");
}

#[tokio::test]
async fn a_cancel_is_seen_even_if_the_session_cannot_be_read_at_first() {
    let site = Site::new().await;
    let id = site.session.id.clone();
    site.worker
        .store
        .write(ControlSession { id: id.clone(), control: SessionControl::Cancel, actor: Actor::Person })
        .await
        .unwrap();
    let mut history = SessionHistory::load(&site.worker, &site.session, ReportAbility::Able, &spec()).await.unwrap();
    drop(site.meddle("ALTER TABLE sessions RENAME TO away"));
    let worker = site.worker.clone();
    let reading = tokio::spawn(async move { worker.final_status(&id, &mut history, 0).await.status });
    site.until_degraded().await;
    drop(site.meddle("ALTER TABLE away RENAME TO sessions"));
    assert_eq!(reading.await.unwrap(), SessionStatus::Stopped);
}
