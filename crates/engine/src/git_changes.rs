//! Files that changed between two moments, whatever was committed in between.

use std::path::{Path, PathBuf};
use std::{fmt, io};

use maestro_core::workflow::run::FileState;
use tempfile::NamedTempFile;

use crate::git::{Git, GitDirs};

/// What all files of a workspace together are now, as git names it; nothing where git does not know.
pub fn tree_hash(workspace: &Path) -> Option<String> {
    // A copy of the index, so that the user's own stays untouched; nothing is hashed twice.
    let own = index_of(workspace)?;
    let copy = logged(workspace, copy_index(&own))?;
    let git = Git::at(workspace).with_index(copy.path());
    logged(workspace, git.run(&["add", "--all", "--", "."]))?;
    logged(workspace, git.run(&["write-tree"])).map(|tree| tree.trim().to_owned())
}

/// A copy of an index; without one there is nothing to copy, and git makes one in its place.
fn copy_index(own: &Path) -> io::Result<NamedTempFile> {
    let copy = tempfile::Builder::new().prefix("maestro-index").tempfile()?;
    match std::fs::copy(own, copy.path()) {
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

/// Where the index of a workspace is. Git is asked only where its places are not plain to see, since each call costs.
fn index_of(workspace: &Path) -> Option<PathBuf> {
    if let Some(places) = GitDirs::of(workspace) {
        return Some(places.own.join("index"));
    }
    // Git says no outside of a repository.
    let path = Git::at(workspace).run(&["rev-parse", "--git-path", "index"]).ok()?;
    Some(workspace.join(path.trim()))
}

/// What is known of a workspace's files, for a review that last looked at them at such a moment.
pub fn review_state(workspace: &Path, reviewed: Option<&str>) -> FileState {
    let tree = tree_hash(workspace);
    let changed = reviewed.zip(tree.as_deref()).and_then(|(before, after)| changed_files(workspace, before, after));
    FileState { changed, tree }
}

/// What all files of a workspace together were in the last commit; nothing where there is none.
pub fn head_tree(workspace: &Path) -> Option<String> {
    // Git says no before the first commit.
    Git::at(workspace).resolve("HEAD^{tree}").ok()
}

/// The files that differ between two such moments; nothing when git no longer knows.
pub fn changed_files(workspace: &Path, before: &str, after: &str) -> Option<Vec<String>> {
    if !is_object_name(before) || !is_object_name(after) {
        return None;
    }
    let arguments = ["diff-tree", "-r", "--no-renames", "--name-only", "-z", before, after];
    logged(workspace, Git::at(workspace).names(&arguments))
}

/// What differs at such a moment from the last commit, new files included, as a patch; nothing when git does not know.
pub fn diff_since_head(workspace: &Path, tree: &str) -> Option<String> {
    let arguments = ["diff-tree", "-p", "--no-ext-diff", "--no-textconv", "HEAD", tree];
    is_object_name(tree).then(|| logged(workspace, Git::at(workspace).run(&arguments)))?
}

/// Whether a text is a name that git gives, and no option.
fn is_object_name(tree: &str) -> bool {
    !tree.is_empty() && tree.bytes().all(|byte| byte.is_ascii_hexdigit())
}
