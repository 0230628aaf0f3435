//! File in which a running server writes its address and socket, and how others find it.

use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::host::files;

/// What a server writes about itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ServerFile {
    /// Its address.
    pub(crate) url: String,
    /// Its socket for this user's commands; servers of earlier versions have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) socket: Option<PathBuf>,
    /// Its process ID.
    pub(crate) pid: u32,
    /// What `/health` must return for it to be this server.
    pub(crate) instance: String,
    /// Its database.
    pub(crate) database: String,
    /// Its version.
    pub(crate) version: String,
    /// Whether it is the server of a single command.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) with_caller: bool,
}

fn path(home: &Path) -> PathBuf {
    home.join("run/server.json")
}

/// The copy for programs in a sandbox, which see this directory of our data and not the other.
fn visible_path(home: &Path) -> PathBuf {
    home.join("address/server.json")
}

/// Where the socket for the user's own commands is.
pub(crate) fn socket_path(home: &Path) -> PathBuf {
    home.join("run/maestro.sock")
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

    /// Removes the file and the socket, unless another server has written it meanwhile.
    pub(crate) fn remove(&self, home: &Path) {
        if Self::read(home).as_ref() == Some(self) {
            // What is left behind is detected by asking the server it names.
            let _ = std::fs::remove_file(path(home));
            let _ = std::fs::remove_file(visible_path(home));
            let _ = self.socket.as_ref().map(std::fs::remove_file);
        }
    }

    /// Whether an address is this server's, by whichever name of this machine.
    pub(crate) fn is_at(&self, url: &str) -> bool {
        match (local_port(&self.url), local_port(url)) {
            (Some(own), Some(port)) => own == port,
            _ => self.url.trim_end_matches('/') == url.trim_end_matches('/'),
        }
    }
}

/// The port of an address of this machine itself, without a path.
fn local_port(url: &str) -> Option<u16> {
    let authority = url.strip_prefix("http://")?.trim_end_matches('/');
    let (host, port) = authority.rsplit_once(':')?;
    ["localhost", "127.0.0.1", "[::1]"].contains(&host).then(|| port.parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_known_by_every_name_of_this_machine() {
        let file = ServerFile {
            url: "http://127.0.0.1:3000".to_owned(),
            socket: None,
            pid: 1,
            instance: String::new(),
            database: String::new(),
            version: String::new(),
            with_caller: false,
        };
        for url in ["http://127.0.0.1:3000", "http://localhost:3000/", "http://[::1]:3000"] {
            assert!(file.is_at(url), "{url}");
        }
        for url in
            ["http://127.0.0.1:3001", "http://db.example:3000", "https://localhost:3000", "http://localhost:3000/x"]
        {
            assert!(!file.is_at(url), "{url}");
        }
    }
}
