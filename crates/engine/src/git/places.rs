//! Directories in which git keeps what belongs to a workspace.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use super::folder::RealFolder;
use super::local_config::UnknownExtension;
use crate::worktrees;

/// How many bytes a pointer of git's may have.
const MAX_POINTER: u64 = 64 * 1024;

/// Entries of a repository that we or git would write through if they were links.
const NO_LINKS: [&str; 16] = [
    "HEAD",
    "config",
    "config.worktree",
    "index",
    "info",
    "info/exclude",
    "logs",
    "maestro",
    "objects",
    "packed-refs",
    "refs",
    "refs/heads",
    "refs/heads/maestro",
    "refs/maestro",
    "shallow",
    "worktrees",
];

/// Why our git does not work in a directory.
#[derive(Debug, thiserror::Error)]
pub enum RepositoryError {
    /// It belongs to no repository.
    #[error("not a git repository: {}", .0.display())]
    None(
        /// The directory.
        PathBuf,
    ),
    /// A worktree of ours should be there, and none is.
    #[error("`{}` is not a worktree of this repository any more", .0.display())]
    Gone(
        /// The directory.
        PathBuf,
    ),
    /// Something in the repository is a link.
    #[error("`{}` is a link, and Maestro follows no links in a repository", .0.display())]
    Link(
        /// What.
        PathBuf,
    ),
    /// Another user made it.
    #[error("the repository `{}` belongs to another user", .0.display())]
    Foreign(
        /// Its directory.
        PathBuf,
    ),
    /// Its format is one that we do not know.
    #[error("{0}")]
    Unsupported(
        /// What is not supported.
        String,
    ),
    /// A file cannot be read or written.
    #[error("`{}`: {error}", path.display())]
    Io {
        /// Which one.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
}

impl From<UnknownExtension> for RepositoryError {
    fn from(error: UnknownExtension) -> Self {
        Self::Unsupported(error.to_string())
    }
}

/// The directories of a repository, as seen from one of its workspaces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct GitDirs {
    /// The directory of the files.
    pub(crate) root: PathBuf,
    /// What belongs to this workspace alone.
    pub(crate) own: PathBuf,
    /// What all workspaces of the repository share.
    pub(crate) shared: PathBuf,
}

impl GitDirs {
    /// Those of the repository a directory belongs to, if our git works there.
    pub(crate) fn of(workspace: &Path) -> Option<Self> {
        Self::locate(workspace).ok()
    }

    /// Those of a worktree of ours at a path, if there is one and no link leads to it.
    pub(crate) fn of_tree(path: &Path) -> Option<Self> {
        Self::of(path).filter(|dirs| dirs.root == path && dirs.tree_name().is_some())
    }

    /// Those of the repository a directory belongs to.
    ///
    /// A program may rewrite what lies in its workspace, and must not win a place by that: what the workspace points
    /// to counts only if it is a linked workspace or a submodule that points back.
    pub(crate) fn locate(workspace: &Path) -> Result<Self, RepositoryError> {
        let none = || RepositoryError::None(workspace.to_owned());
        let workspace = workspace.canonicalize().map_err(|_| none())?;
        let found = match worktrees::enclosing(&workspace) {
            Some(tree) => Self::of_worktree(tree).ok_or_else(|| RepositoryError::Gone(tree.to_owned()))?,
            None => Self::of_checkout(&workspace).ok_or_else(none)?,
        };
        found.check()?;
        Ok(found)
    }

    /// Those of a checkout that we did not make.
    fn of_checkout(workspace: &Path) -> Option<Self> {
        let dot_git = workspace.ancestors().map(|dir| dir.join(".git")).find(|path| path.symlink_metadata().is_ok())?;
        let root = dot_git.parent()?.to_owned();
        let kind = dot_git.symlink_metadata().ok()?.file_type();
        if kind.is_dir() {
            return Some(Self { root, own: dot_git.clone(), shared: dot_git });
        }
        let to = pointer(&dot_git).filter(|_| kind.is_file())?;
        let own = root.join(to.strip_prefix("gitdir:")?.trim()).canonicalize().ok()?;
        if let Some(back) = pointer(&own.join("gitdir")) {
            let back = own.join(back.trim()).canonicalize().ok()?;
            let worktrees = own.parent().filter(|parent| parent.ends_with("worktrees"))?;
            let shared = worktrees.parent()?.to_owned();
            return (back == dot_git).then_some(Self { root, own, shared });
        }
        // A submodule's part says in its configuration where the files are.
        let config = pointer(&own.join("config"))?;
        let mut settings = config.lines().filter_map(|line| line.trim().split_once('='));
        let (_, back) = settings.find(|(name, _)| name.trim() == "worktree")?;
        let back = own.join(back.trim()).canonicalize().ok()?;
        (back == root).then(|| Self { root, own: own.clone(), shared: own })
    }

    /// Those of a worktree that we made. Its contents are not trusted, so nothing there is read: the repository it was
    /// made from knows it, or it is none.
    fn of_worktree(tree: &Path) -> Option<Self> {
        let shared = Self::of_checkout(worktrees::project_of(tree)?)?.shared;
        let points_back = |own: &PathBuf| {
            pointer(&own.join("gitdir")).is_some_and(|back| Path::new(back.trim()) == tree.join(".git"))
        };
        let own = Self::worktree_dirs(&shared, tree.file_name()?.to_str()?).into_iter().find(points_back)?;
        Some(Self { root: tree.to_owned(), own, shared })
    }

    /// Where a repository keeps what belongs to a worktree of ours: where git keeps it, or, if references are in a
    /// table that git alone can write, in a directory of ours.
    pub(crate) fn worktree_dirs(shared: &Path, name: &str) -> [PathBuf; 2] {
        [shared.join("worktrees").join(name), shared.join("maestro/trees").join(name)]
    }

    /// Refuses a repository in which something is a link that would be written through, or that another user made.
    fn check(&self) -> Result<(), RepositoryError> {
        let entries = NO_LINKS.iter().map(|name| self.shared.join(name));
        let own = ["HEAD", "index"].iter().map(|name| self.own.join(name));
        let is_link = |path: &PathBuf| path.symlink_metadata().is_ok_and(|found| found.is_symlink());
        if let Some(link) = entries.chain(own).chain([self.own.clone()]).find(is_link) {
            return Err(RepositoryError::Link(link));
        }
        let us = rustix::process::geteuid();
        let owner = self.shared.symlink_metadata().map(|found| found.uid());
        let is_ours = owner.is_ok_and(|owner| us.is_root() || owner == 0 || owner == us.as_raw());
        if is_ours { Ok(()) } else { Err(RepositoryError::Foreign(self.shared.clone())) }
    }

    /// The name of the worktree, if it is one of ours.
    pub(crate) fn tree_name(&self) -> Option<&str> {
        worktrees::name_of(&self.root)
    }

    /// The name by which git finds the commit that is checked out. What is checked out in a worktree of ours is always
    /// its branch.
    pub(crate) fn head_name(&self) -> String {
        let branch = |name: &str| format!("refs/heads/{}", worktrees::branch(name));
        self.tree_name().map_or_else(|| "HEAD".to_owned(), branch)
    }

    /// What the file says that names what is checked out.
    pub(crate) fn head_file(&self) -> Option<String> {
        pointer(&self.own.join("HEAD")).map(|head| head.trim().to_owned())
    }

    /// The commit that is checked out, where a file says so by itself.
    pub(crate) fn head(&self) -> Option<String> {
        let head = match self.tree_name() {
            Some(_) => format!("ref: {}", self.head_name()),
            None => self.head_file()?,
        };
        let commit = match head.strip_prefix("ref: ") {
            // A name could lead anywhere, and is read here without git.
            Some(name) if name.starts_with("refs/") && !name.contains("..") => pointer(&self.shared.join(name))?,
            Some(_) => return None,
            None => head,
        };
        let commit = commit.trim();
        (commit.len() >= 40 && commit.bytes().all(|byte| byte.is_ascii_hexdigit())).then(|| commit.to_owned())
    }

    /// The directory that holds both, without links.
    pub(super) fn open_shared(&self) -> Result<RealFolder, RepositoryError> {
        RealFolder::open(&self.shared).map_err(|error| RepositoryError::Io { path: self.shared.clone(), error })
    }
}

/// The text of a small file that is no link.
fn pointer(path: &Path) -> Option<String> {
    let is_small = path.symlink_metadata().is_ok_and(|found| found.is_file() && found.len() <= MAX_POINTER);
    is_small.then(|| fs::read_to_string(path).ok()).flatten()
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
        assert_eq!(linked, GitDirs { root: root.join("w"), own, shared: root.join("main/.git") });
        let main = GitDirs::of(&root.join("main")).unwrap();
        assert_eq!((main.root, main.own), (root.join("main"), main.shared));
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
        assert_eq!((places.root, places.shared), (root.join("sub"), root.join(".git/modules/sub")));
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

    #[test]
    fn a_repository_with_a_link_in_it_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        fs::create_dir_all(root.join(".git/info")).unwrap();
        assert!(GitDirs::locate(&root).is_ok());
        std::os::unix::fs::symlink(root.join("victim"), root.join(".git/info/exclude")).unwrap();
        let error = GitDirs::locate(&root).unwrap_err();
        assert!(error.to_string().contains("info/exclude` is a link"), "{error}");
    }
}
