//! Which server runs here? It writes down where it is; others look there and make sure.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::host::files;

/// What a server writes down about itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ServerFile {
    /// Where it answers.
    pub(crate) url: String,
    /// Its process.
    pub(crate) pid: u32,
    /// What `/health` must say for it to be this server.
    pub(crate) instance: String,
    /// What it stores to.
    pub(crate) database: String,
    /// Which Maestro it is.
    pub(crate) version: String,
    /// Whether it asks for the token that is kept beside this file.
    #[serde(default)]
    pub(crate) kept_token: bool,
}

fn path(home: &Path) -> PathBuf {
    home.join("run/server.json")
}

impl ServerFile {
    /// What a server wrote down last, if it can be read.
    pub(crate) fn read(home: &Path) -> Option<Self> {
        let contents = maestro_skills::read_bounded(&path(home), 64 * 1024).ok()?;
        serde_json::from_slice(&contents.bytes).ok()
    }

    /// Writes it down, for this user only.
    pub(crate) fn write(&self, home: &Path) -> std::io::Result<()> {
        let path = path(home);
        files::own_directory(path.parent().unwrap_or(&path))?;
        files::keep_private(&path, serde_json::to_string_pretty(self)?.as_bytes())
    }

    /// Takes it back, unless another server has written meanwhile.
    pub(crate) fn remove(&self, home: &Path) {
        if Self::read(home).as_ref() == Some(self) {
            // A file that stays is found out by asking the server it names.
            let _ = std::fs::remove_file(path(home));
        }
    }
}
