//! Arguments of `up`, `mcp`, `token`, `update` and `events`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::free_text::free_text;

/// Whether callers over the network need a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum AuthArg {
    /// They do.
    Token,
    /// They do not.
    Open,
}

/// Options of `maestro up`.
#[derive(Debug, Args)]
pub(crate) struct UpArgs {
    /// Listen on exactly this port
    #[arg(long, env = "PORT", hide_env = true)]
    pub(crate) port: Option<u16>,
    /// Listen on this address
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) host: Option<std::net::IpAddr>,
    /// Require a token over the network, or not: token, open
    #[arg(long, value_name = "MODE")]
    pub(crate) auth: Option<AuthArg>,
    /// Also accept the token in this file (`-`: standard input) or in `MAESTRO_AUTH_TOKEN`
    #[arg(long, value_name = "FILE")]
    pub(crate) token_file: Option<PathBuf>,
    /// Old form of --token-file; other users see the token in the list of processes
    #[arg(long, hide = true, conflicts_with = "token_file")]
    pub(crate) token: Option<String>,
    /// Open the page in a browser, signed in
    #[arg(long)]
    pub(crate) open: bool,
    /// Let phones in the local network sign in by a QR code
    #[arg(long, conflicts_with = "host")]
    pub(crate) phone: bool,
    /// Run up to N agents at once; 0 leaves them to other workers
    #[arg(long, value_name = "N", default_value_t = 8)]
    pub(crate) agents: usize,
    /// Stop when standard input closes (the parent process ended)
    #[arg(long, hide = true)]
    pub(crate) with_caller: bool,
}

/// Options of `maestro mcp`.
#[derive(Debug, Args)]
pub(crate) struct McpArgs {
    /// Work in this directory instead of the current one or the client's open folder
    #[arg(long, value_name = "DIR")]
    pub(crate) directory: Option<PathBuf>,
}

/// Options of `maestro update`.
#[derive(Debug, Args)]
pub(crate) struct UpdateArgs {
    /// Progress so far or the next step; without it, only confirm the session is alive
    #[arg(value_parser = free_text, allow_hyphen_values = true)]
    pub(crate) message: Option<String>,
    /// Only about these tasks, separated by commas
    #[arg(long, value_name = "ID", value_delimiter = ',')]
    pub(crate) task: Vec<String>,
    /// If your session is paused, wait until it is resumed or cancelled
    #[arg(long)]
    pub(crate) wait: bool,
}

/// Options of `maestro events`.
#[derive(Debug, Args)]
pub(crate) struct EventsArgs {
    /// Keep running and show new events
    #[arg(long, short)]
    pub(crate) follow: bool,
    /// Only events after this one, oldest first; default: the last hundred
    #[arg(long, value_name = "SEQ")]
    pub(crate) since: Option<i64>,
    /// Only events of this task
    #[arg(long, value_name = "ID")]
    pub(crate) task: Option<String>,
    /// Only events of this session
    #[arg(long, value_name = "ID")]
    pub(crate) session: Option<String>,
    /// Events of all projects
    #[arg(long)]
    pub(crate) all: bool,
    /// Events of an archive of `maestro db prune`; may be repeated
    #[arg(long, value_name = "FILE", conflicts_with = "follow")]
    pub(crate) archive: Vec<PathBuf>,
}

/// Options of `maestro token`.
#[derive(Debug, Args)]
pub(crate) struct TokenArgs {
    #[command(subcommand)]
    pub(crate) command: TokenCommand,
}

/// Subcommands of `maestro token`.
#[derive(Debug, Subcommand)]
pub(crate) enum TokenCommand {
    /// Create a token and print it, this once; `--project ID` limits it to a project
    Create {
        /// What it is for
        name: String,
        /// Allow reading only
        #[arg(long)]
        read: bool,
        /// End it after N days
        #[arg(long, value_name = "N")]
        days: Option<u32>,
    },
    /// List the tokens of programs, browsers and sessions
    List,
    /// Revoke a token
    Revoke {
        /// Token, by its ID; a session's ID revokes all of its tokens
        id: String,
    },
}
