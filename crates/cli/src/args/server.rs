//! Arguments of `up`, `update` and `events`.

use clap::Args;

/// Options of `maestro up`.
#[derive(Debug, Args)]
pub(crate) struct UpArgs {
    /// Listen on exactly this port
    #[arg(long, env = "PORT", hide_env = true)]
    pub(crate) port: Option<u16>,
    /// Listen on this address; anything but loopback requires a token
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) host: Option<std::net::IpAddr>,
    /// Require this token from clients
    #[arg(long, env = "MAESTRO_AUTH_TOKEN", hide_env_values = true)]
    pub(crate) token: Option<String>,
    /// Run up to N agents at once; 0 leaves them to other workers
    #[arg(long, value_name = "N", default_value_t = 8)]
    pub(crate) agents: usize,
    /// Stop when standard input closes (the parent process ended)
    #[arg(long, hide = true)]
    pub(crate) with_caller: bool,
}

/// Options of `maestro update`.
#[derive(Debug, Args)]
pub(crate) struct UpdateArgs {
    /// Progress so far or the next step; without it, only confirm the session is alive
    pub(crate) message: Option<String>,
    /// Only about these tasks, separated by commas
    #[arg(long, value_name = "ID", value_delimiter = ',')]
    pub(crate) task: Vec<String>,
}

/// Options of `maestro events`.
#[derive(Debug, Args)]
pub(crate) struct EventsArgs {
    /// Keep running and show new events
    #[arg(long, short)]
    pub(crate) follow: bool,
    /// Only events after this one
    #[arg(long, value_name = "SEQ")]
    pub(crate) since: Option<i64>,
    /// Only events of this task
    #[arg(long, value_name = "ID")]
    pub(crate) task: Option<String>,
    /// Only events of this session
    #[arg(long, value_name = "ID")]
    pub(crate) session: Option<String>,
}
