//! Worktree of a session: opened before its agent starts, committed when its work is done.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use maestro_core::agent::spawn::SpawnSpec;
use maestro_core::id::SessionId;
use maestro_core::session::SessionStatus;
use maestro_core::workflow::definition::BuiltinCommand;
use maestro_core::workflow::run::{CommandExit, CommandSpec, Ticket};
use maestro_store::{NextStart, RenewSpawn, SessionById, SpawnRecord, StoreError, TaskById};
use tokio::time::{MissedTickBehavior, interval};

use super::launch::SpawnError;
use super::settle::SettledSession;
use super::{AgentWorker, LEASE};
use crate::blocking;
use crate::execute::{ExecutionEnv, Executor, Limits};
use crate::worktrees;

/// How often the claim is renewed meanwhile.
const BEAT: Duration = Duration::from_secs(3);
/// How long a step may take; setting up may install things.
const LIMITS: Limits = Limits { time: Duration::from_mins(30), output: 1024 * 1024 };

impl AgentWorker {
    /// Opens and sets up the worktree of a session that has one of its own, unless it is there.
    pub(super) async fn open_worktree(&self, spec: &SpawnSpec, spawn: &SpawnRecord) -> Result<(), SpawnError> {
        let (Some(name), workspace) = (&spec.worktree, PathBuf::from(&spec.workspace)) else { return Ok(()) };
        let there = workspace.clone();
        if blocking::run(move || there.is_dir()).await {
            return Ok(());
        }
        let Some(project) = worktrees::project_of(&workspace) else { return Err(SpawnError::NoWorkspace(workspace)) };
        let name = BTreeMap::from([("name".to_owned(), name.clone())]);
        self.perform(spawn, project, BuiltinCommand::WorktreeOpen, name).await.map_err(SpawnError::Worktree)?;
        let set_up = self.perform(spawn, &workspace, BuiltinCommand::WorktreeSetup, BTreeMap::new()).await;
        set_up.map_err(SpawnError::Worktree)
    }

    /// Commits what a session did in a worktree of its own, once it is completed. What could not be committed is said.
    pub(super) async fn commit_work(&self, spawn: &SpawnRecord, mut settled: SettledSession) -> SettledSession {
        let is_completed = matches!(&settled.after, NextStart::Over { status: SessionStatus::Completed, .. });
        let spec = serde_json::from_value::<SpawnSpec>(spawn.spec.clone()).ok();
        let Some(spec) = spec.filter(|spec| is_completed && spec.worktree.is_some()) else { return settled };
        let title = self.title(&spawn.session).await.unwrap_or_else(|_| format!("Work of session {}", spawn.session));
        let message = BTreeMap::from([("message".to_owned(), title)]);
        let committed = self.perform(spawn, Path::new(&spec.workspace), BuiltinCommand::GitCommit, message).await;
        if let Err(reason) = committed {
            tracing::warn!("the work is not committed: {reason}");
            settled.line = format!("{}; its work is not committed: {reason}", settled.line);
        }
        settled
    }

    /// What the session's commit says: the title of its main task.
    async fn title(&self, id: &SessionId) -> Result<String, StoreError> {
        let session = self.store.read(SessionById(id.clone())).await?;
        match session.tasks.first() {
            Some(task) => Ok(self.store.read(TaskById(task.clone())).await?.title),
            None => Ok(session.name),
        }
    }

    /// Carries out a built-in step for a session, and keeps the session meanwhile.
    async fn perform(
        &self,
        spawn: &SpawnRecord,
        workspace: &Path,
        builtin: BuiltinCommand,
        arguments: BTreeMap<String, String>,
    ) -> Result<(), String> {
        let env = ExecutionEnv {
            machine: Arc::clone(&self.machine),
            workspace: workspace.to_owned(),
            folders: Vec::new(),
            run: spawn.session.to_string(),
            socket: None,
        };
        let executor = Executor::new(env).await.map_err(|error| error.to_string())?;
        let ticket = Ticket::quoted(format!("{}#{}", builtin.word(), spawn.attempt));
        let order = CommandSpec::Builtin { builtin, arguments };
        let work = executor.execute(&order, &ticket, LIMITS);
        tokio::pin!(work);
        let mut beats = interval(BEAT);
        beats.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let done = loop {
            tokio::select! {
                done = &mut work => break done,
                _ = beats.tick() => self.keep_claim(&spawn.session).await?,
            }
        };
        match done.finish {
            CommandExit::Exited { code: 0, .. } => Ok(()),
            CommandExit::Exited { code, output } => Err(format!("exited with {code}: {output}")),
            CommandExit::Failed(reason) => Err(reason),
            CommandExit::TimedOut => Err("it took too long".to_owned()),
        }
    }

    /// Renews the claim to a session; an error if another worker has it.
    async fn keep_claim(&self, session: &SessionId) -> Result<(), String> {
        let worker = self.machine.identity.as_str().to_owned();
        let renew = RenewSpawn { session: session.clone(), worker, lease: LEASE, agent_session: None, tree: None };
        match self.store.write(renew).await {
            Err(StoreError::Rule(reason)) => Err(reason),
            // The database may be back with the next beat.
            _ => Ok(()),
        }
    }
}
