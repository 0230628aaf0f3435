//! Arguments of commands for a run's branch.

use clap::Args;

use super::WorkArgs;

/// Options of `maestro diff` and `pr`.
#[derive(Debug, Args)]
pub(crate) struct BranchArgs {
    /// Run ID, or the start of it; default: the only run that is ready
    #[arg(value_name = "ID")]
    pub(crate) id: Option<String>,
}

/// Options of `maestro merge`.
#[derive(Debug, Args)]
pub(crate) struct MergeArgs {
    /// Run ID, or the start of it; default: the only run that is ready
    #[arg(value_name = "ID")]
    pub(crate) id: Option<String>,
    /// Commit what is not committed in the worktree, and merge that too
    #[arg(long)]
    pub(crate) all: bool,
    /// Have an agent resolve a merge conflict or fix a failed check
    #[arg(long)]
    pub(crate) fix: bool,
    /// Agent for `--fix`; default: the run's
    #[arg(long, value_name = "NAME", requires = "fix")]
    pub(crate) agent: Option<String>,
    /// Merge without running the checks on the result
    #[arg(long, conflicts_with = "fix")]
    pub(crate) no_check: bool,
}

/// Options of `maestro revise`.
#[derive(Debug, Args)]
pub(crate) struct ReviseArgs {
    /// Run ID, or the start of it
    #[arg(value_name = "ID")]
    pub(crate) id: String,
    /// What to change, as for a review
    #[arg(allow_hyphen_values = true)]
    pub(crate) text: String,
    #[command(flatten)]
    pub(crate) work: WorkArgs,
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

/// Options of `maestro share`.
#[derive(Debug, Args)]
pub(crate) struct ShareArgs {
    /// Run ID, or the start of it
    #[arg(value_name = "ID")]
    pub(crate) id: String,
    /// File to write; default: `maestro-run-ID.html`
    #[arg(long, short, value_name = "FILE")]
    pub(crate) out: Option<std::path::PathBuf>,
    /// Replace the file if it exists
    #[arg(long)]
    pub(crate) force: bool,
}
