//! Where do the worktrees lie that we make, and how are they recognised as ours?

use std::path::{Path, PathBuf};

/// Where they lie below a project.
pub const PLACE: &str = ".maestro/worktrees";

/// What the names of their branches begin with.
pub const BRANCHES: &str = "maestro/";

/// What the name of a worktree ends with whose run works for another's branch.
pub const LANE: &str = "-lane";

/// Where is kept who took which task of the plan that is worked through for this branch.
pub fn claims(repository: &Path, name: &str) -> PathBuf {
    repository.join("maestro").join("claims").join(name)
}

/// The worktree of this name.
pub fn path(workspace: &Path, name: &str) -> PathBuf {
    workspace.join(PLACE).join(name)
}

/// The branch of the worktree of this name.
pub fn branch(name: &str) -> String {
    format!("{BRANCHES}{name}")
}

/// The reference that keeps where such a branch began. There is one only if we made the branch.
pub fn mark(name: &str) -> String {
    format!("refs/maestro/base/{name}")
}

/// The worktree of ours that a directory lies in, or is.
pub fn around(directory: &Path) -> Option<&Path> {
    directory.ancestors().find(|directory| name_of(directory).is_some())
}

/// The project of a worktree of ours.
pub fn project_of(tree: &Path) -> Option<&Path> {
    // It lies in `.maestro/worktrees`.
    tree.ancestors().nth(3)
}

/// What is said of a worktree of ours that is gone: how it comes back.
pub fn way_back(tree: &Path) -> Option<String> {
    let branch = branch(name_of(tree)?);
    let place = tree.strip_prefix(project_of(tree)?).ok()?.display();
    Some(format!(
        "the worktree `{place}` is gone; what was committed is on `{branch}`, and \
         `git worktree prune && git worktree add {place} {branch}` brings it back"
    ))
}

/// The name of the worktree of ours that is this very directory.
pub fn name_of(directory: &Path) -> Option<&str> {
    directory.parent().filter(|parent| parent.ends_with(PLACE))?;
    directory.file_name()?.to_str()
}
