//! Branches of runs: their commits, merging and removal.
//!
//! Only what we made is ever removed: a branch counts as ours if its start commit is recorded beside it, a worktree if
//! it is in our directory and on that branch.

use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::git::{Git, GitDirs, GitError, UntrackedFiles, split_names};
use crate::worktrees;

/// How many names git gets at once.
const AT_ONCE: usize = 500;

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
    /// What git ignores lies where something would come.
    #[error("a merge would overwrite what git ignores in `{}`: {}", path.display(), files.join(", "))]
    Ignored {
        /// Where.
        path: PathBuf,
        /// Which files.
        files: Vec<String>,
    },
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
        let worktree = if path.join(".git").is_file() { Some(path) } else { None };
        let mut uncommitted = Vec::new();
        if let Some(path) = &worktree {
            if Git::at(path).current_branch().as_deref() != Some(branch.as_str()) {
                return Err(BranchError::Elsewhere { path: path.clone(), branch });
            }
            uncommitted = self::uncommitted(path)?;
        }
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

    /// The first lines of its commits' messages, the oldest first.
    pub fn commits(&self) -> Result<Vec<String>, BranchError> {
        let range = format!("{}..{}", self.base, self.head);
        let log = self.git().run(&["log", "--reverse", "--no-merges", "--format=%s", &range, "--"])?;
        Ok(log.lines().map(str::to_owned).collect())
    }

    /// The changes since its start.
    pub fn diff(&self) -> Result<String, BranchError> {
        let arguments = ["diff", "--no-ext-diff", "--no-textconv", "--no-color", &self.base, &self.head, "--"];
        Ok(self.git().run(&arguments)?)
    }

    /// The names of the files that it changed.
    pub fn files(&self) -> Result<Vec<String>, BranchError> {
        Ok(self.git().names(&["diff", "--name-only", "-z", &self.base, &self.head, "--"])?)
    }

    /// The branch that is checked out in the project.
    pub fn target(&self) -> Result<String, BranchError> {
        self.git().current_branch().ok_or_else(|| BranchError::Detached(self.workspace.clone()))
    }

    /// Merges it into the branch that is checked out in the project, wholly or not at all; then removes it. Returns the
    /// branch it was merged into.
    pub fn merge(&self) -> Result<String, BranchError> {
        let into = self.target()?;
        if let Some(path) = self.worktree.clone().filter(|_| !self.uncommitted.is_empty()) {
            return Err(BranchError::Dirty { path, files: self.uncommitted.clone() });
        }
        let files = self.git().uncommitted(UntrackedFiles::LeftOut)?;
        if !files.is_empty() {
            return Err(BranchError::Dirty { path: self.workspace.clone(), files });
        }
        self.check_ignored_files()?;
        let message = format!("Merge {}", self.branch);
        let careful = ["merge", "--quiet", "--no-edit", "--no-verify", "--no-overwrite-ignore"];
        let arguments = [&careful[..], &["-m", &message, &self.head]].concat();
        if let Err(error) = self.git().run(&arguments) {
            // Where git cannot list conflicts, its first error says why.
            let open = self.git().run(&["diff", "--name-only", "--diff-filter=U"]).unwrap_or_default();
            if self.git().resolve("MERGE_HEAD").is_ok() {
                // The tree was clean, so no work is lost.
                self.git().run(&["merge", "--abort"])?;
            }
            let files: Vec<String> = open.lines().map(str::to_owned).collect();
            if files.is_empty() {
                return Err(error.into());
            }
            return Err(BranchError::Conflict { branch: self.branch.clone(), into, files });
        }
        self.discard()?;
        Ok(into)
    }

    /// Ensures that no ignored file of the user is lost: git itself is careful only where nothing but the branch has
    /// moved.
    fn check_ignored_files(&self) -> Result<(), BranchError> {
        let range = format!("HEAD...{}", self.head);
        let added = self.git().run(&["diff", "--name-only", "--no-renames", "--diff-filter=A", "-z", &range, "--"])?;
        let is_there = |name: &&str| self.workspace.join(name).symlink_metadata().is_ok();
        let there: Vec<&str> = split_names(&added).filter(is_there).collect();
        let mut files = Vec::new();
        for some in there.chunks(AT_ONCE) {
            let ignored = ["ls-files", "--others", "--ignored", "--exclude-standard", "-z", "--"];
            files.extend(self.git().names(&[&ignored[..], some].concat())?);
        }
        if files.is_empty() { Ok(()) } else { Err(BranchError::Ignored { path: self.workspace.clone(), files }) }
    }

    /// Removes the worktree with all that is in it, and the branch.
    pub fn discard(&self) -> Result<(), BranchError> {
        if let Some(path) = &self.worktree {
            // Without it git refuses also where everything is committed, if there are submodules.
            self.git().run(&["worktree", "remove", "--force", &path.to_string_lossy()])?;
        }
        self.git().run(&["worktree", "prune"])?;
        // Only in the state that was checked: newer commits must stay.
        self.git().run(&["update-ref", "-d", &format!("refs/heads/{}", self.branch), &self.head])?;
        self.git().run(&["update-ref", "-d", &worktrees::base_ref(&self.name), &self.base])?;
        if let Some(claims) =
            GitDirs::of(&self.workspace).map(|places| worktrees::claims_dir(&places.shared, &self.name))
        {
            // These files are not read any more; a failed removal does no harm.
            let _ = std::fs::remove_dir_all(claims);
        }
        Ok(())
    }

    /// Sends it to where the project is fetched from; says where that is, or nothing where there is no such place.
    pub fn push(&self) -> Result<Option<String>, BranchError> {
        let remotes = self.git().run(&["remote"])?;
        let Some(remote) = remotes.lines().find(|name| *name == "origin").or_else(|| remotes.lines().next()) else {
            return Ok(None);
        };
        let what = format!("refs/heads/{0}:refs/heads/{0}", self.branch);
        self.git().run(&["push", "--quiet", remote, &what])?;
        Ok(Some(remote.to_owned()))
    }
}

/// The files of a tree that are not committed, also those that git does not know yet.
pub fn uncommitted(tree: &Path) -> Result<Vec<String>, BranchError> {
    Ok(Git::at(tree).uncommitted(UntrackedFiles::Listed)?)
}
