//! How does what one run did get onto the branch that several work for?
//!
//! Each works in a worktree of its own. What it did is put on top of what the others have done by then, checked again,
//! and committed there: one commit for each task, one after another. The branch is only ever moved forwards.

use std::path::PathBuf;

use maestro_core::workflow::run::Finish;
use serde_json::{Value as Json, json};

use super::{Job, Undone, plans};
use crate::worktrees;

/// What work is kept under while it is put elsewhere.
const KEPT: &str = "refs/maestro/kept/";
/// What git says of a line that it put between two versions.
const MARKER: &str = "leftover conflict marker";

impl Job<'_> {
    /// Puts what was done here on top of the newest state of a branch. What contradicts it is left in the files, with
    /// both versions, and is a failure.
    pub(super) async fn catch_up(&self) -> Result<Json, Undone> {
        self.is_on_its_branch().await?;
        let onto = self.commit_of(&worktrees::branch(self.worktree_name("onto")?)).await?;
        let reference = self.kept()?;
        let kept = match self.git(&["rev-parse", "--verify", "--quiet", &reference]).await {
            // We may have died half-way through.
            Ok(kept) => kept.trim().to_owned(),
            Err(_) if self.head().await?.as_deref() == Some(onto.as_str()) => {
                return self.without_markers().await.map(|()| json!({ "changed": false }));
            }
            Err(_) => self.keep(&reference).await?,
        };
        let (tree, conflicts) = self.merged(&onto, &kept).await?;
        self.git(&["reset", "--quiet", "--soft", &onto]).await?;
        self.git(&["read-tree", "--reset", "-u", &tree]).await?;
        self.git(&["reset", "--quiet"]).await?;
        self.git(&["update-ref", "-d", &reference, &kept]).await?;
        if conflicts.is_empty() {
            return Ok(json!({ "changed": true }));
        }
        Err(Undone::Failed(format!(
            "meanwhile another task changed the same lines of {}. Both versions stand there now, between lines of `<<<<<<<` and \
             `>>>>>>>`: make one of them that does what both were meant to do, and remove those lines",
            conflicts.join(", ")
        )))
    }

    /// Commits what was done here and moves the branch there, with the plan's tick; unless the branch was moved since
    /// this was put on top of it.
    pub(super) async fn land(&self) -> Result<Json, Undone> {
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
                if let Some(plan) = self.given("plan") {
                    plans::tick(&self.executor.site().workspace, plan, self.line()?, self.needed("text")?)?;
                }
                self.commit().await?;
                self.head().await?.unwrap_or_default()
            }
        };
        let there = Job { executor: &self.executor.at(self.beside(name)?), ..*self };
        there.is_on_its_branch().await?;
        there.git(&["merge", "--quiet", "--ff-only", &commit]).await?;
        Ok(json!({ "landed": true, "commit": commit }))
    }

    /// Makes the last commit work that is not committed again, without its tick.
    async fn take_back(&self, made: &str) -> Result<(), Undone> {
        self.git(&["reset", "--quiet", "--soft", &format!("{made}^")]).await?;
        if let Some(plan) = self.given("plan") {
            self.git(&["checkout", "--quiet", "HEAD", "--", plan]).await?;
        }
        Ok(())
    }

    /// Keeps what is here as a commit that nothing but a reference of ours knows.
    async fn keep(&self, reference: &str) -> Result<String, Undone> {
        self.git(&["add", "--all"]).await?;
        let tree = self.git(&["write-tree"]).await?;
        let head = self.head().await?.unwrap_or_default();
        let kept = self.git(&["commit-tree", tree.trim(), "-p", &head, "-m", "Kept while it is put elsewhere"]).await?;
        self.git(&["update-ref", reference, kept.trim()]).await?;
        Ok(kept.trim().to_owned())
    }

    /// The tree that two commits make together, and the files in which they contradict each other.
    async fn merged(&self, onto: &str, kept: &str) -> Result<(String, Vec<String>), Undone> {
        let words = ["merge-tree", "--write-tree", "--name-only", "--no-messages", onto, kept];
        let said = match self.call_git(&words).await {
            // One says that there are conflicts.
            Finish::Exited { code: 0 | 1, output } => output,
            other => return Err(Self::not_done(&words, other)),
        };
        let mut lines = said.lines().map(str::to_owned);
        let tree = lines.next().filter(|line| line.len() >= 40 && line.bytes().all(|byte| byte.is_ascii_hexdigit()));
        let tree = tree.ok_or_else(|| Undone::Failed(format!("`git merge-tree`: {}", said.trim())))?;
        Ok((tree, lines.filter(|line| !line.is_empty()).collect()))
    }

    /// Refuses what git put between two versions and nobody removed.
    async fn without_markers(&self) -> Result<(), Undone> {
        let words = ["diff", "--check", "HEAD", "--"];
        let said = match self.call_git(&words).await {
            Finish::Exited { output, .. } => output,
            other => return Err(Self::not_done(&words, other)),
        };
        let left: Vec<&str> = said.lines().filter(|line| line.contains(MARKER)).collect();
        match left.as_slice() {
            [] => Ok(()),
            left => Err(Undone::Failed(format!("two versions still stand in the files:\n{}", left.join("\n")))),
        }
    }

    /// Whether a commit is part of another's history.
    async fn is_in(&self, commit: &str, history: &str) -> bool {
        self.git(&["merge-base", "--is-ancestor", commit, history]).await.is_ok()
    }

    /// Where work of this worktree is kept for a moment.
    fn kept(&self) -> Result<String, Undone> {
        let name = worktrees::name_of(&self.executor.site().workspace);
        name.map(|name| format!("{KEPT}{name}")).ok_or_else(|| Undone::Failed("this is no worktree of ours".to_owned()))
    }

    /// The worktree of a name, beside this one.
    fn beside(&self, name: &str) -> Result<PathBuf, Undone> {
        let place = self.executor.site().workspace.with_file_name(name);
        if place.is_dir() {
            Ok(place)
        } else {
            Err(Undone::Failed(format!("the worktree `{}` is gone", place.display())))
        }
    }
}
