//! Stale locks of a killed git in a worktree of ours.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::BuiltinCall;
use crate::git::GitDirs;
use crate::worktrees;

/// How old a lock must be before it can be one that was left.
const YOUNG: Duration = Duration::from_millis(500);
/// The same where it cannot be seen which programs run.
const YOUNG_UNSEEN: Duration = Duration::from_secs(20);
/// How often to check again.
const LOOK: Duration = Duration::from_millis(50);
/// How long to wait for the lock of a running git; git itself refuses after that.
const PATIENCE: Duration = Duration::from_mins(1);

impl BuiltinCall<'_> {
    /// Removes stale locks of a killed git in this worktree, if it is one of ours. A running git is waited for.
    pub(super) async fn clear_locks(&self) {
        let path = &self.executor.env().workspace;
        let (Some(name), Some(places)) = (worktrees::name_of(path), GitDirs::of(path)) else { return };
        let branch = places.shared.join("refs/heads").join(format!("{}.lock", worktrees::branch(name)));
        for lock in locks_in(&places.own).into_iter().chain([branch]) {
            let mut waited = Duration::ZERO;
            while let Some(age) = age(&lock).filter(|_| waited < PATIENCE) {
                if is_stale(age, path) {
                    match fs::remove_file(&lock) {
                        Err(error) if error.kind() != io::ErrorKind::NotFound => {
                            tracing::warn!(path = %lock.display(), "a stale lock cannot be removed: {error}");
                        }
                        _ => {}
                    }
                    break;
                }
                tokio::time::sleep(LOOK).await;
                waited += LOOK;
            }
        }
    }
}

/// The locks of what belongs to a worktree alone.
fn locks_in(own: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(own).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|end| end == "lock")).collect()
}

fn age(lock: &Path) -> Option<Duration> {
    let made = lock.symlink_metadata().ok()?.modified().ok()?;
    Some(made.elapsed().unwrap_or_default())
}

/// Whether a lock of this age is stale.
fn is_stale(age: Duration, worktree: &Path) -> bool {
    match is_git_running(worktree) {
        Some(at_work) => !at_work && age >= YOUNG,
        None => age >= YOUNG_UNSEEN,
    }
}

/// Whether any git works in a directory; nothing where programs cannot be seen.
fn is_git_running(directory: &Path) -> Option<bool> {
    let directory = directory.canonicalize().ok()?;
    let mut programs = fs::read_dir("/proc")
        .ok()?
        .flatten()
        .filter(|entry| entry.file_name().to_str().is_some_and(|name| name.bytes().all(|byte| byte.is_ascii_digit())));
    Some(programs.any(|program| {
        let is_git = fs::read_to_string(program.path().join("comm")).is_ok_and(|name| name.trim_end() == "git");
        is_git && fs::read_link(program.path().join("cwd")).is_ok_and(|cwd| cwd.starts_with(&directory))
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_is_left_when_it_is_old_and_nobody_works_there() {
        let dir = tempfile::tempdir().unwrap();
        if is_git_running(dir.path()).is_none() {
            assert!(!is_stale(YOUNG, dir.path()) && is_stale(YOUNG_UNSEEN, dir.path()));
            return;
        }
        assert!(is_stale(YOUNG, dir.path()));
        assert!(!is_stale(Duration::ZERO, dir.path()));
    }
}
