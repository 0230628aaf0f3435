//! Start of a conversation, common to all protocols: the agent's program and the streams to and from it.

use maestro_core::agent::LaunchSpec as Way;
use tokio::process::{ChildStderr, ChildStdout};
use tokio::sync::{mpsc, watch};

use super::event_sender::EventSender;
use super::idle::IdleTimer;
use super::lines::LineReader;
use super::pause::PauseWatch;
use super::process::{AgentProcess, ProcessInput, ProcessOutcome, WeakProcessHandle};
use super::prompt_queue::MOST_PROMPTS;
use super::{AgentHandle, AgentLaunch, AgentStartError, DriverCommand, RunningAgent, WAITING};
use crate::child::ChildStdin;

/// A started program that waits for its input.
pub(super) struct OpenedAgent {
    /// The handle for the caller, and the only one.
    pub(super) session: RunningAgent,
    pub(super) stdout: LineReader<ChildStdout>,
    pub(super) stderr: LineReader<ChildStderr>,
    pub(super) input: ProcessInput,
    /// The commands for it.
    pub(super) talk: mpsc::Receiver<DriverCommand>,
    pub(super) sender: EventSender,
    pub(super) idle: IdleTimer,
    pub(super) pause: PauseWatch,
    pub(super) ended: watch::Receiver<Option<ProcessOutcome>>,
    pub(super) weak: WeakProcessHandle,
}

/// Starts a program that reads its input from us; `known` is the agent's own id of its session, if it has one.
pub(super) async fn open(
    launch: &AgentLaunch,
    way: &Way,
    known: Option<String>,
) -> Result<OpenedAgent, AgentStartError> {
    let spec = launch.spec(way, "", ChildStdin::Relay);
    let process = launch.start_program(&spec).await?;
    let (events, told) = mpsc::channel(WAITING);
    let (agent_session, known) = watch::channel(known);
    let (talk, commands) = mpsc::channel(MOST_PROMPTS);
    let handle = AgentHandle { process: process.handle.clone(), talk: Some(talk), agent_session: known };
    let session = RunningAgent { events: told, handle, sandbox: process.sandbox };
    let (ended, weak) = (process.handle.end_watch(), process.handle.weak());
    // From here on only the caller holds the handle.
    let AgentProcess { stdout, stderr, input, idle: pulse, pause: pace, .. } = process;
    let teller = EventSender::new(events, agent_session, pulse.clone());
    Ok(OpenedAgent {
        session,
        stdout,
        stderr,
        input,
        talk: commands,
        sender: teller,
        idle: pulse,
        pause: pace,
        ended,
        weak,
    })
}
