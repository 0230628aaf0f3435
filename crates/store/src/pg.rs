//! PostgreSQL backend: each change is a transaction on a connection of its own.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, Weak};
use std::thread;
use std::time::{Duration, Instant};

use postgres::fallible_iterator::FallibleIterator;
use postgres::{Client, Config, NoTls};

use crate::change::{QueryJob, WriteJob};
use crate::db::{DbHandle, DbTx, PgConnectionState};
use crate::error::{StoreError, text_of};
use crate::migrate;
use crate::shared_state::{Clock, SharedState, StoreOptions};
use crate::tx::ChangeTx;

/// How many connections do the work.
const WORKERS: usize = 8;
/// How often a change is tried when another one comes first.
const TRIES: usize = 20;
/// How often it is tried when the same constraint is in the way each time: then it is no accident.
const VIOLATIONS: usize = 3;
/// How long a server that is there takes to say so.
const ANSWER: Duration = Duration::from_secs(1);

/// The threads of a PostgreSQL store.
pub(crate) struct PostgresBackend {
    work: Sender<PgJob>,
}

enum PgJob {
    Write(Box<dyn WriteJob>),
    Read(QueryJob),
}

impl PgJob {
    fn refuse(self, error: &StoreError) {
        match self {
            Self::Write(job) => job.settle(Err(error.clone())),
            Self::Read(job) => job(Err(error.clone())),
        }
    }
}

impl PostgresBackend {
    pub(crate) fn open(
        url: &str,
        clock: &Clock,
        options: StoreOptions,
        shared: &Arc<SharedState>,
    ) -> Result<Self, StoreError> {
        let config: Config = url.parse().map_err(|error| open_error(&error))?;
        prepare(&config, clock)?;
        let (work, waiting) = channel();
        let waiting = Arc::new(Mutex::new(waiting));
        let changed = Arc::new(AtomicBool::new(false));
        for _ in 0..WORKERS {
            let worker = PgWorker {
                config: config.clone(),
                options,
                clock: Arc::clone(clock),
                shared: Arc::clone(shared),
                changed: Arc::clone(&changed),
                connection: None,
            };
            let waiting = Arc::clone(&waiting);
            spawn("store-worker", move || worker.run(&waiting))?;
        }
        let shared = Arc::downgrade(shared);
        spawn("store-doorbell", move || listen(&config, &shared, &changed))?;
        Ok(Self { work })
    }

    pub(crate) fn write(&self, job: Box<dyn WriteJob>) {
        self.send(PgJob::Write(job));
    }

    pub(crate) fn read(&self, job: QueryJob) {
        self.send(PgJob::Read(job));
    }

    fn send(&self, work: PgJob) {
        if let Err(refused) = self.work.send(work) {
            refused.0.refuse(&StoreError::Closed);
        }
    }
}

fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> Result<(), StoreError> {
    let spawned = thread::Builder::new().name(name.to_owned()).spawn(work);
    spawned.map(|_| ()).map_err(|error| StoreError::Database(format!("cannot start a thread: {error}")))
}

fn open_error(error: &postgres::Error) -> StoreError {
    StoreError::Open { place: "at the address given".to_owned(), cause: text_of(error) }
}

fn prepare(config: &Config, clock: &Clock) -> Result<(), StoreError> {
    let mut client = config.connect(NoTls).map_err(|error| open_error(&error))?;
    let mut prepared = PgConnectionState::default();
    let transaction = client.transaction()?;
    let mut db = DbTx(DbHandle::Postgres(transaction, &mut prepared));
    migrate::migrate(&mut db, clock())?;
    commit(db)
}

fn commit(db: DbTx<'_>) -> Result<(), StoreError> {
    match db.0 {
        DbHandle::Postgres(transaction, _) => Ok(transaction.commit()?),
        DbHandle::Sqlite(_) => Err(StoreError::Closed),
    }
}

struct PgWorker {
    config: Config,
    options: StoreOptions,
    clock: Clock,
    shared: Arc<SharedState>,
    changed: Arc<AtomicBool>,
    connection: Option<(Client, PgConnectionState)>,
}

impl PgWorker {
    fn run(mut self, waiting: &Mutex<Receiver<PgJob>>) {
        loop {
            let next = waiting.lock().map(|waiting| waiting.recv());
            let Ok(Ok(work)) = next else { return };
            if let Err(error) = self.connect() {
                work.refuse(&error);
                continue;
            }
            match work {
                PgJob::Write(job) => self.write(job),
                PgJob::Read(job) => self.read(job),
            }
            if self.connection.as_ref().is_some_and(|(client, _)| client.is_closed()) {
                self.connection = None;
            }
        }
    }

    fn connect(&mut self) -> Result<(), StoreError> {
        if self.connection.as_ref().is_some_and(|(client, _)| !client.is_closed()) {
            return Ok(());
        }
        self.connection = None;
        let mut client = self.config.connect(NoTls).map_err(|error| open_error(&error))?;
        // A process that froze in the middle of a change must not block the others forever.
        let patience = self.options.busy_timeout.as_millis();
        client.batch_execute(&format!(
            "SET lock_timeout = {patience}; SET idle_in_transaction_session_timeout = '30s'"
        ))?;
        self.connection = Some((client, PgConnectionState::default()));
        Ok(())
    }

    /// Whether the connection was broken, which may show only when it is used, and has been made again.
    fn reconnect(&mut self) -> bool {
        let works = |(client, _): &mut (Client, PgConnectionState)| client.is_valid(ANSWER).is_ok();
        if self.connection.as_mut().is_some_and(works) {
            return false;
        }
        self.connection = None;
        self.connect().inspect_err(|error| tracing::warn!("no new connection to the database: {error}")).is_ok()
    }

    fn write(&mut self, mut job: Box<dyn WriteJob>) {
        let mut tried = 0;
        let committed = loop {
            tried += 1;
            let mut committing = false;
            match self.try_write(job.as_mut(), &mut committing) {
                Err(StoreError::Collision) if tried < TRIES => match self.violated() {
                    Some(constraint) if tried >= VIOLATIONS => break Err(StoreError::Database(constraint)),
                    _ => {}
                },
                // What was not about to be committed is certainly not stored.
                Err(StoreError::Database(_)) if !committing && tried < VIOLATIONS && self.reconnect() => {}
                settled => break settled,
            }
        };
        let done = committed.is_ok();
        if done {
            self.shared.count_commit(1);
        }
        job.settle(committed);
        if done {
            self.changed.store(true, Ordering::Relaxed);
            self.shared.signal_change();
        }
    }

    fn violated(&mut self) -> Option<String> {
        self.connection.as_mut().and_then(|(_, prepared)| prepared.violated.take())
    }

    fn try_write(&mut self, job: &mut dyn WriteJob, committing: &mut bool) -> Result<(), StoreError> {
        let (client, prepared) = self.connection.as_mut().ok_or(StoreError::Closed)?;
        prepared.writes = true;
        prepared.violated = None;
        let transaction = client.transaction()?;
        let db = DbTx(DbHandle::Postgres(transaction, prepared));
        let mut tx = ChangeTx::new(db, (self.clock)(), self.shared.rules());
        job.run(&mut tx)?;
        *committing = true;
        commit(tx.into_db())
    }

    fn read(&mut self, job: QueryJob) {
        let mut tried = 0;
        let failed = loop {
            tried += 1;
            let Some((client, prepared)) = self.connection.as_mut() else { break StoreError::Closed };
            prepared.writes = false;
            let snapshot = postgres::IsolationLevel::RepeatableRead;
            let error = match client.build_transaction().read_only(true).isolation_level(snapshot).start() {
                Ok(transaction) => return job(Ok(&mut DbTx(DbHandle::Postgres(transaction, prepared)))),
                Err(error) => error,
            };
            if tried > 1 || !self.reconnect() {
                break error.into();
            }
        };
        job(Err(failed));
    }
}

/// Notifies other servers of our changes, and signals theirs.
///
/// The bell is rung outside the changes' transactions and at most ten times a second, because PostgreSQL holds a lock
/// on all commits while it notifies; the look each second is for a bell that was lost.
fn listen(config: &Config, shared: &Weak<SharedState>, changed: &AtomicBool) {
    const PAUSE: Duration = Duration::from_secs(1);
    while shared.strong_count() > 0 {
        // A connection that breaks is made again; until then the changes of others are seen late, not lost.
        if let Err(error) = listen_once(config, shared, changed) {
            tracing::warn!("changes of other servers are seen late: {}", text_of(&error));
            thread::sleep(PAUSE);
        }
    }
}

fn listen_once(config: &Config, shared: &Weak<SharedState>, changed: &AtomicBool) -> Result<(), postgres::Error> {
    const BEAT: Duration = Duration::from_millis(100);
    const LOOK: Duration = Duration::from_secs(1);
    let mut client = config.connect(NoTls)?;
    client.batch_execute("LISTEN maestro")?;
    let mut looked = Instant::now();
    while let Some(shared) = shared.upgrade() {
        if changed.swap(false, Ordering::Relaxed) {
            client.batch_execute("NOTIFY maestro")?;
        }
        let rung = client.notifications().timeout_iter(BEAT).next()?;
        if rung.is_some() || (shared.is_watched() && looked.elapsed() > LOOK) {
            looked = Instant::now();
            shared.signal_change();
        }
    }
    Ok(())
}
