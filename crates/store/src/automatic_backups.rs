//! Automatic backups of a SQLite file: one a day, the newest few kept.

use std::fs;
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use maestro_core::utc_time::UtcTime;

use crate::error::StoreError;
use crate::maintenance::backup_file;
use crate::private_copy::remove_copy;

/// Where automatic backups go, and how many stay.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AutomaticBackups {
    database: PathBuf,
    directory: PathBuf,
    /// What the names begin with; the day and `.db` follow.
    prefix: String,
    keep: usize,
}

impl AutomaticBackups {
    /// Backups of this file in a directory beside it; none are made if none are to be kept.
    pub fn beside(database: &Path, keep: usize) -> Self {
        // `shop.sqlite` may lie beside `shop.db`.
        let is_usual = database.extension().is_some_and(|extension| extension == "db");
        let name = if is_usual { database.file_stem() } else { database.file_name() };
        Self {
            database: database.to_owned(),
            directory: database.with_file_name("backups"),
            prefix: format!("{}-auto-", name.unwrap_or_default().to_string_lossy()),
            keep,
        }
    }

    /// Makes the backup of the day of `now`, unless there is one, and removes the oldest ones beyond the limit.
    ///
    /// Nothing is removed unless the new one is complete. Those that are dated later than `now` do not count.
    pub fn make_due(&self, now: i64) -> Result<Option<PathBuf>, StoreError> {
        let today = self.directory.join(self.file_name(now));
        if self.keep == 0 || today.exists() {
            return Ok(None);
        }
        let failed = |cause: String| StoreError::File { path: today.clone(), cause };
        let refused = |error: io::Error| failed(error.to_string());
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.directory).map_err(refused)?;
        // One server at a time has the database, so this is what an earlier one left.
        let partial = self.directory.join(format!(".{}partial", self.prefix));
        remove_copy(&partial).map_err(refused)?;
        backup_file(&self.database, &partial).map_err(|error| failed(error.to_string()))?;
        fs::rename(&partial, &today).map_err(refused)?;
        let backups = self.list().map_err(refused)?;
        for old in backups.iter().rev().filter(|backup| **backup <= today).skip(self.keep) {
            fs::remove_file(old).map_err(refused)?;
        }
        Ok(Some(today))
    }

    /// The newest one that is not dated later than `now`, else the newest; nothing as well if the directory cannot be read.
    pub fn newest(&self, now: i64) -> Option<PathBuf> {
        let (today, mut backups) = (self.directory.join(self.file_name(now)), self.list().ok()?);
        let past = backups.iter().rposition(|backup| *backup <= today);
        past.or(backups.len().checked_sub(1)).map(|place| backups.swap_remove(place))
    }

    /// The name of a day's backup; the names sort by time.
    fn file_name(&self, now: i64) -> String {
        let UtcTime { year, month, day, .. } = UtcTime::of(now);
        format!("{}{year:04}-{month:02}-{day:02}.db", self.prefix)
    }

    /// All of them, oldest first. What is named otherwise is the user's.
    fn list(&self) -> io::Result<Vec<PathBuf>> {
        let mut backups = Vec::new();
        for entry in fs::read_dir(&self.directory)? {
            let name = entry?.file_name();
            let date = name.to_str().and_then(|name| name.strip_prefix(&self.prefix)?.strip_suffix(".db"));
            if date.is_some_and(is_date) {
                backups.push(self.directory.join(name));
            }
        }
        backups.sort();
        Ok(backups)
    }
}

/// Whether a text is a date such as `2026-02-08`.
fn is_date(text: &str) -> bool {
    let shape = |(place, byte): (usize, u8)| if matches!(place, 4 | 7) { byte == b'-' } else { byte.is_ascii_digit() };
    text.len() == 10
        && text.bytes().enumerate().all(shape)
        && ("01"..="12").contains(&&text[5..7])
        && ("01"..="31").contains(&&text[8..])
}
