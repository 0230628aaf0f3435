//! Names and places of Maestro's worktrees.

use std::path::{Path, PathBuf};

/// Where they are below a project.
pub const PLACE: &str = ".maestro/worktrees";

/// The prefix of their branches.
pub const BRANCHES: &str = "maestro/";

/// The suffix of a worktree whose run works for another branch.
pub const LANE: &str = "-lane";

/// The middle of the name of a branch that keeps the work on a task that was set aside.
pub const ASIDE: &str = "-aside-";

/// The file that records which worker claimed which task of the plan of this branch.
pub fn claims_dir(repository: &Path, name: &str) -> PathBuf {
    repository.join("maestro").join("claims").join(name)
}

/// The worktree with this name.
pub fn path(workspace: &Path, name: &str) -> PathBuf {
    workspace.join(PLACE).join(name)
}

/// The branch of the worktree with this name.
pub fn branch(name: &str) -> String {
    format!("{BRANCHES}{name}")
}

/// The reference to the commit where such a branch started. It exists only if we made the branch.
pub fn base_ref(name: &str) -> String {
    format!("refs/maestro/base/{name}")
}

/// The worktree of ours that a directory is or belongs to.
pub fn enclosing(directory: &Path) -> Option<&Path> {
    directory.ancestors().find(|directory| name_of(directory).is_some())
}

/// The project of a worktree of ours.
pub fn project_of(tree: &Path) -> Option<&Path> {
    // It lies in `.maestro/worktrees`.
    tree.ancestors().nth(3)
}

/// The message about a missing worktree of ours: how to restore it.
pub fn restore_hint(tree: &Path) -> Option<String> {
    let branch = branch(name_of(tree)?);
    let place = tree.strip_prefix(project_of(tree)?).ok()?.display();
    Some(format!(
        "the worktree `{place}` is gone; what was committed is on `{branch}`, and \
         `git worktree prune && git worktree add {place} {branch}` brings it back"
    ))
}

/// The name of the worktree of ours whose root is this directory.
pub fn name_of(directory: &Path) -> Option<&str> {
    directory.parent().filter(|parent| parent.ends_with(PLACE))?;
    directory.file_name()?.to_str()
}
