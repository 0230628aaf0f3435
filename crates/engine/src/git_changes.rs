//! Files that changed between two moments, whatever was committed in between.

use std::path::{Path, PathBuf};

use maestro_core::workflow::run::FileState;

use crate::git::{Git, GitDirs};

/// What all files of a workspace together are now, as git names it; nothing where git does not know.
pub fn tree_hash(workspace: &Path) -> Option<String> {
    // A copy of the index, so that the user's own stays untouched; nothing is hashed twice.
    let own = index_of(workspace)?;
    let copy = tempfile::Builder::new().prefix("maestro-index").tempfile().ok()?;
    // Without an index there is nothing to copy, and git makes one.
    if std::fs::copy(&own, copy.path()).is_err() {
        std::fs::remove_file(copy.path()).ok()?;
    }
    let git = Git::at(workspace).with_index(copy.path());
    git.run(&["add", "--all", "--", "."]).ok()?;
    git.run(&["write-tree"]).ok().map(|tree| tree.trim().to_owned())
}

/// Where the index of a workspace is. Git is asked only where its places are not plain to see, since each call costs.
fn index_of(workspace: &Path) -> Option<PathBuf> {
    if let Some(places) = GitDirs::of(workspace) {
        return Some(places.own.join("index"));
    }
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
    Git::at(workspace).resolve("HEAD^{tree}").ok()
}

/// The files that differ between two such moments; nothing when git no longer knows.
pub fn changed_files(workspace: &Path, before: &str, after: &str) -> Option<Vec<String>> {
    if !is_object_name(before) || !is_object_name(after) {
        return None;
    }
    Git::at(workspace).names(&["diff-tree", "-r", "--no-renames", "--name-only", "-z", before, after]).ok()
}

/// What differs at such a moment from the last commit, new files included, as a patch; nothing when git does not know.
pub fn diff_since_head(workspace: &Path, tree: &str) -> Option<String> {
    let patch = || Git::at(workspace).run(&["diff-tree", "-p", "--no-ext-diff", "--no-textconv", "HEAD", tree]).ok();
    is_object_name(tree).then(patch)?
}

/// Whether a text is a name that git gives, and no option.
fn is_object_name(tree: &str) -> bool {
    !tree.is_empty() && tree.bytes().all(|byte| byte.is_ascii_hexdigit())
}
