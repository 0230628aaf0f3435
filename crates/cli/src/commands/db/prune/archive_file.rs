//! Archive that is being written, one event a line: what is on the disk as a whole, and nothing else.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use maestro_store::EventRow;

use crate::host::files;

/// How many bytes are written at once.
const BUFFER: usize = 1024 * 1024;

/// A new file.
pub(super) struct ArchiveFile {
    path: PathBuf,
    file: File,
    /// How many bytes of it stay.
    kept: u64,
}

impl ArchiveFile {
    /// Creates the file, for its owner only.
    pub(super) fn create(path: &Path) -> io::Result<Self> {
        let directory = path.parent().unwrap_or(Path::new("/"));
        files::own_directory(directory)?;
        let file = OpenOptions::new().append(true).create_new(true).mode(0o600).open(path)?;
        let archive = Self { path: path.to_owned(), file, kept: 0 };
        // Its name is to survive a power cut, too.
        File::open(directory)?.sync_all()?;
        Ok(archive)
    }

    /// Appends events. They are on the disk when this returns; if that fails, the file is as it was before.
    pub(super) fn append(&mut self, events: &[EventRow]) -> io::Result<()> {
        let length = self.write(events).and_then(|()| self.file.sync_data()).and_then(|()| self.file.metadata());
        match length {
            Ok(length) => {
                self.kept = length.len();
                Ok(())
            }
            Err(error) => {
                self.cut();
                Err(error)
            }
        }
    }

    fn write(&mut self, events: &[EventRow]) -> io::Result<()> {
        let mut lines = Vec::with_capacity(BUFFER);
        for event in events {
            serde_json::to_writer(&mut lines, event)?;
            lines.push(b'\n');
            if lines.len() >= BUFFER {
                self.file.write_all(&lines)?;
                lines.clear();
            }
        }
        self.file.write_all(&lines)
    }

    /// How many bytes it has.
    pub(super) fn bytes(&self) -> u64 {
        self.kept
    }

    /// Whether there is anything in it.
    pub(super) fn is_empty(&self) -> bool {
        self.kept == 0
    }

    /// Removes what is not to stay, and all of the file where that is nothing.
    fn cut(&mut self) {
        let cut = self.file.set_len(self.kept).and_then(|()| self.file.sync_data());
        if let Err(error) = cut {
            tracing::warn!(path = %self.path.display(), "the archive ends with half a line: {error}");
        }
    }
}

impl Drop for ArchiveFile {
    fn drop(&mut self) {
        if self.is_empty()
            && let Err(error) = fs::remove_file(&self.path)
        {
            tracing::warn!(path = %self.path.display(), "an empty archive is left behind: {error}");
        }
    }
}
