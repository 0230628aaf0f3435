//! Store handle for both databases, cheap to clone and safe to share.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, RwLock};
use std::time::Duration;

use tokio::sync::watch;

use crate::change::{Change, PendingChange, Query, QueryJob, WriteJob, query_job};
use crate::error::StoreError;
use crate::health::{DatabaseAccess, StoreFailure, StoreHealth, short_name};
use crate::idempotency::IdempotencyKey;
use crate::pg::PostgresBackend;
use crate::sqlite::{self, SqliteBackend};
use crate::tx::StoreRules;

/// The time in milliseconds since 1970.
pub type Clock = Arc<dyn Fn() -> i64 + Send + Sync>;

/// Where a store is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DatabaseLocation {
    /// A SQLite file.
    File(PathBuf),
    /// A PostgreSQL address.
    Postgres(String),
}

impl DatabaseLocation {
    /// The place that a `--database` option names.
    pub fn parse(text: &str) -> Self {
        if text.starts_with("postgres://") || text.starts_with("postgresql://") {
            return Self::Postgres(text.to_owned());
        }
        Self::File(PathBuf::from(text.strip_prefix("sqlite://").unwrap_or(text)))
    }
}

/// How a store is used.
#[derive(Debug, Clone, Copy)]
pub struct StoreOptions {
    /// How long a change waits for another process before it is refused as busy.
    pub busy_timeout: Duration,
}

impl Default for StoreOptions {
    fn default() -> Self {
        Self { busy_timeout: Duration::from_secs(5) }
    }
}

/// Everything that is stored.
#[derive(Clone)]
pub struct Store {
    backend: Arc<StoreBackend>,
    shared: Arc<SharedState>,
    location: Arc<DatabaseLocation>,
    clock: Clock,
}

enum StoreBackend {
    Sqlite(SqliteBackend),
    Postgres(PostgresBackend),
    #[cfg(feature = "hollow")]
    Hollow(serde_json::Value),
}

impl Store {
    /// Opens the store, and brings its schema up to date.
    pub fn open(place: DatabaseLocation, clock: &Clock) -> Result<Self, StoreError> {
        Self::open_with(place, clock, StoreOptions::default())
    }

    /// The same, with other options than the usual ones.
    pub fn open_with(place: DatabaseLocation, clock: &Clock, options: StoreOptions) -> Result<Self, StoreError> {
        let shared = Arc::new(SharedState::default());
        let backend = match &place {
            DatabaseLocation::File(path) => StoreBackend::Sqlite(SqliteBackend::open(path, clock, options, &shared)?),
            DatabaseLocation::Postgres(url) => {
                StoreBackend::Postgres(PostgresBackend::open(url, clock, options, &shared)?)
            }
        };
        Ok(Self { backend: Arc::new(backend), shared, location: Arc::new(place), clock: Arc::clone(clock) })
    }

    /// A store that answers every change with the same and stores nothing.
    #[cfg(feature = "hollow")]
    pub fn hollow(answer: serde_json::Value) -> Self {
        let place = DatabaseLocation::File(PathBuf::from("/dev/null"));
        let clock: Clock = Arc::new(|| 0);
        Self {
            backend: Arc::new(StoreBackend::Hollow(answer)),
            shared: Arc::default(),
            location: Arc::new(place),
            clock,
        }
    }

    /// Where it is.
    pub fn location(&self) -> &DatabaseLocation {
        &self.location
    }

    /// Makes a change; when this returns, it is on the disk.
    pub async fn write<C: Change>(&self, change: C) -> Result<C::Output, StoreError> {
        self.write_once(change, None).await
    }

    /// Makes a change unless the same request made it before, and then gives the same answer.
    pub async fn write_once<C: Change>(
        &self,
        change: C,
        once: Option<IdempotencyKey>,
    ) -> Result<C::Output, StoreError> {
        #[cfg(feature = "hollow")]
        if let StoreBackend::Hollow(answer) = self.backend.as_ref() {
            return serde_json::from_value(answer.clone()).map_err(|error| StoreError::corrupt(error.to_string()));
        }
        let (job, answer) = PendingChange::new(change, once);
        self.send_change(job);
        let result = answer.await.unwrap_or(Err(StoreError::Closed));
        self.shared.health.note(DatabaseAccess::Write, short_name::<C>(), &self.clock, &result);
        result
    }

    /// Looks something up.
    pub async fn read<R: Query>(&self, read: R) -> Result<R::Output, StoreError> {
        let (job, answer) = query_job(read);
        self.send_query(job);
        let result = answer.await.unwrap_or(Err(StoreError::Closed));
        self.shared.health.note(DatabaseAccess::Read, short_name::<R>(), &self.clock, &result);
        result
    }

    fn send_change(&self, job: Box<dyn WriteJob>) {
        match self.backend.as_ref() {
            StoreBackend::Sqlite(sqlite) => sqlite.write(job),
            StoreBackend::Postgres(postgres) => postgres.write(job),
            #[cfg(feature = "hollow")]
            StoreBackend::Hollow(_) => job.settle(Err(StoreError::Closed)),
        }
    }

    fn send_query(&self, job: QueryJob) {
        match self.backend.as_ref() {
            StoreBackend::Sqlite(sqlite) => sqlite.read(job),
            StoreBackend::Postgres(postgres) => postgres.read(job),
            #[cfg(feature = "hollow")]
            StoreBackend::Hollow(_) => job(Err(StoreError::Closed)),
        }
    }

    /// What fails in the database now, if anything does.
    pub fn failure(&self) -> Option<StoreFailure> {
        self.shared.health.failure()
    }

    /// What the settings decide from now on.
    pub fn set_rules(&self, rules: StoreRules) {
        if let Ok(mut current) = self.shared.rules.write() {
            *current = rules;
        }
    }

    /// What the settings decide.
    pub fn rules(&self) -> StoreRules {
        self.shared.rules()
    }

    /// Changes whenever something was stored by this process; other processes' changes are seen after [`Self::watch_others`].
    pub fn changes(&self) -> ChangeSignal {
        self.shared.watchers.fetch_add(1, Ordering::Relaxed);
        ChangeSignal { signal: self.shared.bell.subscribe(), shared: Arc::clone(&self.shared) }
    }

    /// Also notices what other processes store. PostgreSQL notifies by itself; a SQLite file is polled.
    pub fn watch_others(&self) -> Result<(), StoreError> {
        match self.location.as_ref() {
            DatabaseLocation::File(path) if !self.shared.looked_at.swap(true, Ordering::Relaxed) => {
                sqlite::watch(path, Arc::downgrade(&self.shared))
            }
            _ => Ok(()),
        }
    }

    /// How many commits there were, and how many changes they held.
    pub fn commits(&self) -> (u64, u64) {
        (self.shared.commits.load(Ordering::Relaxed), self.shared.changes.load(Ordering::Relaxed))
    }

    /// The file of a SQLite store.
    pub fn file(&self) -> Option<&Path> {
        match self.location.as_ref() {
            DatabaseLocation::File(path) => Some(path),
            DatabaseLocation::Postgres(_) => None,
        }
    }
}

/// A signal that something was stored.
pub struct ChangeSignal {
    signal: watch::Receiver<u64>,
    shared: Arc<SharedState>,
}

impl ChangeSignal {
    /// Waits until something was stored since this was last asked.
    pub async fn next(&mut self) -> Result<(), StoreError> {
        self.signal.changed().await.map_err(|_| StoreError::Closed)
    }
}

impl Drop for ChangeSignal {
    fn drop(&mut self) {
        self.shared.watchers.fetch_sub(1, Ordering::Relaxed);
    }
}

/// What the handle and the threads behind it have in common.
pub(crate) struct SharedState {
    bell: watch::Sender<u64>,
    watchers: AtomicUsize,
    looked_at: AtomicBool,
    commits: AtomicU64,
    changes: AtomicU64,
    rules: RwLock<StoreRules>,
    health: StoreHealth,
}

impl Default for SharedState {
    fn default() -> Self {
        Self {
            bell: watch::Sender::new(0),
            watchers: AtomicUsize::default(),
            looked_at: AtomicBool::default(),
            commits: AtomicU64::default(),
            changes: AtomicU64::default(),
            rules: RwLock::default(),
            health: StoreHealth::default(),
        }
    }
}

impl SharedState {
    pub(crate) fn signal_change(&self) {
        self.bell.send_modify(|rings| *rings += 1);
    }

    pub(crate) fn is_watched(&self) -> bool {
        self.watchers.load(Ordering::Relaxed) > 0
    }

    pub(crate) fn count_commit(&self, changes: usize) {
        self.commits.fetch_add(1, Ordering::Relaxed);
        self.changes.fetch_add(changes as u64, Ordering::Relaxed);
    }

    pub(crate) fn rules(&self) -> StoreRules {
        self.rules.read().map(|rules| *rules).unwrap_or_default()
    }
}
