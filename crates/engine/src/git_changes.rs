//! Files that changed between two moments, whatever was committed in between.

use std::path::Path;
use std::{fmt, io};

use maestro_core::workflow::run::FileState;
use tempfile::NamedTempFile;

use crate::git::snapshot::{self, SnapshotScope};
use crate::git::{self, Git, GitDirs, GuardedRepository};

/// What all files of a workspace together are now, as git names it; nothing where git does not know.
pub fn tree_hash(workspace: &Path) -> Option<String> {
    let repository = repository(workspace)?;
    // A copy of the index, so that the user's own stays untouched; nothing is hashed twice.
    let copy = logged(workspace, copy_index(&repository))?;
    let git = Git::at(workspace).with_index(copy.path());
    logged(workspace, git::wait(snapshot::write_tree(&git, &repository, SnapshotScope::Workspace)))
}

/// The repository of a workspace, if it is in one.
fn repository(workspace: &Path) -> Option<GuardedRepository> {
    if matches!(GitDirs::locate(workspace), Err(git::RepositoryError::None(_))) {
        return None;
    }
    logged(workspace, GuardedRepository::of(workspace))
}

/// A copy of an index, where no agent can write; without one there is nothing to copy, and git makes one in its place.
fn copy_index(repository: &GuardedRepository) -> io::Result<NamedTempFile> {
    let copy = tempfile::Builder::new().prefix("index-").tempfile_in(&repository.git_dir)?;
    match std::fs::copy(repository.index(), copy.path()) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => std::fs::remove_file(copy.path())?,
        copied => drop(copied?),
    }
    Ok(copy)
}

/// The answer about a repository. The caller goes on without one, so the log says why there is none.
fn logged<T, E: fmt::Display>(workspace: &Path, answer: Result<T, E>) -> Option<T> {
    let warn =
        |error: &E| tracing::warn!(workspace = %workspace.display(), "the changes of files are not known: {error}");
    answer.inspect_err(warn).ok()
}

/// What is known of a workspace's files, for a review that last looked at them at such a moment.
pub fn review_state(workspace: &Path, reviewed: Option<&str>) -> FileState {
    let tree = tree_hash(workspace);
    let changed = reviewed.zip(tree.as_deref()).and_then(|(before, after)| changed_files(workspace, before, after));
    FileState { changed, tree }
}

/// What all files of a workspace together were in the last commit; nothing where there is none.
pub fn head_tree(workspace: &Path) -> Option<String> {
    let head = repository(workspace)?.dirs.head_name();
    // Git says no before the first commit.
    Git::at(workspace).resolve(&format!("{head}^{{tree}}")).ok()
}

/// The files that differ between two such moments, as they are named in the workspace; nothing when git no longer knows.
pub fn changed_files(workspace: &Path, before: &str, after: &str) -> Option<Vec<String>> {
    if !is_object_name(before) || !is_object_name(after) {
        return None;
    }
    let words = ["diff-tree", "-r", "--relative", "--no-renames", "--name-only", "-z", before, after];
    logged(workspace, Git::at(workspace).names(&words))
}

/// What differs at such a moment from the last commit, new files included, as a patch; nothing when git does not know.
pub fn diff_since_head(workspace: &Path, tree: &str) -> Option<String> {
    let before = head_tree(workspace).filter(|_| is_object_name(tree))?;
    let words = ["diff-tree", "-p", "--no-ext-diff", "--no-textconv", &before, tree];
    logged(workspace, Git::at(workspace).run(&words))
}

/// What differs now from such a moment, new files included, as a patch; nothing when git does not know.
pub fn diff_since(workspace: &Path, before: &str) -> Option<String> {
    let now = tree_hash(workspace).filter(|_| is_object_name(before))?;
    let words = ["diff-tree", "-p", "--no-ext-diff", "--no-textconv", before, &now];
    logged(workspace, Git::at(workspace).run(&words))
}

/// What a row of commits changed, as a patch; nothing when git no longer knows them.
pub fn diff_of_commits(workspace: &Path, first: &str, last: &str) -> Option<String> {
    if !is_object_name(first) || !is_object_name(last) {
        return None;
    }
    let before = format!("{first}^");
    Git::at(workspace).run(&["diff", "--no-ext-diff", "--no-textconv", "--no-color", &before, last, "--"]).ok()
}

/// Whether a text is a name that git gives, and no option.
fn is_object_name(tree: &str) -> bool {
    !tree.is_empty() && tree.bytes().all(|byte| byte.is_ascii_hexdigit())
}
