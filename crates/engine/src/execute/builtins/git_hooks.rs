//! Hooks of the repository before a commit, where the user's settings turn them on.
//!
//! They run inside the sandbox like any other program of a step: what they load from the worktree may be an agent's.

use std::collections::BTreeMap;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use maestro_core::workflow::run::CommandExit;

use super::{BuiltinCall, BuiltinError};
use crate::execute::SandboxReach;
use crate::git::{GitCaller as _, GuardedRepository, RealFolder, agent_dir};
use crate::host::{CommitHooks, Host};
use crate::worktrees;

/// Starts a hook by its path.
const START: &str = "exec \"$HOOK\" \"$@\"";

/// How long a message may be.
const MAX_MESSAGE: u64 = 1024 * 1024;

impl BuiltinCall<'_> {
    /// Runs the hook `pre-commit`, with everything that is to be committed in the index. What it changes in the files is
    /// committed with them. Says whether a hook ran.
    pub(super) async fn run_pre_commit(&self, repository: &GuardedRepository) -> Result<bool, BuiltinError> {
        let Some(hook) = self.find_hook("pre-commit", repository).await? else { return Ok(false) };
        // In a worktree of ours, git called by a hook sees the directory of the agent.
        agent_dir::renew(&self.with_long_output(), repository).await?;
        self.run_hook("pre-commit", hook, Vec::new()).await?;
        Ok(true)
    }

    /// Runs the hook `commit-msg`, and returns the message that it left.
    pub(super) async fn run_commit_msg(
        &self,
        repository: &GuardedRepository,
        message: String,
    ) -> Result<String, BuiltinError> {
        let Some(hook) = self.find_hook("commit-msg", repository).await? else { return Ok(message) };
        let cannot = |error: io::Error| format!("the message cannot be passed to `commit-msg`: {error}");
        let name = format!(".message-{}", uuid::Uuid::now_v7());
        let root = &repository.dirs.root;
        // Where the hook may write and nothing is committed.
        let folder =
            RealFolder::open(root).and_then(|root| root.make(".maestro")?.make("worktrees")).map_err(cannot)?;
        folder.write(&name, format!("{message}\n").as_bytes()).map_err(cannot)?;
        let file = root.join(worktrees::PLACE).join(&name);
        let ran = self.run_hook("commit-msg", hook, vec![file.display().to_string()]).await;
        let left = folder.read(&name, MAX_MESSAGE);
        let _ = std::fs::remove_file(file);
        ran?;
        let left = left.map_err(cannot)?.unwrap_or_default();
        Ok(String::from_utf8_lossy(&left).into_owned())
    }

    /// The file of a hook, if hooks are on and there is one. A directory for hooks that the repository's own config names
    /// does not count: it may be in the worktree.
    async fn find_hook(&self, name: &str, repository: &GuardedRepository) -> Result<Option<PathBuf>, BuiltinError> {
        if self.executor.env().ask_host(Host::git_programs).await?.hooks == CommitHooks::Skipped {
            return Ok(None);
        }
        let named = self.call(&["config", "--global", "--type=path", "--get", "core.hooksPath"], &[0, 1]).await?;
        let folder = match named.text.trim() {
            "" => repository.dirs.shared.join("hooks"),
            folder => PathBuf::from(folder),
        };
        let hook = folder.join(name);
        let is_program = |found: std::fs::Metadata| found.is_file() && found.permissions().mode() & 0o111 != 0;
        Ok(Some(hook).filter(|hook| hook.is_absolute() && hook.metadata().is_ok_and(is_program)))
    }

    async fn run_hook(&self, name: &str, hook: PathBuf, arguments: Vec<String>) -> Result<(), BuiltinError> {
        let words = ["-c", START, name].into_iter().map(str::to_owned).chain(arguments).collect();
        let variables = BTreeMap::from([("HOOK".to_owned(), hook.display().to_string())]);
        let executor = self.executor.without_socket();
        match executor.run("sh", words, &variables, SandboxReach::Workspace, self.limits).await.finish {
            CommandExit::Exited { code: 0, .. } => Ok(()),
            CommandExit::Exited { code, output } => {
                Err(BuiltinError::Left(format!("the hook `{name}` exited with {code}: {}", output.trim())))
            }
            CommandExit::Failed(reason) => Err(BuiltinError::Failed(format!("the hook `{name}`: {reason}"))),
            CommandExit::TimedOut => Err(BuiltinError::TimedOut),
        }
    }
}
