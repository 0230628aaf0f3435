//! Merge of a run's branch whose tree has passed the project's checks.

use std::time::Duration;

use crate::blocking;
use crate::branches::{BranchError, BranchMerge, MergeKind, RunBranch};
use crate::execute::CommitVerdict;
use crate::git::CommitSigning;
use crate::{ExecutionEnv, Executor, Limits};

/// How long the checks of a merge may take.
const CHECK_TIME: Duration = Duration::from_mins(30);

/// When the project's checks run on a merge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CheckPolicy {
    /// Never.
    Skip,
    /// Unless it only moves the target to the last commit of the branch, which passed them before it was made.
    UnlessPassedBefore,
    /// Always.
    Run,
}

/// What the checks have to say about a merge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MergeCheck {
    /// They passed on its tree now.
    Passed(Vec<String>),
    /// They passed on this tree before it was committed.
    Before,
    /// There are none, or they were not wanted.
    None,
}

/// Why a merge was not made. Nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum CheckedMergeError {
    /// The branch cannot be merged, or the checks fail on what a merge would make.
    #[error(transparent)]
    Branch(#[from] BranchError),
    /// The checks cannot be executed here.
    #[error("the checks of the merge cannot run: {0}")]
    NoExecution(String),
}

/// Makes the merge of a branch, and runs the project's checks on its tree. Nothing refers to it yet:
/// [`RunBranch::finish_merge`] moves the target.
pub async fn prepare(
    branch: &RunBranch,
    signing: CommitSigning,
    policy: CheckPolicy,
    env: impl FnOnce() -> Result<ExecutionEnv, String>,
) -> Result<(BranchMerge, MergeCheck), CheckedMergeError> {
    let own = branch.clone();
    let merge = blocking::run(move || own.prepare_merge(signing)).await?;
    match (policy, merge.kind()) {
        (CheckPolicy::Skip, _) | (_, MergeKind::Nothing) => return Ok((merge, MergeCheck::None)),
        (CheckPolicy::UnlessPassedBefore, MergeKind::FastForward) => return Ok((merge, MergeCheck::Before)),
        _ => {}
    }
    let env = env().map_err(CheckedMergeError::NoExecution)?;
    let executor = Executor::new(env).await.map_err(|error| CheckedMergeError::NoExecution(error.to_string()))?;
    match executor.check_commit(merge.commit(), Limits { time: CHECK_TIME, ..Limits::default() }).await {
        CommitVerdict::NoChecks => Ok((merge, MergeCheck::None)),
        CommitVerdict::Passed(checks) => Ok((merge, MergeCheck::Passed(checks))),
        CommitVerdict::Failed(reason) => {
            let (branch, into) = (branch.branch.clone(), merge.into.clone());
            Err(BranchError::RedMerge { branch, into, reason }.into())
        }
    }
}
