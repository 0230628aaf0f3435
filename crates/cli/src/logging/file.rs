//! File that the log is written to, with a bounded size.

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

/// How large a file may become until the next one is started.
const MOST_BYTES: u64 = 4 * 1024 * 1024;
/// How many older files are kept.
const OLDER: u32 = 2;

/// A log file that several processes append to. It is opened for each line, so that each finds the newest one.
pub(super) struct LogFile {
    path: PathBuf,
    most: u64,
}

impl LogFile {
    pub(super) fn new(path: PathBuf) -> Self {
        Self { path, most: MOST_BYTES }
    }

    /// Appends a line. A log that cannot be written must not stop what it tells of.
    pub(super) fn write(&self, line: &str) {
        let _ = self.try_write(line);
    }

    fn try_write(&self, line: &str) -> io::Result<()> {
        let mut file = open(&self.path)?;
        if file.metadata()?.len() + line.len() as u64 > self.most {
            self.rotate()?;
            file = open(&self.path)?;
        }
        // One call for a line: those of several processes are not mixed.
        file.write_all(line.as_bytes())
    }

    /// Renames each file to the next older one; the oldest is replaced.
    fn rotate(&self) -> io::Result<()> {
        for number in (1..OLDER).rev() {
            match fs::rename(self.older(number), self.older(number + 1)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
        fs::rename(&self.path, self.older(1))
    }

    fn older(&self, number: u32) -> PathBuf {
        let mut name = OsString::from(&self.path);
        name.push(format!(".{number}"));
        PathBuf::from(name)
    }
}

/// Opens the file for its owner only. The directory is not made: where there is no database there is nothing to log.
fn open(path: &Path) -> io::Result<File> {
    OpenOptions::new().append(true).create(true).mode(0o600).open(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_log_is_bounded_and_keeps_the_newest_lines() {
        let directory = tempfile::tempdir().unwrap();
        let log = LogFile { path: directory.path().join("maestro.log"), most: 100 };
        for number in 0..1000 {
            log.write(&format!("line {number}\n"));
        }
        let sizes: Vec<u64> =
            fs::read_dir(directory.path()).unwrap().map(|file| file.unwrap().metadata().unwrap().len()).collect();
        assert!(sizes.len() == 3 && sizes.iter().all(|size| *size <= 100), "{sizes:?}");
        assert!(fs::read_to_string(&log.path).unwrap().ends_with("line 999\n"));
    }
}
