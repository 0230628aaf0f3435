//! SQLite backend: one thread writes, and commits all waiting changes at once.
//!
//! A refusal undoes one change only; callers get their answer once the commit is on the disk.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Weak};
use std::thread;
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags, TransactionBehavior};

use crate::change::{QueryJob, WriteJob};
use crate::db::{DbHandle, DbTx};
use crate::error::StoreError;
use crate::migrate;
use crate::private_copy::{remove_copy, remove_if_there, write_copy};
use crate::shared_state::{Clock, SharedState, StoreOptions};
use crate::statements::KeptStatements;
use crate::tx::ChangeTx;

/// How many changes go into one commit at most.
const BATCH: usize = 512;
/// How many pages the log holds before they are copied into the database: reports rewrite the same pages, and each is copied once.
const CHECKPOINT_PAGES: u32 = 4000;
/// How many threads read.
const READERS: usize = 2;

/// The threads of a SQLite store.
pub(crate) struct SqliteBackend {
    writes: Sender<Box<dyn WriteJob>>,
    reads: Sender<QueryJob>,
}

impl SqliteBackend {
    pub(crate) fn open(
        path: &Path,
        clock: &Clock,
        options: StoreOptions,
        shared: &Arc<SharedState>,
    ) -> Result<Self, StoreError> {
        let connection = prepare(path, clock, options)?;
        let (writes, waiting) = channel();
        let shared_writer = Arc::clone(shared);
        let clock = Arc::clone(clock);
        spawn("store-writer", move || write_all(&connection, &waiting, &clock, &shared_writer))?;
        let (reads, questions) = channel();
        let questions = Arc::new(std::sync::Mutex::new(questions));
        for _ in 0..READERS {
            let (path, questions) = (path.to_owned(), Arc::clone(&questions));
            spawn("store-reader", move || read_all(&path, options, &questions))?;
        }
        Ok(Self { writes, reads })
    }

    pub(crate) fn write(&self, job: Box<dyn WriteJob>) {
        if let Err(refused) = self.writes.send(job) {
            refused.0.settle(Err(StoreError::Closed));
        }
    }

    pub(crate) fn read(&self, job: QueryJob) {
        if let Err(refused) = self.reads.send(job) {
            (refused.0)(Err(StoreError::Closed));
        }
    }
}

fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> Result<(), StoreError> {
    let spawned = thread::Builder::new().name(name.to_owned()).spawn(work);
    spawned.map(|_| ()).map_err(|error| StoreError::Database(format!("cannot start a thread: {error}")))
}

/// Opens the file, makes it durable, and brings its schema up to date.
fn prepare(path: &Path, clock: &Clock, options: StoreOptions) -> Result<Connection, StoreError> {
    let connection = open(path, options)?;
    let version = migrate::version(&mut DbTx(DbHandle::Sqlite(&connection)))?;
    if version < migrate::newest_version() {
        if version > 0 {
            keep_copy(&connection, path, version)?;
        }
        // Another process may migrate at the same time; the second one finds nothing left to do.
        let transaction = rusqlite::Transaction::new_unchecked(&connection, TransactionBehavior::Immediate)?;
        migrate::migrate(&mut DbTx(DbHandle::Sqlite(&*transaction)), clock())?;
        transaction.commit()?;
    }
    // Else a statement that writes many rows makes a file, to undo them should it fail.
    connection.pragma_update(None, "temp_store", "MEMORY")?;
    Ok(connection)
}

/// Keeps a copy of a database whose schema is about to change: an older program cannot read the new one.
fn keep_copy(connection: &Connection, path: &Path, version: i64) -> Result<(), StoreError> {
    let named = |suffix: String| {
        let mut name = path.as_os_str().to_owned();
        name.push(suffix);
        PathBuf::from(name)
    };
    let copy = named(format!(".schema-{version}"));
    if copy.exists() {
        return Ok(());
    }
    // Under its name there is a whole copy or none; another process may be about to migrate, too.
    let partial = named(format!(".schema-{version}.{}", std::process::id()));
    let failed = |error: io::Error| StoreError::File { path: partial.clone(), cause: error.to_string() };
    remove_copy(&partial).map_err(failed)?;
    write_copy(connection, &partial)?;
    match fs::hard_link(&partial, &copy) {
        // The other process was faster, and may have migrated before this copy was made.
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(failed(error)),
        _ => {}
    }
    remove_if_there(&partial).map_err(failed)
}

/// Opens a connection to the file, unless it belongs to a newer program or to another one.
pub(crate) fn open(path: &Path, options: StoreOptions) -> Result<Connection, StoreError> {
    let place = || path.display().to_string();
    let failed = |cause: StoreError| match cause {
        StoreError::Database(cause) | StoreError::Corrupt(cause) => StoreError::Open { place: place(), cause },
        other => other,
    };
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_CREATE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let connection = Connection::open_with_flags(path, flags).map_err(|error| failed(error.into()))?;
    connection.busy_timeout(options.busy_timeout)?;
    if connection.is_readonly("main")? {
        return Err(StoreError::ReadOnly(place()));
    }
    // Asked first: what is not ours is left as it is, down to its journal mode.
    check_owner(&mut DbTx(DbHandle::Sqlite(&connection))).map_err(failed)?;
    connection
        .execute_batch("PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON;")
        .map_err(|error| failed(error.into()))?;
    // Else a statement whose plan could depend on a value, by a partial index say, is compiled again for each value.
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true)?;
    connection.pragma_update(None, "wal_autocheckpoint", CHECKPOINT_PAGES)?;
    Ok(connection)
}

fn check_owner(db: &mut DbTx<'_>) -> Result<(), StoreError> {
    let version = migrate::version(db)?;
    if version == 0 && db.number("SELECT count(*) FROM sqlite_master", &[])? > 0 {
        return Err(StoreError::corrupt("it is another program's database"));
    }
    migrate::check_version(version)
}

fn write_all(connection: &Connection, waiting: &Receiver<Box<dyn WriteJob>>, clock: &Clock, shared: &SharedState) {
    let statements = KeptStatements::new(connection);
    while let Ok(first) = waiting.recv() {
        let mut batch = vec![first];
        batch.extend(waiting.try_iter().take(BATCH - 1));
        let committed = write_batch(&statements, &mut batch, clock, shared);
        if committed.is_ok() {
            shared.count_commit(batch.len());
        } else if !connection.is_autocommit() {
            // A commit that failed, for want of room say, leaves the transaction open, and no other can begin.
            if let Err(error) = connection.execute_batch("ROLLBACK") {
                tracing::error!("a failed commit cannot be rolled back: {error}");
            }
        }
        for job in batch {
            job.settle(committed.clone());
        }
        if committed.is_ok() {
            shared.signal_change();
        }
    }
}

/// Commits what all of them change, but for those that are refused.
///
/// Refusals are rare, and a savepoint has SQLite copy every page that a change touches; so all are tried without, and
/// only when one is refused are they undone and done again with a savepoint each.
fn write_batch(
    statements: &KeptStatements<'_>,
    batch: &mut [Box<dyn WriteJob>],
    clock: &Clock,
    shared: &SharedState,
) -> Result<(), StoreError> {
    statements.run("BEGIN IMMEDIATE")?;
    let rules = shared.rules();
    let tx = || ChangeTx::new(DbTx(DbHandle::Sqlite(statements)), clock(), rules);
    let refused = batch.iter_mut().find_map(|job| job.run(&mut tx()).err());
    if let Some(refused) = refused {
        undo(statements, "ROLLBACK", refused)?;
        if batch.len() == 1 {
            return Ok(());
        }
        statements.run("BEGIN IMMEDIATE")?;
        for job in batch {
            statements.run("SAVEPOINT change")?;
            if let Err(refused) = job.run(&mut tx()) {
                undo(statements, "ROLLBACK TO change", refused)?;
            }
            statements.run("RELEASE change")?;
        }
    }
    statements.run("COMMIT")
}

/// Undoes a refused change, unless SQLite has given up the whole transaction because of it.
fn undo(statements: &KeptStatements<'_>, how: &str, refused: StoreError) -> Result<(), StoreError> {
    if statements.connection.is_autocommit() {
        return Err(refused);
    }
    statements.run(how)
}

fn read_all(path: &Path, options: StoreOptions, questions: &std::sync::Mutex<Receiver<QueryJob>>) {
    let next = || questions.lock().ok()?.recv().ok();
    while let Some(first) = next() {
        match open(path, options) {
            Ok(connection) => return answer_all(&KeptStatements::new(&connection), first, next),
            Err(error) => first(Err(error)),
        }
    }
}

fn answer_all(statements: &KeptStatements<'_>, first: QueryJob, mut next: impl FnMut() -> Option<QueryJob>) {
    let mut question = Some(first);
    while let Some(job) = question {
        answer(statements, job);
        question = next();
    }
}

/// Answers one question from one state of the database.
fn answer(statements: &KeptStatements<'_>, job: QueryJob) {
    match statements.run("BEGIN") {
        Ok(()) => job(Ok(&mut DbTx(DbHandle::Sqlite(statements)))),
        Err(error) => return job(Err(error)),
    }
    // A failure of the file itself has ended the transaction already.
    if !statements.connection.is_autocommit()
        && let Err(error) = statements.run("ROLLBACK")
    {
        tracing::error!("a read cannot be ended: {error}");
    }
}

/// Signals commits of other processes; it polls often while there are watchers, and seldom otherwise.
pub(crate) fn watch(path: &Path, shared: Weak<SharedState>) -> Result<(), StoreError> {
    const WATCHED: Duration = Duration::from_millis(20);
    const UNWATCHED: Duration = Duration::from_millis(250);
    let connection = open(path, StoreOptions::default())?;
    spawn("store-doorbell", move || {
        let version = || connection.query_row("PRAGMA data_version", [], |row| row.get::<_, i64>(0));
        let mut seen = version();
        while let Some(shared) = shared.upgrade() {
            let now = version();
            if now != seen {
                if let Err(error) = &now {
                    tracing::warn!("changes of other processes are not seen: {error}");
                }
                seen = now;
                shared.signal_change();
            }
            let pause = if shared.is_watched() { WATCHED } else { UNWATCHED };
            drop(shared);
            thread::sleep(pause);
        }
    })
}
