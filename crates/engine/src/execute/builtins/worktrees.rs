//! Worktrees for work that must not touch the workspace yet.
//!
//! A worktree is in `.maestro/worktrees/NAME` of the workspace: programs may write there, and it is removed with the
//! project. Its branch is `maestro/NAME`; the start commit is recorded beside it. The repository's own exclude file
//! keeps it out of commits.

use std::path::{Path, PathBuf};

use serde_json::{Value as Json, json};

use super::{BuiltinCall, BuiltinError};
use crate::git::{Git, GitDirs, UntrackedFiles, agent_dir, worktree_dir};
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
        self.check_filters().await?;
        let files = self.executor.env().ask_host(Host::worktree_files).await?;
        let dirs = self.repository()?.dirs;
        if worktree_dir::is_incomplete(&dirs, &name) {
            worktree_dir::remove(&dirs, &name, &path).map_err(|error| not_removed(&path, &error))?;
        } else if !path.is_dir() {
            // What was removed by hand is no worktree any more.
            worktree_dir::forget(&dirs, &name).map_err(|error| not_removed(&path, &error))?;
        }
        self.exclude(&files)?;
        let is_new = GitDirs::of_tree(&path).is_none();
        if is_new {
            self.add_worktree(&name, &path, &branch).await?;
        }
        let there = self.executor.at(path.clone());
        let call = BuiltinCall { executor: &there, ..self.with_long_output() };
        call.check_branch()?;
        if !agent_dir::is_there(&path) {
            agent_dir::renew(&call, &call.repository()?).await?;
        }
        let copies = self.copy_into(&path, &files).await?;
        Ok(json!({
            "path": path.to_string_lossy(), "branch": branch, "changed": is_new,
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
        let repository = self.repository()?;
        let reference = format!("refs/heads/{branch}");
        if repository.dirs.head_file() == Some(format!("ref: {reference}")) {
            return Err(BuiltinError::Failed(format!(
                "`{branch}` is checked out here; switch to another branch first"
            )));
        }
        if self.git(&["rev-parse", "--verify", "--quiet", &reference]).await.is_err() {
            let base = self.commit_of(self.argument("base").unwrap_or("HEAD")).await?;
            // First, so that a branch that we made is always known as ours.
            self.git(&["update-ref", &worktrees::base_ref(name), &base]).await?;
            self.git(&["update-ref", &reference, &base, ""]).await?;
        }
        let failed = |error| BuiltinError::Failed(format!("`{place}` cannot be made: {error}"));
        worktree_dir::register(&repository, name, path).map_err(failed)?;
        let there = self.executor.at(path.to_owned());
        let call = BuiltinCall { executor: &there, ..self.with_long_output() };
        let tree = call.repository()?;
        call.git(&["read-tree", "--reset", "-u", &reference]).await?;
        agent_dir::renew(&call, &tree).await?;
        worktree_dir::complete(&tree.dirs).map_err(failed)
    }

    /// Closes a worktree, unless it is closed; so everything stays while something is uncommitted. Its branch stays too,
    /// unless all of it is part of another one that is named.
    pub(super) async fn close_worktree(&self) -> Result<Json, BuiltinError> {
        let (name, path, branch) = self.worktree()?;
        let _alone = self.lock_repo().await?;
        let said = |changed: bool| json!({ "path": path.to_string_lossy(), "branch": branch, "changed": changed });
        let dirs = self.repository()?.dirs;
        let is_open = GitDirs::of_tree(&path).is_some();
        if is_open {
            let there = path.clone();
            let look = move || Git::at(&there).uncommitted(UntrackedFiles::Listed);
            let files = tokio::task::spawn_blocking(look).await.map_err(|error| error.to_string())?;
            if !files.map_err(|error| error.to_string())?.is_empty() {
                let place = path.display();
                return Err(BuiltinError::Failed(format!("`{place}` contains modified or untracked files; it stays")));
            }
            worktree_dir::remove(&dirs, &name, &path).map_err(|error| not_removed(&path, &error))?;
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

    /// Makes sure that a worktree of ours is on the branch it was opened on, as far as the user's own git is concerned.
    pub(super) fn check_branch(&self) -> Result<(), BuiltinError> {
        let path = &self.executor.env().workspace;
        let Some(name) = worktrees::name_of(path) else { return Ok(()) };
        let dirs = GitDirs::locate(path).map_err(|error| error.to_string())?;
        let (branch, head) = (worktrees::branch(name), dirs.head_file().unwrap_or_default());
        let known = head.strip_prefix("ref: refs/heads/").unwrap_or_default();
        if known == branch { Ok(()) } else { Err(BuiltinError::Failed(wrong_branch_message(&dirs, &branch, known))) }
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
}

/// The message about a worktree that was switched to another branch.
fn wrong_branch_message(dirs: &GitDirs, branch: &str, other: &str) -> String {
    let (place, own) = (dirs.root.display(), dirs.own.display());
    let on = if other.is_empty() { "on no branch".to_owned() } else { format!("on `{other}`") };
    format!(
        "the worktree `{place}` is {on} now and not on `{branch}`; \
         `git --git-dir={own} symbolic-ref HEAD refs/heads/{branch}` brings it back"
    )
}

fn not_removed(path: &Path, error: &std::io::Error) -> BuiltinError {
    BuiltinError::Failed(format!("`{}` cannot be removed: {error}", path.display()))
}
