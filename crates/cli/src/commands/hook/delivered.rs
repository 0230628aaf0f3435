//! Texts that hooks have given a session, in a small file for each session.

use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use sha2::{Digest as _, Sha256};

use crate::host::files;
use crate::host::world::World;

/// Number of sessions that are stored; beyond that, the oldest are removed.
const MOST_SESSIONS: usize = 500;
/// Maximum size of a session's file in bytes: about a thousand texts.
const MAX_BYTES: u64 = 32 * 1024;

/// The texts that a session has. While this lives, no other hook adds any.
pub(super) struct DeliveredTexts {
    /// The hash of each, one per line.
    lines: String,
    /// The new ones.
    fresh: String,
    /// Their locked file; `None` if it cannot be created.
    file: Option<File>,
}

impl DeliveredTexts {
    /// Waits for other hooks of the session. The caller has its own time limit.
    pub(super) fn of(agent: &str, session: &str, world: &World) -> Self {
        let path = file_path(agent, session, world);
        let opened = files::own_directory(&directory(world)).and_then(|()| open_locked(&path, MissingFile::Create));
        let (file, lines) = opened.map_or_else(|_| (None, String::new()), |(file, lines)| (Some(file), lines));
        Self { lines, fresh: String::new(), file }
    }

    /// Whether the session has a text already.
    pub(super) fn contains(&self, text: &str) -> bool {
        let hash = hash(text);
        self.lines.lines().chain(self.fresh.lines()).any(|known| known == hash)
    }

    /// Adds a text.
    pub(super) fn add(&mut self, text: &str) {
        self.fresh.push_str(&hash(text));
        self.fresh.push('\n');
    }

    /// Stores the new texts. If that fails, the session gets them once more, which does no harm.
    pub(super) fn save(self) {
        let _ = self.file.map(|mut file| file.write_all(self.fresh.as_bytes()));
    }
}

/// Removes the texts of a session whose model lost its context. A missing file is fine.
pub(super) fn forget(agent: &str, session: &str, world: &World) {
    let _ = open_locked(&file_path(agent, session, world), MissingFile::Fail).and_then(|(file, _)| file.set_len(0));
}

/// What becomes of a file that is not there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MissingFile {
    Create,
    Fail,
}

/// A session's file and its text, as soon as no other hook holds it.
fn open_locked(path: &Path, absent: MissingFile) -> io::Result<(File, String)> {
    let mut options = fs::OpenOptions::new();
    let file = options.read(true).append(true).create(absent == MissingFile::Create).mode(0o600).open(path)?;
    flock(&file, FlockOperation::LockExclusive)?;
    let mut lines = Vec::new();
    (&file).take(MAX_BYTES).read_to_end(&mut lines)?;
    Ok((file, String::from_utf8(lines).unwrap_or_default()))
}

/// Removes the oldest sessions. A file that stays costs only space.
pub(super) fn prune(world: &World) {
    let _ = files::remove_oldest(&directory(world), MOST_SESSIONS);
}

fn file_path(agent: &str, session: &str, world: &World) -> PathBuf {
    directory(world).join(format!("{agent}-{session}"))
}

fn directory(world: &World) -> PathBuf {
    world.maestro_home.join("hooks/given")
}

fn hash(text: &str) -> String {
    let digest = Sha256::digest(text.as_bytes());
    // Half of the hash is enough to tell texts apart.
    digest.iter().take(16).fold(String::new(), |hash, byte| hash + &format!("{byte:02x}"))
}
