//! Arguments of `connect`, `disconnect` and `hook`.

use clap::{Args, ValueEnum};
use maestro_core::connect::SettingsScope;

/// Options of `maestro connect`.
#[derive(Debug, Args)]
pub(crate) struct ConnectArgs {
    /// Tools: claude-code, cursor, vscode, opencode, codex, gemini, goose, copilot, qwen, antigravity, zed, windsurf, kiro,
    /// junie, claude-desktop, amp, cline, crush, aider, or `all` installed ones
    #[arg(value_name = "CLIENT", required = true)]
    pub(crate) clients: Vec<String>,
    /// Change your own settings (user) or the ones this project shares (project)
    #[arg(long, value_name = "WHOSE", default_value = "user")]
    pub(crate) scope: ScopeChoice,
    /// Also add a command that starts this workflow (may be repeated)
    #[arg(long, value_name = "NAME")]
    pub(crate) workflow: Vec<String>,
    /// Also add hooks: they suggest skills at every prompt (claude-code, codex, gemini) and report sessions (cursor)
    #[arg(long)]
    pub(crate) hooks: bool,
    /// Also create settings for a tool that is not found on this machine
    #[arg(long)]
    pub(crate) create: bool,
    /// Show what would change, and change nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}

/// Options of `maestro disconnect`.
#[derive(Debug, Args)]
pub(crate) struct DisconnectArgs {
    /// Tools, or `all` connected ones
    #[arg(value_name = "CLIENT", required = true)]
    pub(crate) clients: Vec<String>,
    /// Change your own settings (user) or the ones this project shares (project)
    #[arg(long, value_name = "WHOSE", default_value = "user")]
    pub(crate) scope: ScopeChoice,
    /// Show what would change, and change nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}

/// Options of `maestro hook`.
#[derive(Debug, Args)]
pub(crate) struct HookArgs {
    /// Agent that calls the hook: claude-code, codex or gemini; the event is JSON on standard input
    #[arg(value_name = "AGENT")]
    pub(crate) agent: String,
}

/// Settings to change.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum ScopeChoice {
    /// Your own, for all projects
    User,
    /// The ones in this project
    Project,
}

impl From<ScopeChoice> for SettingsScope {
    fn from(choice: ScopeChoice) -> Self {
        match choice {
            ScopeChoice::User => Self::User,
            ScopeChoice::Project => Self::Project,
        }
    }
}
