//! Lock on a SQLite file: one server at a time, and whether the last one ended as it should.
//!
//! The lock is a file beside the database, found by the database's real path, so that two homes or two links which lead
//! to the same database meet at the same lock. Commands without a server take no lock: SQLite orders their changes.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use crate::error::StoreError;
use crate::shared_state::StoreOptions;
use crate::sqlite;

/// How many findings of a damaged file are shown.
const MAX_FINDINGS: usize = 3;
/// How much of a lock file is read.
const MAX_HOLDER: u64 = 256;

/// A server's exclusive right to a SQLite file, held while this value lives.
#[derive(Debug)]
pub struct DatabaseLock {
    file: File,
}

/// How the last holder of a lock ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PreviousEnd {
    /// It released the lock, or there was none.
    Clean,
    /// It was killed, or the machine stopped.
    Unclean,
}

impl DatabaseLock {
    /// Takes the lock of a database; `holder` says who has it to the next one.
    pub fn take(database: &Path, holder: &str) -> Result<(Self, PreviousEnd), StoreError> {
        let path = lock_path(database);
        let failed = |error: &io::Error| StoreError::File { path: path.clone(), cause: error.to_string() };
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false).mode(0o600);
        let mut file = options.open(&path).map_err(|error| failed(&error))?;
        let mut previous = String::new();
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                // Only for the message: a holder that cannot be read is a holder all the same.
                let read = (&file).take(MAX_HOLDER).read_to_string(&mut previous);
                let holder = if read.is_ok() { previous.trim().to_owned() } else { String::new() };
                return Err(StoreError::InUse { place: database.display().to_string(), holder });
            }
            Err(TryLockError::Error(error)) => return Err(failed(&error)),
        }
        (&file).take(MAX_HOLDER).read_to_string(&mut previous).map_err(|error| failed(&error))?;
        let mut mark = || -> io::Result<()> {
            file.set_len(0)?;
            file.rewind()?;
            file.write_all(holder.as_bytes())?;
            file.sync_all()
        };
        mark().map_err(|error| failed(&error))?;
        let end = if previous.is_empty() { PreviousEnd::Clean } else { PreviousEnd::Unclean };
        Ok((Self { file }, end))
    }

    /// Gives the lock back after everything is stored; the next holder need not check the file.
    pub fn release(self) -> io::Result<()> {
        self.file.set_len(0)?;
        self.file.sync_all()
    }
}

/// The lock file: the database's real path with `.lock` appended.
fn lock_path(database: &Path) -> PathBuf {
    let real = database.canonicalize().unwrap_or_else(|_| database.to_owned());
    let mut name = real.into_os_string();
    name.push(".lock");
    PathBuf::from(name)
}

/// Checks the pages of a SQLite file, which takes about a second for a gigabyte.
pub fn check_pages(database: &Path) -> Result<(), StoreError> {
    let damaged = |cause: String| StoreError::Damaged { place: database.display().to_string(), cause };
    let checked = || -> Result<Vec<String>, StoreError> {
        let connection = sqlite::open(database, StoreOptions::default())?;
        let mut statement = connection.prepare("PRAGMA quick_check")?;
        let findings = statement.query_map([], |row| row.get::<_, String>(0))?;
        Ok(findings.take(MAX_FINDINGS).collect::<Result<_, _>>()?)
    };
    match checked() {
        Ok(findings) if findings == ["ok"] => Ok(()),
        Ok(findings) => Err(damaged(findings.join("; "))),
        Err(StoreError::Corrupt(cause) | StoreError::Open { cause, .. }) => Err(damaged(cause)),
        Err(other) => Err(other),
    }
}
