//! Worktrees for work that must not touch the workspace yet.
//!
//! A worktree is in `.maestro/worktrees/NAME` of the workspace: programs may write there, and it is removed with the
//! project. Its branch is `maestro/NAME`; the start commit is recorded beside it. The repository's own exclude file
//! keeps it out of commits.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value as Json, json};

use super::{BuiltinCall, BuiltinError};
use crate::git::GitDirs;
use crate::host::Host;
use crate::worktrees;

/// How long a name may be.
const MAX_NAME: usize = 64;

/// What is said where a directory is missing; of a worktree also how it comes back.
pub(super) fn missing_message(workspace: &Path, place: &str) -> String {
    worktrees::restore_hint(&workspace.join(place)).unwrap_or_else(|| format!("there is no directory `{place}`"))
}

impl BuiltinCall<'_> {
    /// Opens a worktree, unless it is open, with the files that it needs.
    pub(super) async fn open_worktree(&self) -> Result<Json, BuiltinError> {
        let (name, path, branch) = self.worktree()?;
        let _alone = self.lock_repo().await?;
        if self.head().await?.is_none() {
            let way = "commit first, for example with `git add --all && git commit -m \"Begin\"`";
            return Err(BuiltinError::Failed(format!("this repository has no commits; {way}")));
        }
        let env = self.executor.env();
        let files = env.ask_host(Host::worktree_files).await?;
        // What was removed by hand is no worktree any more.
        self.git(&["worktree", "prune"]).await?;
        self.remove_incomplete_worktree(&name, &path).await;
        let there = self.worktree_at(&path).await?;
        self.exclude(&files)?;
        let changed = match there {
            Some(known) if known == branch => false,
            Some(other) => return Err(BuiltinError::Failed(wrong_branch_message(&path, &branch, &other))),
            None => {
                self.add_worktree(&name, &path, &branch).await?;
                true
            }
        };
        let copies = self.copy_into(&path, &files).await?;
        Ok(json!({
            "path": path.to_string_lossy(), "branch": branch, "changed": changed,
            "copied": copies.copied, "left_out": copies.skipped_report(),
        }))
    }

    /// Makes a branch like that of a worktree, unless it exists. No worktree has it checked out, so only the branch
    /// itself can be out of date.
    pub(super) async fn open_branch(&self) -> Result<Json, BuiltinError> {
        let (name, _, branch) = self.worktree()?;
        let _alone = self.lock_repo().await?;
        let reference = format!("refs/heads/{branch}");
        let is_new = self.git(&["rev-parse", "--verify", "--quiet", &reference]).await.is_err();
        if is_new {
            let base = self.commit_of(self.argument("base").unwrap_or("HEAD")).await?;
            // First, so that a branch that we made is always known as ours.
            self.git(&["update-ref", &worktrees::base_ref(&name), &base]).await?;
            self.git(&["update-ref", &reference, &base, ""]).await?;
        }
        Ok(json!({ "branch": branch, "changed": is_new }))
    }

    async fn add_worktree(&self, name: &str, path: &Path, branch: &str) -> Result<(), BuiltinError> {
        let place = path.to_string_lossy();
        let is_empty = |path: &Path| path.read_dir().is_ok_and(|mut entries| entries.next().is_none());
        if path.symlink_metadata().is_ok() && !is_empty(path) {
            return Err(BuiltinError::Failed(format!(
                "`{place}` exists and is not a worktree of this repository; move it away and try again"
            )));
        }
        let reference = format!("refs/heads/{branch}");
        if self.git(&["rev-parse", "--verify", "--quiet", &reference]).await.is_ok() {
            self.git(&["worktree", "add", "--quiet", &place, branch]).await?;
            return Ok(());
        }
        let base = self.commit_of(self.argument("base").unwrap_or("HEAD")).await?;
        // First, so that a branch that we made is always known as ours.
        self.git(&["update-ref", &worktrees::base_ref(name), &base]).await?;
        self.git(&["worktree", "add", "--quiet", "-b", branch, &place, &base]).await?;
        Ok(())
    }

    /// Closes a worktree, unless it is closed; so everything stays while something is uncommitted. Its branch stays too,
    /// unless all of it is part of another one that is named.
    pub(super) async fn close_worktree(&self) -> Result<Json, BuiltinError> {
        let (name, path, branch) = self.worktree()?;
        let _alone = self.lock_repo().await?;
        let said = |changed: bool| json!({ "path": path.to_string_lossy(), "branch": branch, "changed": changed });
        self.git(&["worktree", "prune"]).await?;
        let is_open = self.worktree_at(&path).await?.is_some();
        if is_open {
            self.git(&["worktree", "remove", &path.to_string_lossy()]).await?;
        }
        if self.argument("landed").is_some() {
            self.remove_merged_branch(&name, &branch).await?;
        }
        Ok(said(is_open))
    }

    /// Removes a branch of ours of which another one has everything.
    async fn remove_merged_branch(&self, name: &str, branch: &str) -> Result<(), BuiltinError> {
        let whole = worktrees::branch(self.worktree_name("landed")?);
        let (reference, mark) = (format!("refs/heads/{branch}"), worktrees::base_ref(name));
        let Ok(head) = self.git(&["rev-parse", "--verify", "--quiet", &reference]).await else { return Ok(()) };
        let ours = self.git(&["rev-parse", "--verify", "--quiet", &mark]).await.is_ok();
        if ours && self.git(&["merge-base", "--is-ancestor", head.trim(), &whole]).await.is_ok() {
            self.git(&["update-ref", "-d", &reference, head.trim()]).await?;
            self.git(&["update-ref", "-d", &mark]).await?;
        }
        Ok(())
    }

    /// Makes sure that a worktree of ours is on the branch it was opened on; what is done there counts for that one.
    pub(super) async fn check_branch(&self) -> Result<(), BuiltinError> {
        let path = &self.executor.env().workspace;
        let Some(name) = worktrees::name_of(path) else { return Ok(()) };
        // Git is asked only where it is not plain to see.
        let head = GitDirs::of(path).and_then(|places| fs::read_to_string(places.own.join("HEAD")).ok());
        if head.is_some_and(|head| head.trim() == format!("ref: refs/heads/{}", worktrees::branch(name))) {
            return Ok(());
        }
        let (branch, known) = (worktrees::branch(name), self.worktree_at(path).await?.unwrap_or_default());
        if known == branch { Ok(()) } else { Err(BuiltinError::Failed(wrong_branch_message(path, &branch, &known))) }
    }

    /// Its name, where a worktree is, and the name of its branch.
    fn worktree(&self) -> Result<(String, PathBuf, String), BuiltinError> {
        let name = self.worktree_name("name")?;
        let workspace = &self.executor.env().workspace;
        let workspace = workspace.canonicalize().map_err(|error| format!("{}: {error}", workspace.display()))?;
        Ok((name.to_owned(), worktrees::path(&workspace, name), worktrees::branch(name)))
    }

    /// An argument that names a worktree.
    pub(super) fn worktree_name(&self, argument: &str) -> Result<&str, BuiltinError> {
        let name = self.required_argument(argument)?;
        let plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
        let bad_end = [".", ".lock"].iter().any(|end| name.ends_with(end));
        if name.len() > MAX_NAME
            || !name.chars().all(plain)
            || name.starts_with(['.', '-'])
            || name.contains("..")
            || bad_end
        {
            return Err(BuiltinError::Failed(format!(
                "`{name}` cannot name a worktree: letters, digits, `-`, `_` and `.` can, {MAX_NAME} at most"
            )));
        }
        Ok(name)
    }

    /// The branch of the worktree at a path, empty where it is on none; nothing where no worktree is.
    async fn worktree_at(&self, path: &Path) -> Result<Option<String>, BuiltinError> {
        let list = self.git(&["worktree", "list", "--porcelain", "-z"]).await?;
        let entry = list.split("\0\0").find(|entry| {
            entry.split('\0').any(|line| line.strip_prefix("worktree ").is_some_and(|at| Path::new(at) == path))
        });
        let branch = |line: &str| line.strip_prefix("branch refs/heads/").map(str::to_owned);
        Ok(entry.map(|entry| entry.split('\0').find_map(branch).unwrap_or_default()))
    }
}

/// The message about a worktree that was switched to another branch.
fn wrong_branch_message(path: &Path, branch: &str, other: &str) -> String {
    let place = path.display();
    let on = if other.is_empty() { "on no branch".to_owned() } else { format!("on `{other}`") };
    format!("the worktree `{place}` is {on} now and not on `{branch}`; `git -C {place} switch {branch}` brings it back")
}
