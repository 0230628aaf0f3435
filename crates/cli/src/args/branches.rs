//! Arguments of commands for a run's branch.

use clap::Args;

/// Options of `maestro diff` and `pr`.
#[derive(Debug, Args)]
pub(crate) struct BranchArgs {
    /// Run ID, or the start of it
    #[arg(value_name = "ID")]
    pub(crate) id: String,
}

/// Options of `maestro merge`.
#[derive(Debug, Args)]
pub(crate) struct MergeArgs {
    /// Run ID, or the start of it
    #[arg(value_name = "ID")]
    pub(crate) id: String,
    /// Commit what is not committed in the worktree, and merge that too
    #[arg(long)]
    pub(crate) all: bool,
}

/// Options of `maestro discard`.
#[derive(Debug, Args)]
pub(crate) struct DiscardArgs {
    /// Run ID, or the start of it
    #[arg(value_name = "ID")]
    pub(crate) id: String,
    /// Do not ask for confirmation
    #[arg(long, short)]
    pub(crate) yes: bool,
}
