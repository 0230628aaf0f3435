//! Built-in step that runs the configured checks.

use std::time::Instant;

use maestro_core::excerpt::last_bytes;
use maestro_core::workflow::command_words;
use maestro_core::workflow::run::{CommandExit, CommandSpec};
use serde_json::{Value as Json, json};

use super::{BuiltinCall, BuiltinError};
use crate::execute::{Executor, Limits};
use crate::host::{Host, TrustedCommands};

/// How many bytes of the end of a failed check's output are reported.
const LAST_WORDS: usize = 4 * 1024;
/// How much a check may print before the end of its output, which names the error, is lost.
const OUTPUT: usize = 16 * 1024 * 1024;

impl BuiltinCall<'_> {
    /// Runs one check after the other until one fails. All of them together have the time of the step.
    pub(super) async fn verify(&self) -> Result<Json, BuiltinError> {
        let env = self.executor.env();
        let TrustedCommands { commands: checks, files, origin } = env.ask_host(Host::checks).await?;
        let origin = if origin.is_empty() { origin } else { format!(" ({origin})") };
        if checks.is_empty() {
            let help = "name them in `.maestro/config.toml`, for example `verify = [\"cargo test\"]`";
            return Err(BuiltinError::Failed(format!("no checks are configured; {help}")));
        }
        let started = Instant::now();
        let executor = self.executor.without_socket().with_files(files).await?;
        let mut told = Vec::new();
        for check in &checks {
            let limits = Limits { time: self.limits.time.saturating_sub(started.elapsed()), output: OUTPUT };
            let began = Instant::now();
            self.check(&executor, check, &origin, limits).await?;
            told.push(format!("`{check}` {:.1} s", began.elapsed().as_secs_f64()));
        }
        Ok(json!({ "checks": checks, "told": format!("{}{origin}", told.join(", ")) }))
    }

    /// Runs one command; `origin` says where it is configured, for messages.
    pub(super) async fn check(
        &self,
        executor: &Executor,
        check: &str,
        origin: &str,
        limits: Limits,
    ) -> Result<(), BuiltinError> {
        let order =
            command_words::parse_command(check).map_err(|bad| format!("`{check}`: {}; {}", bad.message, bad.help))?;
        let CommandSpec::Program { program, arguments } = order else {
            return Err(BuiltinError::Failed(format!("`{check}` is no program")));
        };
        let arguments = executor.expand_arguments(&arguments).await.map_err(|reason| format!("`{check}`: {reason}"))?;
        match executor.program(&program, arguments, limits).await.finish {
            CommandExit::Exited { code: 0, .. } => Ok(()),
            CommandExit::Exited { code, output } => {
                let last = last_bytes(output.trim(), LAST_WORDS);
                Err(BuiltinError::Failed(format!("`{check}`{origin} exited with {code}:\n{last}")))
            }
            CommandExit::Failed(reason) => Err(BuiltinError::Failed(format!("`{check}`: {reason}"))),
            CommandExit::TimedOut => Err(BuiltinError::TimedOut),
        }
    }
}
