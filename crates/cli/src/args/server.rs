//! What can be typed about the server and what it tells?

use clap::Args;

/// Options of `maestro up`.
#[derive(Debug, Args)]
pub(crate) struct UpArgs {
    /// Listen on this port, and on no other
    #[arg(long, env = "PORT", hide_env = true)]
    pub(crate) port: Option<u16>,
    /// Listen on this address; any but a loopback address needs a token
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) host: Option<std::net::IpAddr>,
    /// A token that callers must show
    #[arg(long, env = "MAESTRO_AUTH_TOKEN", hide_env_values = true)]
    pub(crate) token: Option<String>,
    /// How many agents may be at work at once; with 0 other workers start them
    #[arg(long, value_name = "N", default_value_t = 8)]
    pub(crate) agents: usize,
    /// End when standard input ends, with whoever started it
    #[arg(long, hide = true)]
    pub(crate) with_caller: bool,
}

/// Options of `maestro update`.
#[derive(Debug, Args)]
pub(crate) struct UpdateArgs {
    /// What was done, or is about to be; without it, only a sign of life
    pub(crate) message: Option<String>,
    /// About these tasks, separated by commas
    #[arg(long, value_name = "ID", value_delimiter = ',')]
    pub(crate) task: Vec<String>,
}

/// Options of `maestro events`.
#[derive(Debug, Args)]
pub(crate) struct EventsArgs {
    /// Go on with what happens from now on
    #[arg(long, short)]
    pub(crate) follow: bool,
    /// Only what happened after this event
    #[arg(long, value_name = "SEQ")]
    pub(crate) since: Option<i64>,
    /// Only about this task
    #[arg(long, value_name = "ID")]
    pub(crate) task: Option<String>,
    /// Only about this session
    #[arg(long, value_name = "ID")]
    pub(crate) session: Option<String>,
}
