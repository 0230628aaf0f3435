//! Store handle for both databases, cheap to clone and safe to share.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, RwLock};
use std::time::Duration;

use tokio::sync::watch;

use crate::answers::Once;
use crate::change::{Change, Job, Pending, Read, ReadJob, read_job};
use crate::error::StoreError;
use crate::health::{Access, StoreFailure, StoreHealth, short_name};
use crate::pg::Postgres;
use crate::sqlite::{self, Sqlite};
use crate::tx::Rules;

/// The time in milliseconds since 1970.
pub type Clock = Arc<dyn Fn() -> i64 + Send + Sync>;

/// Where a store is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// A SQLite file.
    File(PathBuf),
    /// A PostgreSQL address.
    Postgres(String),
}

impl Place {
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
pub struct Options {
    /// How long a change waits for another process before it is refused as busy.
    pub patience: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self { patience: Duration::from_secs(5) }
    }
}

/// Everything that is stored.
#[derive(Clone)]
pub struct Store {
    backend: Arc<Backend>,
    shared: Arc<Shared>,
    place: Arc<Place>,
    clock: Clock,
}

enum Backend {
    Sqlite(Sqlite),
    Postgres(Postgres),
    #[cfg(feature = "hollow")]
    Hollow(serde_json::Value),
}

impl Store {
    /// Opens the store, and brings its schema up to date.
    pub fn open(place: Place, clock: &Clock) -> Result<Self, StoreError> {
        Self::open_with(place, clock, Options::default())
    }

    /// The same, with other options than the usual ones.
    pub fn open_with(place: Place, clock: &Clock, options: Options) -> Result<Self, StoreError> {
        let shared = Arc::new(Shared::default());
        let backend = match &place {
            Place::File(path) => Backend::Sqlite(Sqlite::open(path, clock, options, &shared)?),
            Place::Postgres(url) => Backend::Postgres(Postgres::open(url, clock, options, &shared)?),
        };
        Ok(Self { backend: Arc::new(backend), shared, place: Arc::new(place), clock: Arc::clone(clock) })
    }

    /// A store that answers every change with the same and stores nothing.
    #[cfg(feature = "hollow")]
    pub fn hollow(answer: serde_json::Value) -> Self {
        let place = Place::File(PathBuf::from("/dev/null"));
        let clock: Clock = Arc::new(|| 0);
        Self { backend: Arc::new(Backend::Hollow(answer)), shared: Arc::default(), place: Arc::new(place), clock }
    }

    /// Where it is.
    pub fn place(&self) -> &Place {
        &self.place
    }

    /// Makes a change; when this returns, it is on the disk.
    pub async fn write<C: Change>(&self, change: C) -> Result<C::Output, StoreError> {
        self.write_once(change, None).await
    }

    /// Makes a change unless the same request made it before, and then gives the same answer.
    pub async fn write_once<C: Change>(&self, change: C, once: Option<Once>) -> Result<C::Output, StoreError> {
        #[cfg(feature = "hollow")]
        if let Backend::Hollow(answer) = self.backend.as_ref() {
            return serde_json::from_value(answer.clone()).map_err(|error| StoreError::corrupt(error.to_string()));
        }
        let (job, answer) = Pending::new(change, once);
        self.send(job);
        let result = answer.await.unwrap_or(Err(StoreError::Closed));
        self.shared.health.note(Access::Write, short_name::<C>(), &self.clock, &result);
        result
    }

    /// Looks something up.
    pub async fn read<R: Read>(&self, read: R) -> Result<R::Output, StoreError> {
        let (job, answer) = read_job(read);
        self.ask(job);
        let result = answer.await.unwrap_or(Err(StoreError::Closed));
        self.shared.health.note(Access::Read, short_name::<R>(), &self.clock, &result);
        result
    }

    fn send(&self, job: Box<dyn Job>) {
        match self.backend.as_ref() {
            Backend::Sqlite(sqlite) => sqlite.write(job),
            Backend::Postgres(postgres) => postgres.write(job),
            #[cfg(feature = "hollow")]
            Backend::Hollow(_) => job.settle(Err(StoreError::Closed)),
        }
    }

    fn ask(&self, job: ReadJob) {
        match self.backend.as_ref() {
            Backend::Sqlite(sqlite) => sqlite.read(job),
            Backend::Postgres(postgres) => postgres.read(job),
            #[cfg(feature = "hollow")]
            Backend::Hollow(_) => job(Err(StoreError::Closed)),
        }
    }

    /// What fails in the database now, if anything does.
    pub fn failure(&self) -> Option<StoreFailure> {
        self.shared.health.failure()
    }

    /// What the settings decide from now on.
    pub fn set_rules(&self, rules: Rules) {
        if let Ok(mut current) = self.shared.rules.write() {
            *current = rules;
        }
    }

    /// What the settings decide.
    pub fn rules(&self) -> Rules {
        self.shared.rules()
    }

    /// Changes whenever something was stored by this process; other processes' changes are seen after [`Self::watch_others`].
    pub fn changes(&self) -> Changes {
        self.shared.watchers.fetch_add(1, Ordering::Relaxed);
        Changes { bell: self.shared.bell.subscribe(), shared: Arc::clone(&self.shared) }
    }

    /// Also notices what other processes store. PostgreSQL notifies by itself; a SQLite file is polled.
    pub fn watch_others(&self) -> Result<(), StoreError> {
        match self.place.as_ref() {
            Place::File(path) if !self.shared.looked_at.swap(true, Ordering::Relaxed) => {
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
        match self.place.as_ref() {
            Place::File(path) => Some(path),
            Place::Postgres(_) => None,
        }
    }
}

/// A signal that something was stored.
pub struct Changes {
    bell: watch::Receiver<u64>,
    shared: Arc<Shared>,
}

impl Changes {
    /// Waits until something was stored since this was last asked.
    pub async fn next(&mut self) -> Result<(), StoreError> {
        self.bell.changed().await.map_err(|_| StoreError::Closed)
    }
}

impl Drop for Changes {
    fn drop(&mut self) {
        self.shared.watchers.fetch_sub(1, Ordering::Relaxed);
    }
}

/// What the handle and the threads behind it have in common.
pub(crate) struct Shared {
    bell: watch::Sender<u64>,
    watchers: AtomicUsize,
    looked_at: AtomicBool,
    commits: AtomicU64,
    changes: AtomicU64,
    rules: RwLock<Rules>,
    health: StoreHealth,
}

impl Default for Shared {
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

impl Shared {
    pub(crate) fn ring(&self) {
        self.bell.send_modify(|rings| *rings += 1);
    }

    pub(crate) fn is_watched(&self) -> bool {
        self.watchers.load(Ordering::Relaxed) > 0
    }

    pub(crate) fn synced(&self, changes: usize) {
        self.commits.fetch_add(1, Ordering::Relaxed);
        self.changes.fetch_add(changes as u64, Ordering::Relaxed);
    }

    pub(crate) fn rules(&self) -> Rules {
        self.rules.read().map(|rules| *rules).unwrap_or_default()
    }
}
