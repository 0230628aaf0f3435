//! Changes that a run or a session made to the files of its project, as git knows them.

use std::path::{Path, PathBuf};

use maestro_core::excerpt::first_bytes;
use maestro_engine::branches::RunBranch;
use maestro_engine::git_changes;

/// How much of a patch is kept.
const LARGEST: usize = 4 * 1024 * 1024;

/// What a run left on its branch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct BranchSize {
    pub(crate) added: usize,
    pub(crate) removed: usize,
    pub(crate) files: usize,
}

/// Whose changes they are, and what is known of them already.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct ChangeOwner {
    /// The run or the session.
    pub(crate) id: String,
    /// The project's directory.
    pub(crate) workspace: PathBuf,
    /// The commits it made, oldest first.
    pub(crate) commits: Vec<String>,
    /// Where it works without a branch of its own, and all files there before it started, as git names them.
    pub(crate) start: Option<(PathBuf, String)>,
}

/// What was changed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct WorkChanges {
    /// The branch, while there is one.
    pub(crate) branch: Option<BranchFacts>,
    /// The branch that it would be merged into.
    pub(crate) into: Option<String>,
    /// The files that are not committed.
    pub(crate) uncommitted: Vec<String>,
    pub(crate) size: BranchSize,
    /// The patch.
    pub(crate) diff: String,
    /// How many bytes of it are left out.
    pub(crate) cut: usize,
}

/// A branch of Maestro's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct BranchFacts {
    pub(crate) name: String,
    /// The commit it started at.
    pub(crate) base: String,
    pub(crate) worktree: Option<PathBuf>,
}

impl WorkChanges {
    /// Reads them; nothing where git knows of none. It waits for git.
    pub(crate) fn read(owner: &ChangeOwner) -> Option<Self> {
        let committed = || commits_diff(&owner.workspace, &owner.commits);
        if let Ok(branch) = RunBranch::of_run(&owner.workspace, &owner.id) {
            let into = branch.target().ok();
            // While its worktree is closed it cannot be read; what was committed can.
            let whole = branch.whole_diff().ok().filter(|diff| !diff.is_empty());
            let diff = whole.or_else(committed).unwrap_or_default();
            let changes = Self::of_patch(&diff);
            let facts = BranchFacts { name: branch.branch, base: branch.base, worktree: branch.worktree };
            return Some(Self { branch: Some(facts), into, uncommitted: branch.uncommitted, ..changes });
        }
        let since = || owner.start.as_ref().and_then(|(place, tree)| git_changes::diff_since(place, tree));
        committed().or_else(since).map(|diff| Self::of_patch(&diff))
    }

    fn of_patch(diff: &str) -> Self {
        let kept = first_bytes(diff, LARGEST);
        Self {
            size: BranchSize::of_patch(diff),
            cut: diff.len() - kept.len(),
            diff: kept.to_owned(),
            ..Self::default()
        }
    }
}

fn commits_diff(workspace: &Path, commits: &[String]) -> Option<String> {
    let (first, last) = (commits.first()?, commits.last()?);
    git_changes::diff_of_commits(workspace, first, last)
}
