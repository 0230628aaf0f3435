//! Branches of runs: their commits, merging and removal.
//!
//! Only what we made is ever removed: a branch counts as ours if its start commit is recorded beside it, a worktree if
//! it is in our directory and on that branch.

use std::path::{Path, PathBuf};

use serde::Serialize;

pub use crate::git::history::MergeKind;
use crate::git::history::{self, MergeObstacle, PreparedMerge};
use crate::git::snapshot::{self, SnapshotScope};
use crate::git::{
    self, CommitSigning, Git, GitCaller as _, GitDirs, GitError, RepositoryError, TRAILER, UntrackedFiles, agent_dir,
    worktree_dir,
};
use crate::{git_changes, worktrees};

/// Why something cannot be done with a branch. Each says what is the matter; nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum BranchError {
    /// The run left none.
    #[error("already merged or discarded")]
    None,
    /// Maestro did not make it.
    #[error("`{0}` was not made by Maestro")]
    NotOurs(String),
    /// The worktree was put on another branch.
    #[error("the worktree `{}` is not on `{branch}` any more", path.display())]
    Elsewhere {
        /// The worktree.
        path: PathBuf,
        /// The branch it was on.
        branch: String,
    },
    /// Something is not committed.
    #[error("`{}` has changes that are not committed: {}", path.display(), files.join(", "))]
    Dirty {
        /// Where.
        path: PathBuf,
        /// Which files.
        files: Vec<String>,
    },
    /// No branch is checked out that could be merged into.
    #[error("no branch is checked out in `{}`", .0.display())]
    Detached(PathBuf),
    /// Both sides changed the same.
    #[error("merge conflict between `{branch}` and `{into}` in {}", files.join(", "))]
    Conflict {
        /// What would have been merged.
        branch: String,
        /// Into what.
        into: String,
        /// Where.
        files: Vec<String>,
    },
    /// What git does not track lies where something would come.
    #[error("a merge would overwrite files that git does not track in `{}`: {}", path.display(), files.join(", "))]
    Overwrites {
        /// Where.
        path: PathBuf,
        /// Which files.
        files: Vec<String>,
    },
    /// The checks fail on what a merge would make.
    #[error("the checks fail on the merge of `{branch}` and `{into}`: {reason}")]
    RedMerge {
        /// What would have been merged.
        branch: String,
        /// Into what.
        into: String,
        /// What failed.
        reason: String,
    },
    /// Our git does not work in the project.
    #[error(transparent)]
    Repository(#[from] RepositoryError),
    /// The worktree cannot be removed.
    #[error("`{}` cannot be removed: {error}", path.display())]
    NotRemoved {
        /// The worktree.
        path: PathBuf,
        /// Why.
        error: std::io::Error,
    },
    /// The branch would be sent to a repository inside the project.
    #[error("the remote `{0}` is inside the project")]
    OwnRemote(String),
    /// Git said no.
    #[error(transparent)]
    Git(#[from] GitError),
}

/// What a run left.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RunBranch {
    /// The project's directory.
    #[serde(skip)]
    pub workspace: PathBuf,
    /// The branch.
    pub branch: String,
    /// The commit it started at.
    pub base: String,
    /// The commit it is at.
    pub head: String,
    /// Its worktree, while there is one.
    pub worktree: Option<PathBuf>,
    /// The files there that are not committed.
    pub uncommitted: Vec<String>,
    #[serde(skip)]
    name: String,
}

impl RunBranch {
    /// Every branch that runs left in a project; branches of the same names that others made are left out.
    pub fn all(workspace: &Path) -> Result<Vec<Self>, BranchError> {
        let list = Git::at(workspace).run(&["for-each-ref", "--format=%(refname:short)", "refs/heads/maestro/"])?;
        let names = list.lines().filter_map(|branch| branch.strip_prefix(worktrees::BRANCHES));
        let ours = names.map(|name| Self::from_name(workspace, name));
        ours.filter(|found| !matches!(found, Err(BranchError::NotOurs(_)))).collect()
    }

    /// The sessions that left a branch in a project.
    pub fn session_names(workspace: &Path) -> Result<Vec<String>, BranchError> {
        let list = Git::at(workspace).run(&["for-each-ref", "--format=%(refname:short)", "refs/heads/maestro/"])?;
        let names = list.lines().filter_map(|branch| branch.strip_prefix(worktrees::BRANCHES));
        Ok(names.filter(|name| name.starts_with("sess_")).map(str::to_owned).collect())
    }

    /// The branch that a run left in a project.
    pub fn of_run(workspace: &Path, run: &str) -> Result<Self, BranchError> {
        match Self::find_by_suffix(workspace, run)? {
            Some(branch) => Ok(branch),
            // Of a run that joined others only what it could not give them is left.
            None => Self::lane_of(workspace, run)?.ok_or(BranchError::None),
        }
    }

    /// The branch of a run that works for the branch of several, as long as it is there.
    pub fn lane_of(workspace: &Path, run: &str) -> Result<Option<Self>, BranchError> {
        Self::find_by_suffix(workspace, &format!("{run}{}", worktrees::LANE))
    }

    /// The branch of ours whose name ends so.
    fn find_by_suffix(workspace: &Path, end: &str) -> Result<Option<Self>, BranchError> {
        let list = Git::at(workspace).run(&["for-each-ref", "--format=%(refname:short)", "refs/heads/maestro/"])?;
        let found = list.lines().find(|branch| !end.is_empty() && branch.ends_with(end));
        found
            .and_then(|found| found.strip_prefix(worktrees::BRANCHES))
            .map(|name| Self::from_name(workspace, name))
            .transpose()
    }

    fn from_name(workspace: &Path, name: &str) -> Result<Self, BranchError> {
        let name = name.to_owned();
        let workspace = workspace.canonicalize().unwrap_or_else(|_| workspace.to_owned());
        let (branch, mark) = (worktrees::branch(&name), worktrees::base_ref(&name));
        let git = Git::at(&workspace);
        let base = git.resolve(&mark).map_err(|_| BranchError::NotOurs(branch.clone()))?;
        let head = git.resolve(&format!("refs/heads/{branch}"))?;
        let path = worktrees::path(&workspace, &name);
        let worktree = GitDirs::of_tree(&path);
        let mut uncommitted = Vec::new();
        if let Some(dirs) = &worktree {
            if dirs.head_file() != Some(format!("ref: refs/heads/{branch}")) {
                return Err(BranchError::Elsewhere { path, branch });
            }
            uncommitted = self::uncommitted(&path)?;
        }
        let worktree = worktree.map(|_| path);
        Ok(Self { workspace, branch, base, head, worktree, uncommitted, name })
    }

    fn git(&self) -> Git<'_> {
        Git::at(&self.workspace)
    }

    /// Whether another branch has all that was done on this one.
    pub fn is_merged_into(&self, other: &Self) -> bool {
        let ancestor = ["merge-base", "--is-ancestor", &self.head, &other.head];
        self.uncommitted.is_empty() && self.git().run(&ancestor).is_ok()
    }

    /// Whether the branch that is checked out in the project has all that was done on this one.
    pub fn is_merged(&self) -> bool {
        let ancestor = ["merge-base", "--is-ancestor", &self.head, "HEAD"];
        self.uncommitted.is_empty() && self.git().run(&ancestor).is_ok()
    }

    /// The first lines of its commits' messages, the oldest first.
    pub fn commits(&self) -> Result<Vec<String>, BranchError> {
        let range = format!("{}..{}", self.base, self.head);
        let log = self.git().run(&["log", "--reverse", "--no-merges", "--format=%s", &range, "--"])?;
        Ok(log.lines().map(str::to_owned).collect())
    }

    /// A text file as the branch has it.
    pub fn file(&self, path: &str) -> Result<String, BranchError> {
        Ok(self.git().run(&["cat-file", "blob", &format!("{}:{path}", self.head)])?)
    }

    /// The changes since its start.
    pub fn diff(&self) -> Result<String, BranchError> {
        let arguments = ["diff", "--no-ext-diff", "--no-textconv", "--no-color", &self.base, &self.head, "--"];
        Ok(self.git().run(&arguments)?)
    }

    /// The changes since its start, also those that are not committed yet.
    pub fn whole_diff(&self) -> Result<String, BranchError> {
        let place = self.worktree.as_deref().filter(|_| !self.uncommitted.is_empty());
        let Some((path, tree)) = place.and_then(|path| Some((path, git_changes::tree_hash(path)?))) else {
            return self.diff();
        };
        let arguments = ["diff", "--no-ext-diff", "--no-textconv", "--no-color", &self.base, &tree, "--"];
        Ok(Git::at(path).run(&arguments)?)
    }

    /// The names of the files that it changed.
    pub fn files(&self) -> Result<Vec<String>, BranchError> {
        Ok(self.git().names(&["diff", "--name-only", "--no-ext-diff", "-z", &self.base, &self.head, "--"])?)
    }

    /// The branch that is checked out in the project.
    pub fn target(&self) -> Result<String, BranchError> {
        self.git().current_branch().ok_or_else(|| BranchError::Detached(self.workspace.clone()))
    }

    /// Commits what is not committed in the worktree, and returns the branch as it is then.
    pub fn commit_rest(&self, message: &str, signing: CommitSigning) -> Result<Self, BranchError> {
        let Some(path) = self.worktree.as_ref().filter(|_| !self.uncommitted.is_empty()) else {
            return Ok(self.clone());
        };
        let git = Git::at(path).with_signing(signing);
        git.check_filters()?;
        let repository = git.repository()?;
        let tree = git::wait(snapshot::write_tree(&git, &repository, SnapshotScope::Everything))?;
        let made = git::wait(git.make_commit(&[&tree, "-p", &self.head, "-m", message]))?;
        git::wait(history::move_head(&git, &repository, &made, Some(&self.head)))?;
        Self::from_name(&self.workspace, &self.name)
    }

    /// Makes the merge with the branch that is checked out in the project. Neither branch moves yet.
    pub fn prepare_merge(&self, signing: CommitSigning) -> Result<BranchMerge, BranchError> {
        let into = self.target()?;
        self.check_clean()?;
        let message = format!("Merge {}", self.branch);
        let (git, repository) = (self.git().with_signing(signing), self.git().repository()?);
        match git::wait(history::prepare(&git, &repository, &self.head, &message))? {
            Ok(prepared) => Ok(BranchMerge { into, prepared }),
            Err(MergeObstacle::Conflict(files)) => {
                Err(BranchError::Conflict { branch: self.branch.clone(), into, files })
            }
            Err(MergeObstacle::Overwrites(files)) => {
                Err(BranchError::Overwrites { path: self.workspace.clone(), files })
            }
        }
    }

    /// Moves the checked-out branch to a merge, wholly or not at all; then removes this one.
    pub fn finish_merge(&self, merge: &BranchMerge) -> Result<(), BranchError> {
        self.check_clean()?;
        git::wait(history::apply(&self.git(), &self.git().repository()?, &merge.prepared))?;
        self.remove()
    }

    /// Refuses to merge while something is not committed, here or in the worktree.
    fn check_clean(&self) -> Result<(), BranchError> {
        if let Some(path) = self.worktree.clone().filter(|_| !self.uncommitted.is_empty()) {
            return Err(BranchError::Dirty { path, files: self.uncommitted.clone() });
        }
        match self.git().uncommitted(UntrackedFiles::LeftOut)? {
            files if files.is_empty() => Ok(()),
            files => Err(BranchError::Dirty { path: self.workspace.clone(), files }),
        }
    }

    /// What the last commit was made for: a run and one of its tickets. Nothing for a commit that Maestro did not make.
    pub fn last_ticket(&self) -> Option<String> {
        let format = format!("--format=%(trailers:key={TRAILER},valueonly,separator=%x20)");
        let found = self.git().run(&["log", "-n", "1", &format, &self.head, "--"]).ok()?;
        Some(found.trim().to_owned()).filter(|ticket| !ticket.is_empty())
    }

    /// Puts the merge of this branch and the checked-out one into the worktree, uncommitted, with both versions where
    /// they conflict. Returns the commit that is merged in, and the files with conflicts.
    pub fn join_target(&self) -> Result<(String, Vec<String>), BranchError> {
        self.check_clean()?;
        let Some(path) = &self.worktree else { return Err(BranchError::None) };
        let git = Git::at(path);
        let repository = git.repository()?;
        let theirs = self.git().resolve(&format!("refs/heads/{}", self.target()?))?;
        let merged = git::wait(history::merge_trees(&git, &repository, &self.head, &theirs))?;
        git.run(&["read-tree", "-m", "-u", &self.head, &merged.tree])?;
        git::wait(agent_dir::renew(&git, &repository))?;
        Ok((theirs, merged.conflicts))
    }

    /// Removes the worktree with all that is in it, the branch, and what was set aside meanwhile.
    pub fn discard(&self) -> Result<(), BranchError> {
        for branch in self.set_aside()? {
            let name = branch.strip_prefix(worktrees::BRANCHES).unwrap_or_default();
            self.git().run(&["update-ref", "-d", &format!("refs/heads/{branch}")])?;
            self.git().run(&["update-ref", "-d", &worktrees::base_ref(name)])?;
        }
        self.remove()
    }

    /// The branches with the work on tasks that were set aside.
    pub fn set_aside(&self) -> Result<Vec<String>, BranchError> {
        let prefix = format!("{}{}", self.branch, worktrees::ASIDE);
        let list = self.git().run(&["for-each-ref", "--format=%(refname:short)", "refs/heads/maestro/"])?;
        Ok(list.lines().filter(|branch| branch.starts_with(&prefix)).map(str::to_owned).collect())
    }

    /// Removes the worktree with all that is in it, and the branch.
    fn remove(&self) -> Result<(), BranchError> {
        let dirs = GitDirs::locate(&self.workspace)?;
        let path = worktrees::path(&self.workspace, &self.name);
        let removed = match &self.worktree {
            Some(path) => worktree_dir::remove(&dirs, &self.name, path),
            None => worktree_dir::forget(&dirs, &self.name),
        };
        removed.map_err(|error| BranchError::NotRemoved { path, error })?;
        // Only in the state that was checked: newer commits must stay.
        self.git().run(&["update-ref", "-d", &format!("refs/heads/{}", self.branch), &self.head])?;
        self.git().run(&["update-ref", "-d", &worktrees::base_ref(&self.name), &self.base])?;
        // These files are not read any more; a failed removal does no harm.
        let _ = std::fs::remove_dir_all(worktrees::claims_dir(&dirs.shared, &self.name));
        Ok(())
    }

    /// Variables with which another program's own calls of git run nothing that the repository's config names.
    pub fn guarded_variables(&self) -> Result<Vec<(String, String)>, BranchError> {
        Ok(self.git().guarded_variables()?)
    }

    /// Sends it to where the project is fetched from; says where that is, or nothing where there is no such place.
    pub fn push(&self) -> Result<Option<String>, BranchError> {
        let remotes = self.git().run(&["remote"])?;
        let Some(remote) = remotes.lines().find(|name| *name == "origin").or_else(|| remotes.lines().next()) else {
            return Ok(None);
        };
        self.check_remote(remote)?;
        let what = format!("refs/heads/{0}:refs/heads/{0}", self.branch);
        self.git().run(&["push", "--quiet", remote, &what])?;
        Ok(Some(remote.to_owned()))
    }
}

impl RunBranch {
    /// Refuses a remote that is a directory of the project: git would run the hooks there.
    fn check_remote(&self, remote: &str) -> Result<(), BranchError> {
        let addresses = self.git().run(&["remote", "get-url", "--push", "--all", remote])?;
        let root = GitDirs::locate(&self.workspace)?.root;
        let is_inside = |address: &str| {
            let path = self.workspace.join(address.strip_prefix("file://").unwrap_or(address));
            path.canonicalize().is_ok_and(|path| path.starts_with(&root))
        };
        if addresses.lines().any(is_inside) { Err(BranchError::OwnRemote(remote.to_owned())) } else { Ok(()) }
    }
}

/// A merge of a run's branch that is made and not checked out yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BranchMerge {
    /// The branch that it is merged into.
    pub into: String,
    prepared: PreparedMerge,
}

impl BranchMerge {
    /// How it comes about.
    pub fn kind(&self) -> MergeKind {
        self.prepared.kind
    }

    /// The commit that would be checked out.
    pub fn commit(&self) -> &str {
        &self.prepared.commit
    }
}

/// The directory in which a branch can be worked on beside what is checked out there, or why none can.
pub(crate) fn can_branch(workspace: &Path) -> Result<PathBuf, String> {
    let directory = workspace.canonicalize().map_err(|error| format!("{}: {error}", workspace.display()))?;
    let git = Git::at(&directory);
    match git.check_repository() {
        Err(RepositoryError::None(_)) => return Err("not a git repository".to_owned()),
        Err(error) => return Err(error.to_string()),
        Ok(()) => {}
    }
    let head = git.repository().map_err(|error| error.to_string())?.dirs.head_name();
    git.resolve(&format!("{head}^{{commit}}")).map_err(|_| "this repository has no commits yet".to_owned())?;
    Ok(directory)
}

/// The files of a tree that are not committed, also those that git does not know yet.
pub fn uncommitted(tree: &Path) -> Result<Vec<String>, BranchError> {
    Ok(Git::at(tree).uncommitted(UntrackedFiles::Listed)?)
}
