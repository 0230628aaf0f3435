//! Landing of a run's work on the branch that several runs share.
//!
//! Each works in a worktree of its own. What it did is put on top of what the others have done by then, checked again,
//! and committed there: one commit for each task, one after another. The branch is only ever moved forwards.

use std::fs;

use maestro_core::excerpt::ellipsize;
use serde_json::{Value as Json, json};

use super::conflicts;
use super::rebase_journal::RebaseRecord;
use super::{BuiltinCall, BuiltinError};
use crate::git::history::{self, MergedTree};
use crate::git::snapshot::{self, SnapshotScope};
use crate::git::{GitCaller as _, agent_dir};
use crate::worktrees;

/// How many files are named with the task that changed them.
const MOST_NAMED: usize = 20;
/// How many characters of a task are named.
const TASK_CHARS: usize = 120;

impl BuiltinCall<'_> {
    /// Puts what was done here on top of the newest state of a branch. What contradicts it is left in the files, with
    /// both versions, and is a failure.
    pub(super) async fn catch_up(&self) -> Result<Json, BuiltinError> {
        self.check_branch()?;
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
        let started = RebaseRecord { kept, onto, ticket: self.commit_trailer(), there: None, others: Vec::new() };
        started.write(&note)?;
        let repository = self.repository()?;
        let MergedTree { tree, conflicts } =
            history::merge_trees(self, &repository, &started.onto, &started.kept).await?;
        let head = self.head().await?;
        history::move_head(self, &repository, &started.onto, head.as_deref()).await?;
        self.git(&["read-tree", "--reset", "-u", &tree]).await?;
        // In the index nothing is done yet.
        self.git(&["read-tree", "--reset", &started.onto]).await?;
        agent_dir::renew(&self.with_long_output(), &repository).await?;
        let others = self.other_tasks(&started, &conflicts).await?;
        let done = RebaseRecord { there: Some(conflicts), others, ..started };
        done.write(&note)?;
        done.to_json()
    }

    /// Which task changed each of these files last, on the branch that work is put on top of.
    async fn other_tasks(&self, record: &RebaseRecord, files: &[String]) -> Result<Vec<String>, BuiltinError> {
        let mut others = Vec::new();
        let since = format!("{}..{}", record.kept, record.onto);
        for file in files.iter().take(MOST_NAMED) {
            let log = self.git(&["log", "-n", "1", "--no-merges", "--format=%h %s", &since, "--", file]).await?;
            if let Some((commit, task)) = log.trim().split_once(' ') {
                let task = ellipsize(task, TASK_CHARS);
                others.push(format!("`{file}` was changed by the task \"{task}\" (commit {commit})"));
            }
        }
        Ok(others)
    }

    /// Commits what was done here and moves the branch there, with the plan's tick; unless the branch was moved since
    /// this was put on top of it.
    pub(super) async fn land(&self) -> Result<Json, BuiltinError> {
        self.check_branch()?;
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
                    self.tick().await.map_err(|error| match error {
                        BuiltinError::Failed(reason) => BuiltinError::Left(reason),
                        error => error,
                    })?;
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
        let before = self.commit_of(&format!("{made}^")).await?;
        history::move_head(self, &self.repository()?, &before, Some(made)).await?;
        self.restore_plan().await?;
        self.git(&["read-tree", "--reset", &before]).await?;
        agent_dir::renew(&self.with_long_output(), &self.repository()?).await
    }

    /// Makes the plan again what it was in the last commit.
    async fn restore_plan(&self) -> Result<(), BuiltinError> {
        if let Some(plan) = self.committed_plan().await {
            let head = self.commit_of("HEAD").await?;
            self.git(&["checkout", "--quiet", &head, "--", plan]).await?;
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
        let repository = self.repository()?;
        let tree = snapshot::write_tree(&self.with_long_output(), &repository, SnapshotScope::Everything).await?;
        let head = self.head().await?;
        self.commit_tree(&tree, head.as_deref().as_slice(), "Kept while it is put elsewhere").await
    }

    /// Refuses work with conflict markers. The markers name the two commits, so that nothing
    /// else is taken for one, whatever file it is in by now.
    async fn check_conflict_markers(&self, last: Option<&RebaseRecord>) -> Result<(), BuiltinError> {
        let Some(last) = last.filter(|last| last.there.as_ref().is_some_and(|files| !files.is_empty())) else {
            return Ok(());
        };
        let (above, below) = (format!("<<<<<<< {}", last.onto), format!(">>>>>>> {}", last.kept));
        let words = ["grep", "-l", "--untracked", "--fixed-strings", "-e", &above, "-e", &below, "--", "."];
        let found = self.call(&words, &[0, 1]).await?;
        if found.code == 1 {
            return Ok(());
        }
        let files: Vec<&str> = found.text.lines().collect();
        Err(BuiltinError::Failed(format!("conflict markers are left in {}", files.join(", "))))
    }

    /// Refuses work in which files got both versions of a conflict and were left so.
    pub(super) async fn check_left_conflicts(&self, base: &str, tree: &str) -> Result<(), BuiltinError> {
        let words = ["diff", "--check", "--no-ext-diff", "--no-textconv", "--no-color", base, tree, "--"];
        let found = self.with_long_output().call(&words, &[0, 2]).await?;
        let files = conflicts::marked_files(&found.text, |file, line| {
            let text = fs::read_to_string(self.executor.env().workspace.join(file)).ok()?;
            text.lines().nth(line.checked_sub(1)?).map(str::to_owned)
        });
        if files.is_empty() {
            return Ok(());
        }
        Err(BuiltinError::Left(format!("conflict markers are left in {}", files.join(", "))))
    }

    /// Whether a commit is part of another's history.
    async fn is_ancestor(&self, commit: &str, history: &str) -> bool {
        self.git(&["merge-base", "--is-ancestor", commit, history]).await.is_ok()
    }
}
