//! Stamps that show whether a file is unchanged.
//!
//! The kernel moves a file's change time whenever its contents, its name's inode or its rights change, and no program
//! can set it back. A change within one tick of the clock can leave it as it was, so what changed a moment ago is
//! not trusted.

use std::time::{Duration, SystemTime};

use rustix::fs::Stat;

use crate::checksum;

/// How old a change must be before a stamp can be relied on: the coarsest clock of a file system in use.
const TICK: Duration = Duration::from_secs(2);

/// What changes when a file or directory does.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FileStamp {
    changed: i64,
    /// Device, inode, size and time of modification in one.
    identity: u64,
    size: u64,
}

impl FileStamp {
    /// How many bytes a stamp takes in an index.
    pub(crate) const BYTES: usize = 16;

    pub(crate) fn size(&self) -> u64 {
        self.size
    }

    /// Whether another change would show, if the file was looked at no earlier than `then`.
    pub(crate) fn is_settled(&self, then: StampCutoff) -> bool {
        self.changed < then.0
    }

    pub(crate) fn to_bytes(self) -> [u8; Self::BYTES] {
        (u128::from(self.changed.cast_unsigned()) << 64 | u128::from(self.identity)).to_le_bytes()
    }
}

// Every field has another type on another system; all of them fit into an `i128`.
impl From<Stat> for FileStamp {
    fn from(stat: Stat) -> Self {
        let unsigned = |number: i128| u64::try_from(number).unwrap_or(u64::MAX);
        let time = |seconds: i128, rest: i128| i64::try_from(seconds * 1_000_000_000 + rest).unwrap_or(i64::MAX);
        let size = unsigned(i128::from(stat.st_size));
        let modified = time(i128::from(stat.st_mtime), i128::from(stat.st_mtime_nsec));
        let changed = time(i128::from(stat.st_ctime), i128::from(stat.st_ctime_nsec));
        let place = [unsigned(i128::from(stat.st_dev)), unsigned(i128::from(stat.st_ino))];
        Self { changed, identity: checksum::of_words(place.into_iter().chain([size, modified.cast_unsigned()])), size }
    }
}

/// The stamps of a directory and of the files that were read in it, taken before they were.
#[derive(Debug)]
pub(crate) struct DirectoryStamps {
    pub(crate) directory: FileStamp,
    pub(crate) files: Vec<(String, FileStamp)>,
}

/// A time that changes are old enough before.
#[derive(Debug, Clone, Copy)]
pub(crate) struct StampCutoff(i64);

impl StampCutoff {
    /// For files that are looked at from `now` on.
    pub(crate) fn before(now: SystemTime) -> Self {
        let since_epoch = now.checked_sub(TICK).and_then(|then| then.duration_since(SystemTime::UNIX_EPOCH).ok());
        Self(since_epoch.and_then(|since| i64::try_from(since.as_nanos()).ok()).unwrap_or(i64::MIN))
    }
}
