//! Check of a merge before any branch moves: the project's checks, run on its tree in a worktree of its own.

use std::collections::BTreeMap;
use std::path::Path;

use maestro_core::workflow::definition::BuiltinCommand;
use serde_json::Value as Json;

use super::{BuiltinCall, BuiltinError};
use crate::git::worktree_dir;
use crate::host::{Host, TrustedCommands};
use crate::worktrees;

/// What the checks of a project say about a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommitVerdict {
    /// The project has none.
    NoChecks,
    /// All of these passed.
    Passed(
        /// The checks.
        Vec<String>,
    ),
    /// One of them failed, or could not be run.
    Failed(
        /// What failed.
        String,
    ),
}

impl BuiltinCall<'_> {
    /// Runs the checks on a commit that is checked out nowhere yet.
    pub(super) async fn check_commit(&self, commit: &str) -> CommitVerdict {
        match self.try_commit(commit).await {
            Ok(checks) if checks.is_empty() => CommitVerdict::NoChecks,
            Ok(checks) => CommitVerdict::Passed(checks),
            Err(BuiltinError::Failed(reason) | BuiltinError::Left(reason)) => CommitVerdict::Failed(reason),
            Err(BuiltinError::TimedOut) => CommitVerdict::Failed("they took too long".to_owned()),
        }
    }

    async fn try_commit(&self, commit: &str) -> Result<Vec<String>, BuiltinError> {
        let TrustedCommands { commands, .. } = self.executor.env().ask_host(Host::checks).await?;
        if commands.is_empty() {
            return Ok(Vec::new());
        }
        let name = format!("merge-{}-check", self.executor.env().run);
        // An interrupted check may have left one, with another commit.
        self.remove_tree(&name).await?;
        let checked = self.check_in_worktree(&name, commit).await;
        let removed = self.remove_tree(&name).await;
        checked.and(removed).map(|()| commands)
    }

    async fn check_in_worktree(&self, name: &str, commit: &str) -> Result<(), BuiltinError> {
        let arguments = |pairs: &[(&str, &str)]| -> BTreeMap<String, String> {
            pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
        };
        let open = arguments(&[("name", name), ("base", commit)]);
        let opened: Json =
            BuiltinCall { builtin: BuiltinCommand::WorktreeOpen, arguments: &open, ..*self }.open_worktree().await?;
        let place = opened.get("path").and_then(Json::as_str).unwrap_or_default();
        let there = self.executor.at(Path::new(place).to_owned());
        let inside = BuiltinCall { executor: &there, arguments: &BTreeMap::new(), ..*self };
        inside.set_up_worktree().await?;
        inside.verify().await.map(drop)
    }

    /// Removes a worktree that has nothing but a commit of ours in it, and its branch.
    async fn remove_tree(&self, name: &str) -> Result<(), BuiltinError> {
        let _alone = self.lock_repo().await?;
        let dirs = self.repository()?.dirs;
        let workspace = &self.executor.env().workspace;
        let workspace = workspace.canonicalize().map_err(|error| format!("{}: {error}", workspace.display()))?;
        let path = worktrees::path(&workspace, name);
        let removed = worktree_dir::remove(&dirs, name, &path);
        removed.map_err(|error| format!("`{}` cannot be removed: {error}", path.display()))?;
        for reference in [format!("refs/heads/{}", worktrees::branch(name)), worktrees::base_ref(name)] {
            self.git(&["update-ref", "-d", &reference]).await?;
        }
        Ok(())
    }
}
