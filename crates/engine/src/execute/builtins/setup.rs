//! Setup of a new worktree.

use std::time::Instant;

use serde_json::{Value as Json, json};

use super::{BuiltinCall, BuiltinError};
use crate::execute::Limits;
use crate::host::{Host, TrustedCommands};

impl BuiltinCall<'_> {
    /// Runs one command after the other until one fails; where none is configured there is nothing to do. All of them
    /// together have the time of the step.
    pub(super) async fn set_up_worktree(&self) -> Result<Json, BuiltinError> {
        self.check_branch()?;
        let env = self.executor.env();
        let TrustedCommands { commands, files, .. } = env.ask_host(Host::setup_commands).await?;
        let executor = self.executor.without_socket().with_files(files).await?;
        let started = Instant::now();
        for command in &commands {
            let limits = Limits { time: self.limits.time.saturating_sub(started.elapsed()), ..self.limits };
            self.check(&executor, command, "", limits).await?;
        }
        Ok(json!({ "setup": commands }))
    }
}
