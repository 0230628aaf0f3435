//! How does what one run did get onto the branch that several work for?
//!
//! Each works in a worktree of its own. What it did is put on top of what the others have done by then, checked again,
//! and committed there: one commit for each task, one after another. The branch is only ever moved forwards.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use maestro_core::workflow::run::Finish;
use maestro_skills::read_bounded;
use serde_json::{Value as Json, json};

use super::{Job, Undone, plans};
use crate::sandbox::GitPlaces;
use crate::worktrees;

/// How long the name of a commit may be.
const MAX_NAME: u64 = 128;
/// What git says of a line that it put between two versions.
const MARKER: &str = "leftover conflict marker";

impl Job<'_> {
    /// Puts what was done here on top of the newest state of a branch. What contradicts it is left in the files, with
    /// both versions, and is a failure.
    pub(super) async fn catch_up(&self) -> Result<Json, Undone> {
        self.is_on_its_branch().await?;
        let onto = self.commit_of(&worktrees::branch(self.worktree_name("onto")?)).await?;
        let note = self.note()?;
        let kept = match read_bounded(&note, MAX_NAME).map(|note| String::from_utf8_lossy(&note.bytes).into_owned()) {
            // We may have died half-way through.
            Ok(kept) => self.commit_of(kept.trim()).await?,
            Err(_) if self.head().await?.as_deref() == Some(onto.as_str()) => {
                return self.without_markers().await.map(|()| json!({ "changed": false }));
            }
            Err(_) => {
                // A tick that was not committed is made again when this is; the others have ticked meanwhile.
                self.without_tick().await?;
                self.keep(&note).await?
            }
        };
        let (tree, conflicts) = self.merged(&onto, &kept).await?;
        self.git(&["reset", "--quiet", "--soft", &onto]).await?;
        self.git(&["read-tree", "--reset", "-u", &tree]).await?;
        self.git(&["reset", "--quiet"]).await?;
        fs::remove_file(&note).map_err(|error| format!("`{}` cannot be removed: {error}", note.display()))?;
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
                if let Some(plan) = self.committed_plan().await {
                    plans::tick(&self.executor.site().workspace, plan, self.line()?, self.needed("text")?)?;
                }
                self.commit().await?;
                self.head().await?.unwrap_or_default()
            }
        };
        self.git(&["update-ref", &format!("refs/heads/{}", worktrees::branch(name)), &commit, &onto]).await?;
        Ok(json!({ "landed": true, "commit": commit }))
    }

    /// Makes the last commit work that is not committed again, without its tick.
    async fn take_back(&self, made: &str) -> Result<(), Undone> {
        self.git(&["reset", "--quiet", "--soft", &format!("{made}^")]).await?;
        self.without_tick().await
    }

    /// Makes the plan again what it was in the last commit.
    async fn without_tick(&self) -> Result<(), Undone> {
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

    /// Keeps what is here as a commit that nothing but a note of ours knows.
    async fn keep(&self, note: &Path) -> Result<String, Undone> {
        self.git(&["add", "--all"]).await?;
        let tree = self.git(&["write-tree"]).await?;
        let head = self.head().await?.unwrap_or_default();
        let kept = self.git(&["commit-tree", tree.trim(), "-p", &head, "-m", "Kept while it is put elsewhere"]).await?;
        let cannot = |error: io::Error| format!("`{}` cannot be written: {error}", note.display());
        let folder = note.parent().unwrap_or(Path::new("/"));
        fs::create_dir_all(folder).map_err(cannot)?;
        let mut file = tempfile::NamedTempFile::new_in(folder).map_err(cannot)?;
        file.write_all(kept.trim().as_bytes()).map_err(cannot)?;
        file.persist(note).map_err(|error| cannot(error.error))?;
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

    /// Where it is noted what this worktree's work is kept as for a moment. A file and no reference of git's: whoever is
    /// killed while it writes one of those leaves a lock that stops everybody.
    fn note(&self) -> Result<PathBuf, Undone> {
        let workspace = &self.executor.site().workspace;
        let name = worktrees::name_of(workspace).zip(GitPlaces::of(workspace));
        let (name, places) = name.ok_or_else(|| Undone::Failed("this is no worktree of ours".to_owned()))?;
        Ok(places.shared.join("maestro").join("kept").join(name))
    }
}
