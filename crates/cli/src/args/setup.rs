//! Arguments of commands that set Maestro up, bring earlier work along, and remove it.

use clap::Args;

/// Options of `maestro init`.
#[derive(Debug, Args)]
pub(crate) struct InitArgs {
    /// Do not ask for confirmation
    #[arg(long, short)]
    pub(crate) yes: bool,
    /// Also write the worker's skill to `.skills/maestro-worker`, for agents that Maestro does not start
    #[arg(long)]
    pub(crate) worker_skill: bool,
}

/// Options of `maestro upgrade`.
#[derive(Debug, Args)]
pub(crate) struct UpgradeArgs {
    /// Change nothing, which is always the case
    #[arg(long)]
    pub(crate) check: bool,
}
