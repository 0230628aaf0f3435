//! Which texts does a session know from hooks already? A small file for each session.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use maestro_skills::read_bounded;
use sha2::{Digest as _, Sha256};

use crate::files;
use crate::world::World;

/// How many sessions are remembered; beyond that, those that were given something longest ago are forgotten.
const MOST_SESSIONS: usize = 500;
/// How much is remembered of one, in bytes: about a thousand texts.
const MAX_BYTES: u64 = 32 * 1024;

/// The texts that a session was given.
pub(super) struct Given {
    path: PathBuf,
    /// The hash of each, a line each.
    lines: String,
}

impl Given {
    pub(super) fn of(agent: &str, session: &str, world: &World) -> Self {
        let path = directory(world).join(format!("{agent}-{session}"));
        let known = read_bounded(&path, MAX_BYTES).map(|contents| contents.bytes).unwrap_or_default();
        Self { path, lines: String::from_utf8(known).unwrap_or_default() }
    }

    /// Whether the session was given a text before.
    pub(super) fn knows(&self, text: &str) -> bool {
        let hash = hash(text);
        self.lines.lines().any(|known| known == hash)
    }

    /// One text more.
    pub(super) fn add(&mut self, text: &str) {
        self.lines.push_str(&hash(text));
        self.lines.push('\n');
    }

    /// Remembers them. What cannot be remembered is given once more, which does no harm.
    pub(super) fn keep(&self) {
        let _ = files::keep_private(&self.path, self.lines.as_bytes());
    }

    /// Forgets everything, since the model did.
    pub(super) fn forget(&mut self) {
        self.lines.clear();
        // What is not there need not be forgotten.
        let _ = fs::remove_file(&self.path);
    }
}

/// Forgets the oldest sessions. Whatever cannot be removed costs space and nothing else.
pub(super) fn prune(world: &World) {
    let _ = forget_oldest(&directory(world));
}

fn forget_oldest(directory: &Path) -> io::Result<()> {
    let mut sessions: Vec<(SystemTime, PathBuf)> = fs::read_dir(directory)?
        .filter_map(|entry| {
            let entry = entry.ok()?;
            Some((entry.metadata().ok()?.modified().ok()?, entry.path()))
        })
        .collect();
    sessions.sort_unstable();
    let superfluous = sessions.len().saturating_sub(MOST_SESSIONS);
    sessions.iter().take(superfluous).try_for_each(|(_, path)| fs::remove_file(path))
}

fn directory(world: &World) -> PathBuf {
    world.maestro_home.join("hooks/given")
}

fn hash(text: &str) -> String {
    let digest = Sha256::digest(text.as_bytes());
    // Half of it is enough to tell texts apart.
    digest.iter().take(16).fold(String::new(), |hash, byte| hash + &format!("{byte:02x}"))
}
