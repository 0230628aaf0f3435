//! Worker that starts queued agents and settles their sessions.
//!
//! It claims what waits in the store, launches the agent, monitors it to its end and settles the claim. It keeps nothing of
//! its own: when it dies, the next one finds in the store all it needs to continue.

mod history;
mod launch;
mod monitor;
mod recover;
mod settle;
mod transcript_buffer;

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use maestro_core::agent::Agents;
use maestro_core::agent::spawn::Around;
use maestro_core::id::SessionId;
use maestro_store::{
    After, AnyDue, ClaimSpawn, Claimants, Clock, ReleaseSpawns, SettleSpawn, Spawn, Standing, Standings, Store,
};
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, interval, sleep};

use crate::execute::programs::put_on_path;
use crate::identity::Identity;
use settle::SettledSession;

/// How long a claim holds without a word, in milliseconds.
const LEASE: i64 = 15_000;
/// How often it is looked whether something waits, even if nobody says so.
const LOOK: Duration = Duration::from_secs(1);
/// How long changes are gathered before they are looked at again.
const GATHER: Duration = Duration::from_millis(10);

/// The commands that check the work in a directory, as far as somebody consented to them.
pub type Checks = Arc<dyn Fn(&Path) -> Result<Vec<String>, String> + Send + Sync>;

/// The agents that are known in a directory, as far as somebody consented to them.
pub type AgentsAt = Arc<dyn Fn(&Path) -> Agents + Send + Sync>;

/// The file of a program.
pub type FindProgram = Arc<dyn Fn(&str) -> Option<PathBuf> + Send + Sync>;

/// What a worker works with.
#[derive(Clone)]
pub struct Worker {
    /// Where everything is kept.
    pub store: Store,
    /// Tells the time.
    pub clock: Clock,
    /// Where the agents' programs find Maestro.
    pub around: Around,
    /// The variables that agents inherit.
    pub variables: BTreeMap<String, String>,
    /// Our own program.
    pub maestro: PathBuf,
    /// Finds the program of a name.
    pub program: FindProgram,
    /// The agents that are known in a directory.
    pub agents: AgentsAt,
    /// Directories beside their own that all agents may write to.
    pub extra: Vec<PathBuf>,
    /// The checks of a directory.
    pub checks: Checks,
    /// How many agents may be at work at once.
    pub most: usize,
    /// Who we are.
    pub identity: Identity,
}

/// How each session that this worker has stands, told to whoever follows it; nothing once it is another's.
type SessionRegistry = Arc<Mutex<HashMap<SessionId, watch::Sender<Option<Standing>>>>>;

impl Worker {
    /// Makes this program the one that agents find under its name.
    pub fn prepare(&self) -> std::io::Result<()> {
        put_on_path(Path::new(&self.around.home), &self.maestro)
    }

    /// Works until the future is dropped; every agent it started ends with it.
    pub async fn run(self) {
        let registry = SessionRegistry::default();
        let room = Arc::new(Semaphore::new(self.most));
        let mut working = JoinSet::new();
        let mut bell = self.store.changes();
        let mut looks = interval(LOOK);
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                rang = bell.next() => if rang.is_err() { return },
                _ = looks.tick() => self.release_lost().await,
            }
            while working.try_join_next().is_some() {}
            self.tell_standings(&registry).await;
            while let Ok(permit) = Arc::clone(&room).try_acquire_owned() {
                let Some(spawn) = self.claim(None).await else { break };
                let (worker, registry) = (self.clone(), Arc::clone(&registry));
                working.spawn(async move {
                    worker.see_to(spawn, &registry).await;
                    drop(permit);
                });
            }
            // Changes come in crowds, and one look finds them all; the first of them is not kept waiting.
            sleep(GATHER).await;
        }
    }

    /// Sees to one session's agent, and to no other. Says what came of it; nothing if it is not to be had.
    pub async fn run_one(self, session: SessionId) -> Option<String> {
        let spawn = self.claim(Some(session)).await?;
        let registry = SessionRegistry::default();
        let mut bell = self.store.changes();
        let seeing = self.see_to(spawn, &registry);
        tokio::pin!(seeing);
        loop {
            tokio::select! {
                line = &mut seeing => return Some(line),
                _ = bell.next() => {
                    sleep(GATHER).await;
                    self.tell_standings(&registry).await;
                }
            }
        }
    }

    /// The next thing to be started.
    async fn claim(&self, session: Option<SessionId>) -> Option<Spawn> {
        // A look costs nothing; a claim is a write.
        if session.is_none() && !self.store.read(AnyDue { now: (self.clock)() }).await.unwrap_or(false) {
            return None;
        }
        let worker = self.identity.as_str().to_owned();
        self.store.write(ClaimSpawn { worker, lease: LEASE, session }).await.ok().flatten()
    }

    /// Takes from workers of this machine that are gone what they had.
    async fn release_lost(&self) {
        let claimants = self.store.read(Claimants).await.unwrap_or_default();
        let workers: Vec<String> = claimants.into_iter().filter(|name| self.identity.knows_gone(name)).collect();
        if !workers.is_empty() {
            // What fails now is tried again with the next look.
            let _ = self.store.write(ReleaseSpawns { workers }).await;
        }
    }

    /// Tells whoever follows an agent what was decided about its session.
    async fn tell_standings(&self, registry: &SessionRegistry) {
        let followed = registry.lock().unwrap_or_else(PoisonError::into_inner).len();
        if followed == 0 {
            return;
        }
        let worker = self.identity.as_str().to_owned();
        let Ok(standings) = self.store.read(Standings { worker }).await else { return };
        let standings: HashMap<SessionId, Standing> = standings.into_iter().collect();
        for (session, monitor) in registry.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            let standing = standings.get(session);
            monitor.send_if_modified(|known| {
                let news = known.as_ref() != standing;
                *known = standing.cloned();
                news
            });
        }
    }

    /// Starts an agent, follows it, and settles what came of it. Says it in a line.
    async fn see_to(&self, spawn: Spawn, registry: &SessionRegistry) -> String {
        let session = spawn.session.clone();
        let (sender, standing) = watch::channel(None);
        registry.lock().unwrap_or_else(PoisonError::into_inner).insert(session.clone(), sender);
        let settled = match self.recover(&spawn).await {
            Ok(Some(settled)) => settled,
            Ok(None) => match self.launch(&spawn).await {
                Ok(launched) => monitor::monitor(self, launched, &spawn, standing).await,
                Err(error) => SettledSession::not_started(&error.to_string()),
            },
            Err(error) => SettledSession::not_started(&error.to_string()),
        };
        registry.lock().unwrap_or_else(PoisonError::into_inner).remove(&session);
        let SettledSession { outcome, line, after } = settled;
        let lost = matches!(after, After::Again { .. });
        let worker = self.identity.as_str().to_owned();
        // Whoever lost the claim has nothing to say about it any more.
        let settle = SettleSpawn { session, worker, outcome, line: line.clone(), after };
        if self.store.write(settle).await.is_err() && lost {
            return "another worker goes on with it".to_owned();
        }
        line
    }
}
