//! Landing of a run's work on the branch that several runs share.
//!
//! Each works in a worktree of its own. What it did is put on top of what the others have done by then, checked again,
//! and committed there: one commit for each task, one after another. The branch is only ever moved forwards.

use maestro_core::workflow::run::Finish;
use serde_json::{Value as Json, json};

use super::rebase_journal::Move;
use super::{BuiltinError, Job};
use crate::worktrees;

impl Job<'_> {
    /// Puts what was done here on top of the newest state of a branch. What contradicts it is left in the files, with
    /// both versions, and is a failure.
    pub(super) async fn catch_up(&self) -> Result<Json, BuiltinError> {
        self.is_on_its_branch().await?;
        let onto = self.commit_of(&worktrees::branch(self.worktree_name("onto")?)).await?;
        let (note, last) = self.last_move()?;
        let kept = match last {
            // We may have crashed half-way, or before the result was reported.
            Some(Move { kept, there: None, .. }) => kept,
            Some(last) if last.ticket == self.mark() => return last.told(),
            last => {
                self.without_two_versions(last.as_ref()).await?;
                if self.head().await?.as_deref() == Some(onto.as_str()) {
                    return Ok(json!({ "changed": false }));
                }
                // A tick that was not committed is made again when this is; the others have ticked meanwhile.
                self.without_tick().await?;
                self.keep().await?
            }
        };
        let started = Move { kept, onto, ticket: self.mark(), there: None };
        started.write(&note)?;
        let (tree, conflicts) = self.merged(&started.onto, &started.kept).await?;
        self.git(&["reset", "--quiet", "--soft", &started.onto]).await?;
        self.git(&["read-tree", "--reset", "-u", &tree]).await?;
        self.git(&["reset", "--quiet"]).await?;
        let done = Move { there: Some(conflicts), ..started };
        done.write(&note)?;
        done.told()
    }

    /// Commits what was done here and moves the branch there, with the plan's tick; unless the branch was moved since
    /// this was put on top of it.
    pub(super) async fn land(&self) -> Result<Json, BuiltinError> {
        self.is_on_its_branch().await?;
        let _alone = self.alone().await?;
        let name = self.worktree_name("onto")?;
        let onto = self.commit_of(&worktrees::branch(name)).await?;
        let moved = json!({ "landed": false, "commit": "" });
        let made = self.made_for(&self.mark()).await?;
        let commit = match made {
            Some(made) if self.is_in(&made, &onto).await => return Ok(json!({ "landed": true, "commit": made })),
            Some(made) if self.is_in(&onto, &made).await => made,
            Some(made) => {
                self.take_back(&made).await?;
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
    async fn take_back(&self, made: &str) -> Result<(), BuiltinError> {
        self.git(&["reset", "--quiet", "--soft", &format!("{made}^")]).await?;
        self.without_tick().await
    }

    /// Makes the plan again what it was in the last commit.
    async fn without_tick(&self) -> Result<(), BuiltinError> {
        if let Some(plan) = self.committed_plan().await {
            self.git(&["checkout", "--quiet", "HEAD", "--", plan]).await?;
        }
        Ok(())
    }

    /// The plan, if it is one that is committed with the work.
    async fn committed_plan(&self) -> Option<&str> {
        let plan = self.given("plan")?;
        self.git(&["ls-files", "--error-unmatch", "--", plan]).await.is_ok().then_some(plan)
    }

    /// Keeps what is here as a commit that nothing knows yet.
    async fn keep(&self) -> Result<String, BuiltinError> {
        self.git(&["add", "--all"]).await?;
        let tree = self.git(&["write-tree"]).await?;
        let head = self.head().await?.unwrap_or_default();
        let kept = self.git(&["commit-tree", tree.trim(), "-p", &head, "-m", "Kept while it is put elsewhere"]).await?;
        Ok(kept.trim().to_owned())
    }

    /// The tree that two commits make together, and the files with conflicts.
    async fn merged(&self, onto: &str, kept: &str) -> Result<(String, Vec<String>), BuiltinError> {
        let words = ["merge-tree", "--write-tree", "--name-only", "--no-messages", onto, kept];
        let said = match self.call_git(&words).await {
            // One says that there are conflicts.
            Finish::Exited { code: 0 | 1, output } => output,
            other => return Err(Self::not_done(&words, other)),
        };
        let mut lines = said.lines().map(str::to_owned);
        let tree = lines.next().filter(|line| line.len() >= 40 && line.bytes().all(|byte| byte.is_ascii_hexdigit()));
        let tree = tree.ok_or_else(|| BuiltinError::Failed(format!("`git merge-tree`: {}", said.trim())))?;
        Ok((tree, lines.filter(|line| !line.is_empty()).collect()))
    }

    /// Refuses work with conflict markers. The markers name the two commits, so that nothing
    /// else is taken for one, whatever file it is in by now.
    async fn without_two_versions(&self, last: Option<&Move>) -> Result<(), BuiltinError> {
        let Some(last) = last.filter(|last| last.there.as_ref().is_some_and(|files| !files.is_empty())) else {
            return Ok(());
        };
        let (above, below) = (format!("<<<<<<< {}", last.onto), format!(">>>>>>> {}", last.kept));
        let words = ["grep", "-l", "--untracked", "--fixed-strings", "-e", &above, "-e", &below, "--", "."];
        match self.call_git(&words).await {
            Finish::Exited { code: 1, .. } => Ok(()),
            Finish::Exited { code: 0, output } => Err(BuiltinError::Failed(format!(
                "conflict markers are left in {}",
                output.lines().collect::<Vec<_>>().join(", ")
            ))),
            other => Err(Self::not_done(&words, other)),
        }
    }

    /// Whether a commit is part of another's history.
    async fn is_in(&self, commit: &str, history: &str) -> bool {
        self.git(&["merge-base", "--is-ancestor", commit, history]).await.is_ok()
    }
}
