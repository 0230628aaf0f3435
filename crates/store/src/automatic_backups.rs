//! Automatic backups of a SQLite file: one a day, the newest few kept.

use std::fs;
use std::io;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use maestro_core::utc_time::UtcTime;

use crate::error::StoreError;
use crate::maintenance::backup_file;
use crate::private_copy::remove_if_there;

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
        let stem = database.file_stem().unwrap_or_default().to_string_lossy();
        Self {
            database: database.to_owned(),
            directory: database.with_file_name("backups"),
            prefix: format!("{stem}-auto-"),
            keep,
        }
    }

    /// Makes the backup of the day of `now`, unless there is one, and removes the oldest ones beyond the limit.
    ///
    /// Nothing is removed unless the new one is complete.
    pub fn make_due(&self, now: i64) -> Result<Option<PathBuf>, StoreError> {
        let today = self.directory.join(self.file_name(now));
        if self.keep == 0 || today.exists() {
            return Ok(None);
        }
        let failed = |error: io::Error| StoreError::File { path: today.clone(), cause: error.to_string() };
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.directory).map_err(failed)?;
        // One server at a time has the database, so this is what an earlier one left.
        let partial = self.directory.join(format!(".{}partial", self.prefix));
        remove_if_there(&partial).map_err(failed)?;
        backup_file(&self.database, &partial)?;
        fs::rename(&partial, &today).map_err(failed)?;
        let backups = self.list().map_err(failed)?;
        for old in backups.iter().rev().skip(self.keep) {
            fs::remove_file(old).map_err(failed)?;
        }
        Ok(Some(today))
    }

    /// The newest one; nothing as well if the directory cannot be read.
    pub fn newest(&self) -> Option<PathBuf> {
        self.list().ok()?.pop()
    }

    /// The name of a day's backup; the names sort by time.
    fn file_name(&self, now: i64) -> String {
        let UtcTime { year, month, day, .. } = UtcTime::of(now);
        format!("{}{year:04}-{month:02}-{day:02}.db", self.prefix)
    }

    /// All of them, oldest first.
    fn list(&self) -> io::Result<Vec<PathBuf>> {
        let mut backups = Vec::new();
        for entry in fs::read_dir(&self.directory)? {
            let name = entry?.file_name();
            let ours = name
                .to_str()
                .is_some_and(|name| name.strip_suffix(".db").is_some_and(|day| day.starts_with(&self.prefix)));
            if ours {
                backups.push(self.directory.join(name));
            }
        }
        backups.sort();
        Ok(backups)
    }
}
