//! Work on a task that got nowhere, kept on a branch of its own, so that the next task starts from the last commit.

use std::path::PathBuf;

use serde_json::{Value as Json, json};

use super::aside_records::{AsideRecord, AsideRecords};
use super::{BuiltinCall, BuiltinError};
use crate::git::snapshot::{self, SnapshotScope};
use crate::git::{GitDirs, agent_dir};
use crate::host::Host;
use crate::worktrees;

/// How many characters of a run's id are in the name of such a branch.
const RUN_CHARS: usize = 6;

impl BuiltinCall<'_> {
    /// Keeps what is not committed on a branch and restores the last commit; without changes there is no branch. The task
    /// is left alone from then on.
    pub(super) async fn set_aside(&self) -> Result<Json, BuiltinError> {
        self.check_branch()?;
        let task = self.required_argument("task")?;
        let _alone = self.lock_repo().await?;
        self.exclude(&self.executor.env().ask_host(Host::worktree_files).await?)?;
        let (name, branch) = self.aside_branch()?;
        let reference = format!("refs/heads/{branch}");
        let head = self.commit_of("HEAD").await?;
        let repository = self.repository()?;
        let tree = snapshot::write_tree(&self.with_long_output(), &repository, SnapshotScope::Everything).await?;
        if tree != self.tree_of(Some(&head), &repository).await? {
            if !self.exists(&reference).await {
                let kept = self.commit_tree(&tree, &[&head], &format!("Set aside: {task}")).await?;
                // First, so that a branch that we made is always known as ours.
                self.git(&["update-ref", &worktrees::base_ref(&name), &head]).await?;
                self.git(&["update-ref", &reference, &kept, ""]).await?;
            }
            // The index knows all files of the work, so that none of them stays.
            self.git(&["read-tree", "--reset", &tree]).await?;
            self.git(&["read-tree", "--reset", "-u", &head]).await?;
            agent_dir::renew(&self.with_long_output(), &repository).await?;
        }
        let branch = if self.exists(&reference).await { branch } else { String::new() };
        let reason = self.argument("reason").unwrap_or_default().to_owned();
        let record = AsideRecord { task: task.to_owned(), reason, branch: branch.clone() };
        let place = self.aside_dir(self.worktree_name("name")?)?;
        let written = record.write(&place, &self.aside_name());
        written.map_err(|error| BuiltinError::Failed(format!("a task cannot be set aside: {error}")))?;
        Ok(json!({ "branch": branch }))
    }

    /// The tasks of a branch's plan that were set aside; none without the name of a branch.
    pub(super) fn aside_records(&self, argument: &str) -> Result<AsideRecords, BuiltinError> {
        // Outside a repository nothing is set aside.
        if self.argument(argument).is_none() || GitDirs::of(&self.executor.env().workspace).is_none() {
            return Ok(AsideRecords::default());
        }
        let place = self.aside_dir(self.worktree_name(argument)?)?;
        let read = AsideRecords::read(&place);
        read.map_err(|error| BuiltinError::Failed(format!("the tasks that were set aside cannot be read: {error}")))
    }

    fn aside_dir(&self, name: &str) -> Result<PathBuf, BuiltinError> {
        let places = GitDirs::of(&self.executor.env().workspace);
        let shared = places.ok_or_else(|| "its repository cannot be found".to_owned())?.shared;
        Ok(worktrees::claims_dir(&shared, name))
    }

    /// The visit of the step, and whose it is.
    fn aside_name(&self) -> String {
        let run = &self.executor.env().run;
        let run = run.get(run.len().saturating_sub(RUN_CHARS)..).unwrap_or_default();
        format!("{run}-{}", self.visit.visit())
    }

    /// The name of the branch for this visit of the step, without and with our prefix.
    fn aside_branch(&self) -> Result<(String, String), BuiltinError> {
        let name = format!("{}{}{}", self.worktree_name("name")?, worktrees::ASIDE, self.aside_name());
        let branch = worktrees::branch(&name);
        Ok((name, branch))
    }

    async fn exists(&self, reference: &str) -> bool {
        self.git(&["rev-parse", "--verify", "--quiet", reference]).await.is_ok()
    }
}
