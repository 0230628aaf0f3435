//! Copy of a SQLite database in a file that only its owner can read, complete or absent.

use std::fs::{self, OpenOptions};
use std::io;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;

use rusqlite::Connection;

use crate::error::StoreError;

/// Writes the database, as it is at one moment, to a new file.
///
/// A crash may leave half of it; who must not take that for a copy writes to another name first.
pub(crate) fn write_copy(connection: &Connection, to: &Path) -> Result<(), StoreError> {
    let failed = |error: io::Error| {
        let cause = match error.kind() {
            io::ErrorKind::AlreadyExists => "it exists already".to_owned(),
            _ => error.to_string(),
        };
        StoreError::File { path: to.to_owned(), cause }
    };
    // Created first: SQLite would let others read it, and takes an empty file.
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(to).map_err(failed)?;
    let copied = connection.execute("VACUUM INTO ?1", [to.to_string_lossy()]).map_err(StoreError::from);
    // SQLite leaves it to the system when the copy reaches the disk.
    let synced = copied.and_then(|_| fs::File::open(to).and_then(|file| file.sync_all()).map_err(failed));
    synced.inspect_err(|_| {
        if let Err(error) = remove_copy(to) {
            tracing::warn!(path = %to.display(), "half a copy is left behind: {error}");
        }
    })
}

/// Removes a copy that is not whole, with what SQLite may have left beside it.
pub(crate) fn remove_copy(path: &Path) -> io::Result<()> {
    let mut journal = path.as_os_str().to_owned();
    journal.push("-journal");
    remove_if_there(Path::new(&journal))?;
    remove_if_there(path)
}

/// Removes what a process that was killed may have left.
pub(crate) fn remove_if_there(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}
