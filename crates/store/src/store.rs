//! Store handle for both databases, cheap to clone and safe to share.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use maestro_core::id::EntityId;

use crate::change::{Change, PendingChange, Query, QueryJob, WriteJob, query_job};
use crate::error::StoreError;
use crate::health::{DatabaseAccess, StoreFailure, short_name};
use crate::idempotency::IdempotencyKey;
use crate::pg::PostgresBackend;
use crate::shared_state::{ChangeSignal, Clock, SharedState, StoreOptions};
use crate::sqlite::{self, SqliteBackend};
use crate::tx::{self, StoreRules};

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
        self.shared.health.note(DatabaseAccess::Write, short_name::<C>(), &*self.clock, result.as_ref().err());
        result
    }

    /// Looks something up.
    pub async fn read<R: Query>(&self, read: R) -> Result<R::Output, StoreError> {
        let (job, answer) = query_job(read);
        self.send_query(job);
        let result = answer.await.unwrap_or(Err(StoreError::Closed));
        self.shared.health.note(DatabaseAccess::Read, short_name::<R>(), &*self.clock, result.as_ref().err());
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

    /// A fresh id, for a record that a change is to make under it.
    pub fn make_id<I: EntityId>(&self) -> Result<I, StoreError> {
        Ok(I::make((self.clock)(), tx::random()?))
    }

    /// What fails in the database now, if anything does.
    pub fn failure(&self) -> Option<StoreFailure> {
        self.shared.health.failure()
    }

    /// What the settings decide from now on.
    pub fn set_rules(&self, rules: StoreRules) {
        self.shared.set_rules(rules);
    }

    /// What the settings decide.
    pub fn rules(&self) -> StoreRules {
        self.shared.rules()
    }

    /// Changes whenever something was stored by this process; other processes' changes are seen after [`Self::watch_others`].
    pub fn changes(&self) -> ChangeSignal {
        ChangeSignal::new(&self.shared)
    }

    /// Also notices what other processes store. PostgreSQL notifies by itself; a SQLite file is polled.
    pub fn watch_others(&self) -> Result<(), StoreError> {
        match self.location.as_ref() {
            DatabaseLocation::File(path) if self.shared.start_watch() => {
                sqlite::watch(path, Arc::downgrade(&self.shared))
            }
            _ => Ok(()),
        }
    }

    /// How many commits there were, and how many changes they held.
    pub fn commits(&self) -> (u64, u64) {
        self.shared.commits()
    }

    /// The file of a SQLite store.
    pub fn file(&self) -> Option<&Path> {
        match self.location.as_ref() {
            DatabaseLocation::File(path) => Some(path),
            DatabaseLocation::Postgres(_) => None,
        }
    }
}
