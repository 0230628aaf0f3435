//! Arguments of commands that set Maestro up, bring earlier work along, and remove it.

use std::path::PathBuf;

use clap::{Args, ValueEnum};

/// Options of `maestro init`.
#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a switch of its own on the command line")]
pub(crate) struct InitArgs {
    /// Do not ask for confirmation
    #[arg(long, short)]
    pub(crate) yes: bool,
    /// Also write the worker's skill to `.skills/maestro-worker`, for agents that Maestro does not start
    #[arg(long)]
    pub(crate) worker_skill: bool,
    /// Leave the settings of your coding tools alone
    #[arg(long)]
    pub(crate) no_tools: bool,
    /// Show what was found and what is proposed, and write nothing
    #[arg(long, conflicts_with = "yes")]
    pub(crate) dry_run: bool,
}

/// Options of `maestro upgrade`.
#[derive(Debug, Args)]
pub(crate) struct UpgradeArgs {
    /// Change nothing, which is always the case
    #[arg(long)]
    pub(crate) check: bool,
}

/// Options of `maestro uninstall`.
#[derive(Debug, Args)]
pub(crate) struct UninstallArgs {
    /// Show what would be removed, and remove nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Also remove branches and worktrees whose work is not merged
    #[arg(long)]
    pub(crate) unmerged: bool,
    /// Do not ask for confirmation
    #[arg(long, short)]
    pub(crate) yes: bool,
}

/// Options of `maestro import`.
#[derive(Debug, Args)]
pub(crate) struct ImportArgs {
    /// What to look for: maestro, loop, openskills, site-nine, scripts; default: all of them
    #[arg(value_name = "SOURCE")]
    pub(crate) sources: Vec<String>,
    /// Data folder of the first Maestro, if it is not ~/.maestro/data
    #[arg(long, value_name = "DIR")]
    pub(crate) data: Option<PathBuf>,
    /// Show what would come along and what would not, and write nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Do not ask for confirmation
    #[arg(long, short)]
    pub(crate) yes: bool,
}

/// A system that something comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ImportSource {
    /// The first Maestro's projects and tasks.
    Maestro,
    /// loopd's folder.
    Loop,
    /// `OpenSkills` in AGENTS.md.
    Openskills,
    /// site-nine's folders.
    SiteNine,
    /// Workflows as Python scripts.
    Scripts,
}

impl ImportSource {
    pub(crate) fn all() -> Vec<Self> {
        Self::value_variants().to_vec()
    }

    /// Its name for people.
    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::Maestro => "The first Maestro",
            Self::Loop => "loopd (.loop)",
            Self::Openskills => "OpenSkills (AGENTS.md)",
            Self::SiteNine => "site-nine (.opencode)",
            Self::Scripts => "Script workflows",
        }
    }

    /// Its name on the command line.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Maestro => "maestro",
            Self::Loop => "loop",
            Self::Openskills => "openskills",
            Self::SiteNine => "site-nine",
            Self::Scripts => "scripts",
        }
    }
}
