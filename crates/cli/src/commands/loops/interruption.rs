//! Ctrl-C and a closed terminal while a loop is followed.

use std::io;
use std::thread;

use maestro_api::runs as runs_api;
use maestro_api::sessions::{self, SessionQuery, SteerAction};
use maestro_core::session::SessionStatus;
use serde_json::Value as Json;
use tokio::signal::unix::{Signal, SignalKind, signal};

use crate::client::CliClient;
use crate::host::runtime;
use crate::output::command_output::CommandResult;
use crate::output::error::CommandError;

/// The exit code of a command that a second Ctrl-C ended.
const INTERRUPTED: i32 = 130;

/// How a person stopped following.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FollowerSignal {
    /// Ctrl-C, or a request to end.
    Interrupt,
    /// The terminal was closed.
    HangUp,
}

/// The signals that a command waits for.
pub(super) struct FollowerSignals {
    interrupt: Signal,
    terminate: Signal,
    hang_up: Signal,
}

impl FollowerSignals {
    /// From now on these signals are waited for.
    pub(super) fn new() -> io::Result<Self> {
        Ok(Self {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
            hang_up: signal(SignalKind::hangup())?,
        })
    }

    /// The next one.
    pub(super) async fn next(&mut self) -> FollowerSignal {
        tokio::select! {
            _ = self.interrupt.recv() => FollowerSignal::Interrupt,
            _ = self.terminate.recv() => FollowerSignal::Interrupt,
            _ = self.hang_up.recv() => FollowerSignal::HangUp,
        }
    }
}

/// Ends the command with the next Ctrl-C, whatever it does then. Its own server ends with it.
pub(super) fn end_with_next_interrupt() {
    let waits = || -> io::Result<()> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime::wait(&runtime, async {
            signal(SignalKind::interrupt())?.recv().await;
            std::process::exit(INTERRUPTED)
        })
    };
    thread::spawn(move || waits().inspect_err(|error| tracing::warn!("a second Ctrl-C is not noticed: {error}")));
}

/// Pauses runs and the agents that work for them. What is over already stays so.
pub(super) fn pause(client: &CliClient, runs: &[String]) -> CommandResult<()> {
    for run in runs {
        match client.call(runs_api::steer(run, SteerAction::Pause)) {
            Err(error) if !error.is_refusal() => return Err(error),
            _ => {}
        }
    }
    steer_sessions(client, runs, SteerAction::Pause)
}

/// Lets the paused agents of runs go on.
pub(super) fn resume_sessions(client: &CliClient, runs: &[String]) -> CommandResult<()> {
    steer_sessions(client, runs, SteerAction::Resume)
}

/// Ends the agents that work for a run.
pub(super) fn end_sessions(client: &CliClient, run: &str) -> CommandResult<()> {
    steer_sessions(client, &[run.to_owned()], SteerAction::Cancel)
}

fn steer_sessions(client: &CliClient, runs: &[String], action: SteerAction) -> CommandResult<()> {
    for session in client.list(sessions::list(&SessionQuery::alive()))? {
        let run = session.metadata.get("run").and_then(Json::as_str);
        let ours = run.is_some_and(|run| runs.iter().any(|own| own == run));
        let fits = (action == SteerAction::Resume) == (session.status == SessionStatus::Paused)
            || action == SteerAction::Cancel;
        if ours && fits {
            match client.call(sessions::steer(&session.id, action)) {
                // It has ended meanwhile.
                Err(error) if error.is_refusal() => {}
                other => drop(other?),
            }
        }
    }
    Ok(())
}

/// That signals cannot be waited for.
pub(super) fn unwaitable(error: &io::Error) -> CommandError {
    CommandError::io("cannot wait for signals", error)
}
