//! Directories in which git keeps what belongs to a workspace.

use std::fs;
use std::path::{Path, PathBuf};

use crate::worktrees;

/// How many bytes a pointer of git's may have.
const MAX_POINTER: u64 = 64 * 1024;

/// A directory where a worktree of ours should be, and none is.
#[derive(Debug, thiserror::Error)]
#[error("`{}` is not a worktree of this repository any more", .0.display())]
pub(crate) struct MissingWorktree(PathBuf);

/// The directories of a repository, as seen from one of its workspaces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct GitDirs {
    /// What belongs to this workspace alone.
    pub(crate) own: PathBuf,
    /// What all workspaces of the repository share.
    pub(crate) shared: PathBuf,
}

impl GitDirs {
    /// Those of the repository a directory belongs to.
    ///
    /// A program may rewrite what lies in its workspace, and must not win a place by that: what the workspace points
    /// to counts only if it is a linked workspace or a submodule that points back.
    pub(crate) fn of(workspace: &Path) -> Option<Self> {
        let workspace = workspace.canonicalize().ok()?;
        if let Some(tree) = worktrees::enclosing(&workspace) {
            return Self::of_worktree(tree);
        }
        let dot_git = workspace.ancestors().map(|dir| dir.join(".git")).find(|path| path.symlink_metadata().is_ok())?;
        let kind = dot_git.symlink_metadata().ok()?.file_type();
        if kind.is_dir() {
            return Some(Self { own: dot_git.clone(), shared: dot_git });
        }
        let to = pointer(&dot_git).filter(|_| kind.is_file())?;
        let own = dot_git.parent()?.join(to.strip_prefix("gitdir:")?.trim()).canonicalize().ok()?;
        if let Some(back) = pointer(&own.join("gitdir")) {
            let back = own.join(back.trim()).canonicalize().ok()?;
            let worktrees = own.parent().filter(|parent| parent.ends_with("worktrees"))?;
            let shared = worktrees.parent()?.to_owned();
            return (back == dot_git).then_some(Self { own, shared });
        }
        // A submodule's part says in its configuration where the files are.
        let config = pointer(&own.join("config"))?;
        let mut settings = config.lines().filter_map(|line| line.trim().split_once('='));
        let (_, back) = settings.find(|(name, _)| name.trim() == "worktree")?;
        let back = own.join(back.trim()).canonicalize().ok()?;
        (Some(back.as_path()) == dot_git.parent()).then(|| Self { own: own.clone(), shared: own })
    }

    /// Those of a worktree that we made. Its contents are not trusted, so nothing there is read: the repository it was
    /// made from knows it, or it is none.
    fn of_worktree(tree: &Path) -> Option<Self> {
        let shared = Self::of(worktrees::project_of(tree)?)?.shared;
        let own = shared.join("worktrees").join(tree.file_name()?);
        let back = pointer(&own.join("gitdir"))?;
        (Path::new(back.trim()) == tree.join(".git")).then_some(Self { own, shared })
    }

    /// The first arguments for git in a directory, so that it trusts nothing inside a worktree of ours.
    pub(crate) fn arguments(workspace: &Path) -> Result<Vec<String>, MissingWorktree> {
        let gone = || MissingWorktree(workspace.to_owned());
        let workspace = workspace.canonicalize().map_err(|_| gone())?;
        let Some(tree) = worktrees::enclosing(&workspace) else { return Ok(Vec::new()) };
        let own = Self::of_worktree(tree).ok_or_else(gone)?.own;
        Ok(vec![format!("--git-dir={}", own.display()), format!("--work-tree={}", tree.display())])
    }

    /// The commit that is checked out, where a file says so by itself.
    pub(crate) fn head(&self) -> Option<String> {
        let head = pointer(&self.own.join("HEAD"))?;
        let commit = match head.trim().strip_prefix("ref: ") {
            // A name could lead anywhere, and is read here without git.
            Some(name) if name.starts_with("refs/") && !name.contains("..") => pointer(&self.shared.join(name))?,
            Some(_) => return None,
            None => head,
        };
        let commit = commit.trim();
        (commit.len() >= 40 && commit.bytes().all(|byte| byte.is_ascii_hexdigit())).then(|| commit.to_owned())
    }

    /// What is shared, if it does not lie in the workspace itself.
    pub(crate) fn shared_outside(self, workspace: &Path) -> Option<PathBuf> {
        let workspace = workspace.canonicalize().ok()?;
        (!self.shared.starts_with(workspace)).then_some(self.shared)
    }
}

fn pointer(path: &Path) -> Option<String> {
    let small = path.metadata().ok()?.len() <= MAX_POINTER;
    small.then(|| fs::read_to_string(path).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_linked_workspace_shares_what_lies_elsewhere() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let own = root.join("main/.git/worktrees/w");
        fs::create_dir_all(&own).unwrap();
        fs::create_dir_all(root.join("w/src")).unwrap();
        fs::write(root.join("w/.git"), format!("gitdir: {}\n", own.display())).unwrap();
        fs::write(own.join("gitdir"), format!("{}\n", root.join("w/.git").display())).unwrap();
        let linked = GitDirs::of(&root.join("w/src")).unwrap();
        assert_eq!(linked, GitDirs { own, shared: root.join("main/.git") });
        assert_eq!(linked.shared_outside(&root.join("w")), Some(root.join("main/.git")));
        let main = GitDirs::of(&root.join("main")).unwrap();
        assert_eq!(main.shared_outside(&root.join("main")), None);
        assert_eq!(GitDirs::of(Path::new("/proc")), None);
    }

    #[test]
    fn a_submodule_has_its_part_elsewhere() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        fs::create_dir_all(root.join(".git/modules/sub")).unwrap();
        fs::create_dir(root.join("sub")).unwrap();
        fs::write(root.join("sub/.git"), "gitdir: ../.git/modules/sub\n").unwrap();
        fs::write(root.join(".git/modules/sub/config"), "[core]\n\tworktree = ../../../sub\n").unwrap();
        let places = GitDirs::of(&root.join("sub")).unwrap();
        assert_eq!(places.shared_outside(&root.join("sub")), Some(root.join(".git/modules/sub")));
    }

    #[test]
    fn a_workspace_wins_no_place_by_pointing_at_it() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        for path in ["victim/worktrees/x", "w", "linked"] {
            fs::create_dir_all(root.join(path)).unwrap();
        }
        fs::write(root.join("w/.git"), format!("gitdir: {}\n", root.join("victim/worktrees/x").display())).unwrap();
        fs::write(root.join("victim/worktrees/x/config"), "[core]\n\tworktree = ../../elsewhere\n").unwrap();
        std::os::unix::fs::symlink(root.join("victim"), root.join("linked/.git")).unwrap();
        assert_eq!(GitDirs::of(&root.join("w")), None);
        assert_eq!(GitDirs::of(&root.join("linked")), None);
    }
}
