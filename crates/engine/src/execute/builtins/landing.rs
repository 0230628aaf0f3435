//! Landing of a run's work on the branch that several runs share.
//!
//! Each works in a worktree of its own. What it did is put on top of what the others have done by then, checked again,
//! and committed there: one commit for each task, one after another. The branch is only ever moved forwards.

use maestro_core::workflow::run::CommandExit;
use serde_json::{Value as Json, json};

use super::rebase_journal::RebaseRecord;
use super::{BuiltinCall, BuiltinError};
use crate::worktrees;

impl BuiltinCall<'_> {
    /// Puts what was done here on top of the newest state of a branch. What contradicts it is left in the files, with
    /// both versions, and is a failure.
    pub(super) async fn catch_up(&self) -> Result<Json, BuiltinError> {
        self.check_branch().await?;
        let onto = self.commit_of(&worktrees::branch(self.worktree_name("onto")?)).await?;
        let (note, last) = self.last_rebase()?;
        let kept = match last {
            // We may have crashed half-way, or before the result was reported.
            Some(RebaseRecord { kept, there: None, .. }) => kept,
            Some(last) if last.ticket == self.commit_trailer() => return last.to_json(),
            last => {
                self.check_conflict_markers(last.as_ref()).await?;
                if self.head().await?.as_deref() == Some(onto.as_str()) {
                    return Ok(json!({ "changed": false }));
                }
                // A tick that was not committed is made again when this is; the others have ticked meanwhile.
                self.restore_plan().await?;
                self.stash_commit().await?
            }
        };
        let started = RebaseRecord { kept, onto, ticket: self.commit_trailer(), there: None };
        started.write(&note)?;
        let (tree, conflicts) = self.merge_trees(&started.onto, &started.kept).await?;
        self.git(&["reset", "--quiet", "--soft", &started.onto]).await?;
        self.git(&["read-tree", "--reset", "-u", &tree]).await?;
        self.git(&["reset", "--quiet"]).await?;
        let done = RebaseRecord { there: Some(conflicts), ..started };
        done.write(&note)?;
        done.to_json()
    }

    /// Commits what was done here and moves the branch there, with the plan's tick; unless the branch was moved since
    /// this was put on top of it.
    pub(super) async fn land(&self) -> Result<Json, BuiltinError> {
        self.check_branch().await?;
        let _alone = self.lock_repo().await?;
        let name = self.worktree_name("onto")?;
        let onto = self.commit_of(&worktrees::branch(name)).await?;
        let moved = json!({ "landed": false, "commit": "" });
        let made = self.commit_for_ticket(&self.commit_trailer()).await?;
        let commit = match made {
            Some(made) if self.is_ancestor(&made, &onto).await => return Ok(json!({ "landed": true, "commit": made })),
            Some(made) if self.is_ancestor(&onto, &made).await => made,
            Some(made) => {
                self.undo_commit(&made).await?;
                return Ok(moved);
            }
            None if self.head().await?.as_deref() != Some(onto.as_str()) => return Ok(moved),
            None => {
                if self.committed_plan().await.is_some() {
                    self.tick().await?;
                }
                self.commit().await?;
                self.head().await?.unwrap_or_default()
            }
        };
        self.git(&["update-ref", &format!("refs/heads/{}", worktrees::branch(name)), &commit, &onto]).await?;
        Ok(json!({ "landed": true, "commit": commit }))
    }

    /// Makes the last commit work that is not committed again, without its tick.
    async fn undo_commit(&self, made: &str) -> Result<(), BuiltinError> {
        self.git(&["reset", "--quiet", "--soft", &format!("{made}^")]).await?;
        self.restore_plan().await
    }

    /// Makes the plan again what it was in the last commit.
    async fn restore_plan(&self) -> Result<(), BuiltinError> {
        if let Some(plan) = self.committed_plan().await {
            self.git(&["checkout", "--quiet", "HEAD", "--", plan]).await?;
        }
        Ok(())
    }

    /// The plan, if it is one that is committed with the work.
    async fn committed_plan(&self) -> Option<&str> {
        let plan = self.argument("plan")?;
        self.git(&["ls-files", "--error-unmatch", "--", plan]).await.is_ok().then_some(plan)
    }

    /// Keeps what is here as a commit that nothing knows yet.
    async fn stash_commit(&self) -> Result<String, BuiltinError> {
        self.git(&["add", "--all"]).await?;
        let tree = self.git(&["write-tree"]).await?;
        let head = self.head().await?.unwrap_or_default();
        let kept = self.git(&["commit-tree", tree.trim(), "-p", &head, "-m", "Kept while it is put elsewhere"]).await?;
        Ok(kept.trim().to_owned())
    }

    /// The tree that two commits make together, and the files with conflicts.
    async fn merge_trees(&self, onto: &str, kept: &str) -> Result<(String, Vec<String>), BuiltinError> {
        let words = ["merge-tree", "--write-tree", "--name-only", "--no-messages", onto, kept];
        let said = match self.call_git(&words).await {
            // One says that there are conflicts.
            CommandExit::Exited { code: 0 | 1, output } => output,
            other => return Err(Self::git_error(&words, other)),
        };
        let mut lines = said.lines().map(str::to_owned);
        let tree = lines.next().filter(|line| line.len() >= 40 && line.bytes().all(|byte| byte.is_ascii_hexdigit()));
        let tree = tree.ok_or_else(|| BuiltinError::Failed(format!("`git merge-tree`: {}", said.trim())))?;
        Ok((tree, lines.filter(|line| !line.is_empty()).collect()))
    }

    /// Refuses work with conflict markers. The markers name the two commits, so that nothing
    /// else is taken for one, whatever file it is in by now.
    async fn check_conflict_markers(&self, last: Option<&RebaseRecord>) -> Result<(), BuiltinError> {
        let Some(last) = last.filter(|last| last.there.as_ref().is_some_and(|files| !files.is_empty())) else {
            return Ok(());
        };
        let (above, below) = (format!("<<<<<<< {}", last.onto), format!(">>>>>>> {}", last.kept));
        let words = ["grep", "-l", "--untracked", "--fixed-strings", "-e", &above, "-e", &below, "--", "."];
        match self.call_git(&words).await {
            CommandExit::Exited { code: 1, .. } => Ok(()),
            CommandExit::Exited { code: 0, output } => Err(BuiltinError::Failed(format!(
                "conflict markers are left in {}",
                output.lines().collect::<Vec<_>>().join(", ")
            ))),
            other => Err(Self::git_error(&words, other)),
        }
    }

    /// Whether a commit is part of another's history.
    async fn is_ancestor(&self, commit: &str, history: &str) -> bool {
        self.git(&["merge-base", "--is-ancestor", commit, history]).await.is_ok()
    }
}
