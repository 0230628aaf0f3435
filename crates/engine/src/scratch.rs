//! Private directories for temporary files, which do not outlive their owner for long.

use std::fs;
use std::io;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::identity::ProcessIdentity;

/// What the name of each begins with.
const PREFIX: &str = "maestro-";
/// The file in each that names its owner.
const OWNER: &str = ".owner";

/// A directory for temporary files, which vanishes with this value.
#[derive(Debug)]
pub(crate) struct ScratchDir(TempDir);

impl ScratchDir {
    /// Creates one, and removes those whose owner is gone.
    pub(crate) fn create(purpose: &str, base: Option<&Path>) -> io::Result<Self> {
        let base = base.map_or_else(std::env::temp_dir, Path::to_owned);
        let own = ProcessIdentity::of_this_process();
        sweep(&base, &own);
        let private = fs::Permissions::from_mode(0o700);
        let directory =
            tempfile::Builder::new().prefix(&format!("{PREFIX}{purpose}-")).permissions(private).tempdir_in(&base)?;
        fs::write(directory.path().join(OWNER), own.as_str())?;
        Ok(Self(directory))
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        self.0.path()
    }

    /// Removes it, and says why where it cannot be.
    pub(crate) fn close(self) -> io::Result<()> {
        self.0.close()
    }
}

/// Removes what crashed processes of this user left behind.
fn sweep(base: &Path, own: &ProcessIdentity) {
    let Ok(entries) = base.read_dir() else { return };
    let ours = |entry: &fs::DirEntry| entry.file_name().to_string_lossy().starts_with(PREFIX);
    for entry in entries.flatten().filter(ours) {
        if is_abandoned(&entry.path(), own) {
            // Another process may be about to do the same.
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

fn is_abandoned(directory: &PathBuf, own: &ProcessIdentity) -> bool {
    let user = rustix::process::getuid().as_raw();
    let is_ours = fs::symlink_metadata(directory).is_ok_and(|found| found.is_dir() && found.uid() == user);
    // One that is empty is about to be written.
    let is_gone = |owner: String| !owner.is_empty() && own.is_gone(&owner);
    is_ours && fs::read_to_string(directory.join(OWNER)).is_ok_and(is_gone)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_private_and_those_of_dead_processes_are_removed() {
        let base = tempfile::tempdir().unwrap();
        let own = ProcessIdentity::of_this_process();
        let abandoned = base.path().join("maestro-session-old");
        let unknown = base.path().join("maestro-other");
        for directory in [&abandoned, &unknown] {
            fs::create_dir(directory).unwrap();
        }
        let mut parts: Vec<&str> = own.as_str().split(' ').collect();
        parts[2] = "0";
        fs::write(abandoned.join(OWNER), parts.join(" ")).unwrap();
        let fresh = base.path().join("maestro-session-new");
        fs::create_dir(&fresh).unwrap();
        fs::write(fresh.join(OWNER), "").unwrap();
        let scratch = ScratchDir::create("session", Some(base.path())).unwrap();
        let again = ScratchDir::create("session", Some(base.path())).unwrap();
        assert!(scratch.path().is_dir() && !abandoned.exists() && unknown.exists() && fresh.exists());
        assert_eq!(scratch.path().metadata().unwrap().mode() & 0o777, 0o700);
        drop(again);
        assert!(scratch.path().is_dir());
    }
}
