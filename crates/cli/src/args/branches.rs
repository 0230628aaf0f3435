//! What can be typed about what a run left behind?

use clap::Args;

/// Options of `maestro diff`, `merge` and `pr`.
#[derive(Debug, Args)]
pub(crate) struct BranchArgs {
    /// The run, or the beginning of its id
    #[arg(value_name = "ID")]
    pub(crate) id: String,
}

/// Options of `maestro discard`.
#[derive(Debug, Args)]
pub(crate) struct DiscardArgs {
    /// The run, or the beginning of its id
    #[arg(value_name = "ID")]
    pub(crate) id: String,
    /// Do not ask
    #[arg(long, short)]
    pub(crate) yes: bool,
}
