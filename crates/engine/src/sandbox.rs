//! Sandbox of a program: where it may write.
//!
//! It reads whatever its user may read. It writes to its workspace, to temporary files and to what it was given
//! besides; sealed paths stay out of reach even below one of those. The kernel enforces that where it can (Landlock),
//! for the program and everything it starts.

use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::git::GitDirs;

/// How many entries of a directory are listed to leave one of them out.
const MAX_ENTRIES: usize = 10_000;

/// Devices a program may write to: they store nothing.
const DEVICES: [&str; 8] =
    ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty", "/dev/ptmx", "/dev/pts"];
/// Where temporary files go.
const TEMPORARY: [&str; 3] = ["/tmp", "/var/tmp", "/dev/shm"];

/// Where a program may write.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct WritePolicy {
    /// Files and directories with their contents. Paths that do not exist when the program starts are left out.
    pub writable: Vec<PathBuf>,
    /// Sealed paths.
    pub sealed: Vec<PathBuf>,
}

/// Whether the sandbox restricts a program's writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SandboxStatus {
    /// It does.
    Applied,
    /// The kernel is too old to enforce all restrictions.
    Partial,
    /// The kernel has no support.
    Unavailable,
}

/// Why a program could not be sandboxed although the kernel supports it.
#[derive(Debug, thiserror::Error)]
#[error("cannot restrict the program's writes: {0}")]
pub(crate) struct SandboxError(String);

impl WritePolicy {
    /// Paths for every program: temporary files, and the parts of its repository that it needs to commit.
    pub fn default_policy(workspace: &Path, temporary: Option<&Path>) -> Self {
        let mut writable: Vec<PathBuf> = DEVICES.iter().chain(&TEMPORARY).map(PathBuf::from).collect();
        writable.push(workspace.to_owned());
        writable.extend(temporary.map(Path::to_owned));
        let mut sealed = Vec::new();
        if let Some(shared) = GitDirs::of(workspace).and_then(|git| git.shared_outside(workspace)) {
            sealed.extend([shared.join("hooks"), shared.join("config")]);
            writable.push(shared);
        }
        Self { writable, sealed }
    }

    /// Also allows this path.
    #[must_use]
    pub fn allow(mut self, paths: impl IntoIterator<Item = PathBuf>) -> Self {
        self.writable.extend(paths);
        self
    }

    /// Also allows the whole repository of the workspace.
    pub(crate) fn with_repository(mut self, workspace: &Path) -> Self {
        if let Some(git) = GitDirs::of(workspace) {
            self.sealed.retain(|path| !path.starts_with(&git.shared));
            self.writable.push(git.shared);
        }
        self
    }

    /// Also seals this path.
    #[must_use]
    pub fn seal(mut self, path: PathBuf) -> Self {
        self.sealed.push(path);
        self
    }

    /// The paths to grant: none of them contains a sealed one.
    fn grants(&self) -> io::Result<Vec<PathBuf>> {
        let sealed: Vec<PathBuf> = self.sealed.iter().map(|path| resolve(path)).collect();
        let mut grants = Vec::new();
        for path in self.writable.iter().filter_map(|path| path.canonicalize().ok()) {
            grant_around(path, &sealed, &mut grants)?;
        }
        Ok(grants)
    }

    /// Restricts this process and everything it starts, for good.
    #[cfg(target_os = "linux")]
    pub(crate) fn apply(&self) -> Result<SandboxStatus, SandboxError> {
        use landlock::{ABI, AccessFs, Ruleset, RulesetAttr, RulesetCreatedAttr, RulesetStatus};
        // Version 3 covers everything that changes a file; later ones cover other things.
        let writing = AccessFs::from_write(ABI::V3);
        let grants = self.grants().map_err(|error| SandboxError(error.to_string()))?;
        let restrict = || {
            let rules = landlock::path_beneath_rules(&grants, writing);
            Ruleset::default().handle_access(writing)?.create()?.add_rules(rules)?.restrict_self()
        };
        let status = restrict().map_err(|error: landlock::RulesetError| SandboxError(error.to_string()))?;
        Ok(match status.ruleset {
            RulesetStatus::FullyEnforced => SandboxStatus::Applied,
            RulesetStatus::PartiallyEnforced => SandboxStatus::Partial,
            RulesetStatus::NotEnforced => SandboxStatus::Unavailable,
        })
    }

    /// Not supported on this platform.
    #[cfg(not(target_os = "linux"))]
    pub(crate) fn apply(&self) -> Result<SandboxStatus, SandboxError> {
        self.grants().map_err(|error| SandboxError(error.to_string()))?;
        Ok(SandboxStatus::Unavailable)
    }
}

/// Whether the kernel supports sandboxing at all.
#[cfg(target_os = "linux")]
pub(crate) fn is_supported() -> bool {
    use landlock::{ABI, AccessFs, CompatLevel, Compatible as _, Ruleset, RulesetAttr as _};
    let required = Ruleset::default().set_compatibility(CompatLevel::HardRequirement);
    required.handle_access(AccessFs::from_write(ABI::V1)).and_then(Ruleset::create).is_ok()
}

/// Not supported on this platform.
#[cfg(not(target_os = "linux"))]
pub(crate) fn is_supported() -> bool {
    false
}

/// The real path; a missing file is located by its directory.
fn resolve(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| match (path.parent(), path.file_name()) {
        (Some(parent), Some(name)) => resolve(parent).join(name),
        _ => path.to_owned(),
    })
}

/// Grants a directory, or its entries where one of them is sealed. A grant always includes everything below it, so a
/// directory that contains a sealed path cannot be granted itself: no new entry can be created right there.
fn grant_around(path: PathBuf, sealed: &[PathBuf], grants: &mut Vec<PathBuf>) -> io::Result<()> {
    if !sealed.iter().any(|sealed| sealed.starts_with(&path)) {
        grants.push(path);
        return Ok(());
    }
    if sealed.contains(&path) {
        return Ok(());
    }
    for (count, entry) in path.read_dir()?.enumerate() {
        let entry = entry?;
        if count >= MAX_ENTRIES {
            let shown = path.display();
            return Err(io::Error::other(format!("{shown} has more than {MAX_ENTRIES} entries, one of them sealed")));
        }
        // A link may lead to a sealed path.
        if !entry.file_type()?.is_symlink() {
            grant_around(entry.path(), sealed, grants)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn what_is_sealed_is_cut_out_of_what_holds_it() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        for path in ["work/a", "work/home/.maestro/run", "work/home/docs"] {
            fs::create_dir_all(root.join(path)).unwrap();
        }
        std::os::unix::fs::symlink(root.join("work/home/.maestro"), root.join("work/link")).unwrap();
        let policy = WritePolicy { writable: vec![root.join("work"), root.join("absent")], sealed: Vec::new() };
        assert_eq!(policy.grants().unwrap(), [root.join("work")]);
        let mut grants = policy.seal(root.join("work/home/.maestro")).grants().unwrap();
        grants.sort();
        assert_eq!(grants, [root.join("work/a"), root.join("work/home/docs")]);
    }

    #[test]
    fn what_is_sealed_and_absent_is_sealed_all_the_same() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        fs::create_dir(root.join("other")).unwrap();
        let policy = WritePolicy { writable: vec![root.clone()], sealed: vec![root.join("later/on")] };
        assert_eq!(policy.grants().unwrap(), [root.join("other")]);
    }
}
