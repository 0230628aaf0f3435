//! Start of a conversation, common to all protocols: the agent's program and the streams to and from it.

use maestro_core::agent::Launch as Way;
use tokio::process::{ChildStderr, ChildStdout};
use tokio::sync::{mpsc, watch};

use super::lines::LineReader;
use super::pace::Pace;
use super::process::{self, Ended, Input, Process, WeakHandle};
use super::prompt_queue::MOST_PROMPTS;
use super::pulse::Pulse;
use super::teller::Teller;
use super::{Handle, Launch, LaunchError, Session, Talk, WAITING};
use crate::child::Stdin;

/// A started program that waits for its input.
pub(super) struct Opened {
    /// The handle for the caller, and the only one.
    pub(super) session: Session,
    pub(super) stdout: LineReader<ChildStdout>,
    pub(super) stderr: LineReader<ChildStderr>,
    pub(super) input: Input,
    /// The commands for it.
    pub(super) talk: mpsc::Receiver<Talk>,
    pub(super) teller: Teller,
    pub(super) pulse: Pulse,
    pub(super) pace: Pace,
    pub(super) ended: watch::Receiver<Option<Ended>>,
    pub(super) weak: WeakHandle,
}

/// Starts a program that reads its input from us; `known` is the agent's own id of its session, if it has one.
pub(super) async fn open(launch: &Launch, way: &Way, known: Option<String>) -> Result<Opened, LaunchError> {
    let spec = launch.spec(way, "", Stdin::Relay);
    let process = process::start(&launch.maestro, &spec, launch.limits).await?;
    let (events, told) = mpsc::channel(WAITING);
    let (agent_session, known) = watch::channel(known);
    let (talk, commands) = mpsc::channel(MOST_PROMPTS);
    let handle = Handle { process: process.handle.clone(), talk: Some(talk), agent_session: known };
    let session = Session { events: told, handle, sandbox: process.sandbox };
    let (ended, weak) = (process.handle.end(), process.handle.weak());
    // From here on only the caller holds the handle.
    let Process { stdout, stderr, input, pulse, pace, .. } = process;
    let teller = Teller::new(events, agent_session, pulse.clone());
    Ok(Opened { session, stdout, stderr, input, talk: commands, teller, pulse, pace, ended, weak })
}
