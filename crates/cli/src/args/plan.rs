//! Arguments of `maestro plan`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::free_text::free_text;

/// Options of `maestro plan`.
#[derive(Debug, Args)]
pub(crate) struct PlanArgs {
    #[command(subcommand)]
    pub(crate) command: PlanCommand,
}

/// Subcommands of `maestro plan`.
#[derive(Debug, Subcommand)]
pub(crate) enum PlanCommand {
    /// Write a plan: an agent looks at the project and proposes one, or a recipe does
    New(PlanNewArgs),
    /// Print the next open task
    Next {
        /// Markdown plan
        #[arg(value_name = "PLAN.md")]
        file: PathBuf,
    },
    /// List every task and its state
    List {
        /// Markdown plan
        #[arg(value_name = "PLAN.md")]
        file: PathBuf,
    },
}

/// Options of `maestro plan new`.
#[derive(Debug, Args)]
pub(crate) struct PlanNewArgs {
    /// Goal, in a sentence; with a recipe, what it is about: "serde to 2", "crates/core", "clippy"
    #[arg(value_parser = free_text, allow_hyphen_values = true)]
    pub(crate) goal: String,
    /// Start from a recipe, without an agent: upgrade (a dependency), coverage (of tests) or lint (findings)
    #[arg(long, value_name = "NAME", conflicts_with = "agent", hide_possible_values = true)]
    pub(crate) recipe: Option<PlanRecipe>,
    /// Have this agent write it (see `maestro agents`); default: the setting `agent`, else the first one installed
    #[arg(long, value_name = "NAME")]
    pub(crate) agent: Option<String>,
    /// Write to this file
    #[arg(long, value_name = "PLAN.md", default_value = "PLAN.md")]
    pub(crate) file: PathBuf,
    /// Print the plan and write nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Do not ask for confirmation; an existing file is never replaced without being asked about
    #[arg(long, short)]
    pub(crate) yes: bool,
}

/// A plan that fits many projects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum PlanRecipe {
    /// Upgrade a dependency.
    Upgrade,
    /// Raise the coverage of tests.
    Coverage,
    /// Fix what a linter finds.
    Lint,
}
