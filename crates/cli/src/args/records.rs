//! Arguments for records: database, handoffs, roles, names, manifests, tracked files.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use maestro_core::handoff::HandoffState;

use super::free_text::free_text;

/// Options of `maestro db`.
#[derive(Debug, Args)]
pub(crate) struct DbArgs {
    #[command(subcommand)]
    pub(crate) command: DbCommand,
}

/// Subcommands of `maestro db`.
#[derive(Debug, Subcommand)]
pub(crate) enum DbCommand {
    /// Write a copy of the database; it stays usable meanwhile
    Backup {
        /// File to write; default: a file with a timestamp in Maestro's home
        file: Option<PathBuf>,
    },
    /// Replace the database with a copy; the old one is kept beside it
    Restore {
        /// Copy to restore
        file: PathBuf,
    },
    /// Check the database; exit with 1 if something is wrong
    Check,
    /// Move old events of finished work to an archive; without --yes, show what would go
    Prune(PruneArgs),
}

/// Options of `maestro db prune`.
#[derive(Debug, Args)]
pub(crate) struct PruneArgs {
    /// Keep events of the last N days; default: `event_retention_days`
    #[arg(long, value_name = "N")]
    pub(crate) keep_days: Option<u32>,
    /// Archive to write; default: a file with a timestamp in Maestro's home
    #[arg(long, value_name = "FILE")]
    pub(crate) archive: Option<PathBuf>,
    /// Move them
    #[arg(long, short)]
    pub(crate) yes: bool,
}

/// Options of `maestro handoff`.
#[derive(Debug, Args)]
pub(crate) struct HandoffArgs {
    #[command(subcommand)]
    pub(crate) command: HandoffCommand,
}

/// Subcommands of `maestro handoff`.
#[derive(Debug, Subcommand)]
pub(crate) enum HandoffCommand {
    /// Hand work from one role to another
    Create(NewHandoffArgs),
    /// List handoffs, oldest first
    List {
        /// Only handoffs to this role
        #[arg(long, value_name = "ROLE")]
        to: Option<String>,
        /// Only handoffs with this status: pending, accepted or completed
        #[arg(long, value_name = "STATE", value_parser = state)]
        state: Option<HandoffState>,
    },
    /// Accept a handoff; only one session can
    Accept {
        /// Handoff ID
        id: String,
    },
    /// Mark a handoff you accepted as done
    Complete {
        /// Handoff ID
        id: String,
        /// Result of the work
        #[arg(long, value_name = "TEXT", value_parser = free_text, allow_hyphen_values = true)]
        result: Option<String>,
    },
}

/// Options of `maestro handoff create`.
#[derive(Debug, Args)]
pub(crate) struct NewHandoffArgs {
    /// Title, in one line
    #[arg(value_parser = free_text, allow_hyphen_values = true)]
    pub(crate) title: String,
    /// Role that hands the work over
    #[arg(long, value_name = "ROLE")]
    pub(crate) from: String,
    /// Role that receives it
    #[arg(long, value_name = "ROLE")]
    pub(crate) to: String,
    /// Task the handoff is about
    #[arg(long, value_name = "ID")]
    pub(crate) task: Option<String>,
    /// Text for the receiver
    #[arg(long, value_name = "TEXT", conflicts_with = "file", value_parser = free_text, allow_hyphen_values = true)]
    pub(crate) body: Option<String>,
    /// Read the text for the receiver from a file; `-` is standard input
    #[arg(long, value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
}

fn state(word: &str) -> Result<HandoffState, String> {
    HandoffState::from_word(word).ok_or_else(|| "expected pending, accepted or completed".to_owned())
}

/// Options of `maestro roles`.
#[derive(Debug, Args)]
pub(crate) struct RolesArgs {
    #[command(subcommand)]
    pub(crate) command: RolesCommand,
}

/// Subcommands of `maestro roles`.
#[derive(Debug, Subcommand)]
pub(crate) enum RolesCommand {
    /// List every role and the skills it needs
    List,
    /// Check that the skills of each role exist; exit with 1 if not
    Check {
        /// Only this role
        role: Option<String>,
    },
}

/// Options of `maestro session suggest-name`.
#[derive(Debug, Args)]
pub(crate) struct SuggestNameArgs {
    /// Role of the session; each role starts at a different place in the list
    pub(crate) role: String,
    /// Print up to N names
    #[arg(long, default_value_t = 3, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=50))]
    pub(crate) count: u8,
}

/// Options of `maestro manifest`.
#[derive(Debug, Args)]
pub(crate) struct ManifestArgs {
    #[command(subcommand)]
    pub(crate) command: ManifestCommand,
}

/// Subcommands of `maestro manifest`.
#[derive(Debug, Subcommand)]
pub(crate) enum ManifestCommand {
    /// Write a session's manifest: its tasks, model and skills
    Generate(GenerateArgs),
}

/// Options of `maestro manifest generate`.
#[derive(Debug, Args)]
pub(crate) struct GenerateArgs {
    /// Role: worker or orchestrator
    #[arg(long)]
    pub(crate) role: maestro_core::SessionRole,
    /// Project ID
    #[arg(long, value_name = "ID")]
    pub(crate) project_id: String,
    /// Task IDs, separated by commas; the first is the session's main task
    #[arg(long, value_name = "ID", value_delimiter = ',', required = true)]
    pub(crate) task_ids: Vec<String>,
    /// File to write
    #[arg(long, value_name = "FILE")]
    pub(crate) output: PathBuf,
    /// Skills, separated by commas; default: those of the role
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub(crate) skills: Option<Vec<String>>,
    /// Order in which the session takes its tasks
    #[arg(long, default_value = "simple")]
    pub(crate) strategy: StrategyArg,
}

/// Order in which a session takes its tasks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum StrategyArg {
    /// The tasks of the manifest
    Simple,
    /// One after the other
    Queue,
    /// A task and all its subtasks
    Tree,
}

impl StrategyArg {
    /// The word in a manifest.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Simple => "simple",
            Self::Queue => "queue",
            Self::Tree => "tree",
        }
    }
}

/// Options of `maestro track-file`.
#[derive(Debug, Args)]
pub(crate) struct TrackFileArgs {
    /// File that changed
    pub(crate) path: String,
}
