//! What can be typed about the tools that know Maestro?

use clap::{Args, ValueEnum};
use maestro_core::connect::Scope;

/// Options of `maestro connect`.
#[derive(Debug, Args)]
pub(crate) struct ConnectArgs {
    /// Which tools: claude-code, cursor, vscode, opencode, codex, gemini, goose, aider, or `all` that are here
    #[arg(value_name = "CLIENT", required = true)]
    pub(crate) clients: Vec<String>,
    /// Whose settings are changed: your own, or those that this project brings for everybody
    #[arg(long, value_name = "WHOSE", default_value = "user")]
    pub(crate) scope: ScopeChoice,
    /// Also let them start this workflow, by a file of their own (may be repeated)
    #[arg(long, value_name = "NAME")]
    pub(crate) workflow: Vec<String>,
    /// Also have them call Maestro at every prompt, so that the right skill is at hand: claude-code, codex, gemini
    #[arg(long)]
    pub(crate) hooks: bool,
    /// Show what would change, and change nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}

/// Options of `maestro disconnect`.
#[derive(Debug, Args)]
pub(crate) struct DisconnectArgs {
    /// Which tools, or `all` that are connected
    #[arg(value_name = "CLIENT", required = true)]
    pub(crate) clients: Vec<String>,
    /// Whose settings are changed: your own, or this project's
    #[arg(long, value_name = "WHOSE", default_value = "user")]
    pub(crate) scope: ScopeChoice,
    /// Show what would change, and change nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}

/// Options of `maestro hook`.
#[derive(Debug, Args)]
pub(crate) struct HookArgs {
    /// Whose hook it is: claude-code, codex or gemini; what happened comes as JSON on standard input
    #[arg(value_name = "AGENT")]
    pub(crate) agent: String,
}

/// Whose settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ScopeChoice {
    /// Yours, for all of your projects
    User,
    /// The project's
    Project,
}

impl From<ScopeChoice> for Scope {
    fn from(choice: ScopeChoice) -> Self {
        match choice {
            ScopeChoice::User => Self::User,
            ScopeChoice::Project => Self::Project,
        }
    }
}
