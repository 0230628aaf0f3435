//! Lock on what the worktrees of a repository share.

use std::fs::{self, File, TryLockError};
use std::time::Duration;

use super::{BuiltinCall, BuiltinError};
use crate::git::GitDirs;

/// How often it is tried again.
const LOOK: Duration = Duration::from_millis(20);

impl BuiltinCall<'_> {
    /// Waits for the lock; it is held while the value lives, and released on a crash.
    pub(super) async fn lock_repo(&self) -> Result<Option<File>, BuiltinError> {
        let Some(places) = GitDirs::of(&self.executor.env().workspace) else { return Ok(None) };
        let folder = places.shared.join("maestro");
        let cannot = |error| BuiltinError::Failed(format!("`{}` cannot be written: {error}", folder.display()));
        fs::create_dir_all(&folder).map_err(cannot)?;
        let file = File::options().create(true).append(true).open(folder.join("lock")).map_err(cannot)?;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Some(file)),
                Err(TryLockError::WouldBlock) => tokio::time::sleep(LOOK).await,
                Err(TryLockError::Error(error)) => return Err(cannot(error)),
            }
        }
    }
}
