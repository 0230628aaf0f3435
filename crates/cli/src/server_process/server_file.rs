//! File in which a running server writes its address, and how others find it.

use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::host::files;

/// What a server writes about itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ServerFile {
    /// Its address.
    pub(crate) url: String,
    /// Its process ID.
    pub(crate) pid: u32,
    /// What `/health` must return for it to be this server.
    pub(crate) instance: String,
    /// Its database.
    pub(crate) database: String,
    /// Its version.
    pub(crate) version: String,
    /// Whether it requires the token that is stored beside this file.
    #[serde(default)]
    pub(crate) kept_token: bool,
}

fn path(home: &Path) -> PathBuf {
    home.join("run/server.json")
}

/// The copy for programs in a sandbox, which see this directory of our data and not the other.
fn visible_path(home: &Path) -> PathBuf {
    home.join("address/server.json")
}

impl ServerFile {
    /// The last written server file, if it can be read.
    pub(crate) fn read(home: &Path) -> Option<Self> {
        let path = Some(path(home)).filter(|path| path.exists()).unwrap_or_else(|| visible_path(home));
        let contents = match maestro_skills::read_bounded(&path, 64 * 1024) {
            Ok(contents) => serde_json::from_slice(&contents.bytes).map_err(io::Error::from),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
            Err(error) => Err(error),
        };
        contents.inspect_err(|error| tracing::warn!(path = %path.display(), "it cannot be read: {error}")).ok()
    }

    /// Writes the file, for this user only.
    pub(crate) fn write(&self, home: &Path) -> io::Result<()> {
        for path in [visible_path(home), path(home)] {
            files::own_directory(path.parent().unwrap_or(&path))?;
            files::write_private(&path, serde_json::to_string_pretty(self)?.as_bytes())?;
        }
        Ok(())
    }

    /// Removes the file, unless another server has written it meanwhile.
    pub(crate) fn remove(&self, home: &Path) {
        if Self::read(home).as_ref() == Some(self) {
            // A stale file is detected by asking the server it names.
            let _ = std::fs::remove_file(path(home));
            let _ = std::fs::remove_file(visible_path(home));
        }
    }
}
