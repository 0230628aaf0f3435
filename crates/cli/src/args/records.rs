//! What can be typed about records: the database, hand-offs, roles, names, manifests, tracked files?

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use maestro_core::handoff::HandoffState;

/// Options of `maestro db`.
#[derive(Debug, Args)]
pub(crate) struct DbArgs {
    #[command(subcommand)]
    pub(crate) command: DbCommand,
}

/// What to do with the database.
#[derive(Debug, Subcommand)]
pub(crate) enum DbCommand {
    /// Write a copy, while others go on working
    Backup {
        /// Where to; without it, a file named after the time below Maestro's home
        file: Option<PathBuf>,
    },
    /// Put a copy in the database's place; what was there is kept beside it
    Restore {
        /// The copy
        file: PathBuf,
    },
    /// Look for what should not be; exit code 1 when there is something
    Check,
}

/// Options of `maestro handoff`.
#[derive(Debug, Args)]
pub(crate) struct HandoffArgs {
    #[command(subcommand)]
    pub(crate) command: HandoffCommand,
}

/// What to do with hand-offs.
#[derive(Debug, Subcommand)]
pub(crate) enum HandoffCommand {
    /// Pass work from one role to another
    Create(NewHandoffArgs),
    /// List what was passed on, oldest first
    List {
        /// Only what is for this role
        #[arg(long, value_name = "ROLE")]
        to: Option<String>,
        /// Only what is pending, accepted or completed
        #[arg(long, value_name = "STATE", value_parser = state)]
        state: Option<HandoffState>,
    },
    /// Take work that was passed on; only one can
    Accept {
        /// The hand-off
        id: String,
    },
    /// Say that work you took is done
    Complete {
        /// The hand-off
        id: String,
        /// What came of it
        #[arg(long, value_name = "TEXT")]
        result: Option<String>,
    },
}

/// Options of `maestro handoff create`.
#[derive(Debug, Args)]
pub(crate) struct NewHandoffArgs {
    /// What it is about, in a line
    pub(crate) title: String,
    /// The role that passes it on
    #[arg(long, value_name = "ROLE")]
    pub(crate) from: String,
    /// The role that gets it
    #[arg(long, value_name = "ROLE")]
    pub(crate) to: String,
    /// The task it is about
    #[arg(long, value_name = "ID")]
    pub(crate) task: Option<String>,
    /// What the other needs to know
    #[arg(long, value_name = "TEXT", conflicts_with = "file")]
    pub(crate) body: Option<String>,
    /// A file with what the other needs to know; `-` reads standard input
    #[arg(long, value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
}

fn state(word: &str) -> Result<HandoffState, String> {
    HandoffState::from_word(word).ok_or_else(|| "a hand-off is pending, accepted or completed".to_owned())
}

/// Options of `maestro roles`.
#[derive(Debug, Args)]
pub(crate) struct RolesArgs {
    #[command(subcommand)]
    pub(crate) command: RolesCommand,
}

/// What to do with roles.
#[derive(Debug, Subcommand)]
pub(crate) enum RolesCommand {
    /// List every role and the skills it needs
    List,
    /// See whether the skills that a role needs are there; exit code 1 when not
    Check {
        /// Only this role
        role: Option<String>,
    },
}

/// Options of `maestro session suggest-name`.
#[derive(Debug, Args)]
pub(crate) struct SuggestNameArgs {
    /// The role of the session; each begins at another place of the list
    pub(crate) role: String,
    /// How many
    #[arg(long, default_value_t = 3, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=50))]
    pub(crate) count: u8,
}

/// Options of `maestro manifest`.
#[derive(Debug, Args)]
pub(crate) struct ManifestArgs {
    #[command(subcommand)]
    pub(crate) command: ManifestCommand,
}

/// What to do with session manifests.
#[derive(Debug, Subcommand)]
pub(crate) enum ManifestCommand {
    /// Write what a session starts with: its tasks, model and skills
    Generate(GenerateArgs),
}

/// Options of `maestro manifest generate`.
#[derive(Debug, Args)]
pub(crate) struct GenerateArgs {
    /// worker or orchestrator
    #[arg(long)]
    pub(crate) role: maestro_core::Role,
    /// The project
    #[arg(long, value_name = "ID")]
    pub(crate) project_id: String,
    /// The tasks, separated by commas; the first is the session's own
    #[arg(long, value_name = "ID", value_delimiter = ',', required = true)]
    pub(crate) task_ids: Vec<String>,
    /// Where to write it
    #[arg(long, value_name = "FILE")]
    pub(crate) output: PathBuf,
    /// Skills, separated by commas; without it, the role's own
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub(crate) skills: Option<Vec<String>>,
    /// How the tasks are gone through
    #[arg(long, default_value = "simple")]
    pub(crate) strategy: Strategy,
}

/// How a session goes through its tasks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Strategy {
    /// Those of the manifest
    Simple,
    /// One after the other
    Queue,
    /// A task and everything below it
    Tree,
}

impl Strategy {
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
    /// The file that was changed
    pub(crate) path: String,
}
