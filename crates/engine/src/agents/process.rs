//! Long-running programs with live output, input and limits.
//!
//! Three parts do not wait for each other: the reader of its output, the writer of its input, and a task that
//! supervises its time and its end. That task holds the socket to the supervisor; once the last [`ProcessHandle`] is dropped,
//! or the task is gone, the program ends with all its descendants.

use std::io;
use std::path::Path;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::process::{Child, ChildStderr, ChildStdout};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::{MissedTickBehavior, interval, timeout};

use super::cpu_use::CpuUse;
use super::idle::IdleTimer;
use super::lines::LineReader;
use super::pause::{PauseControl, PauseWatch, ProgramState};
use crate::child::{self, ChildCommand, ChildReport, ChildSpec, ChildStdin};
use crate::process::{PATIENCE, kill, kill_group, supervise};
use crate::sandbox::SandboxReport;

/// How long a program may take to start.
const BEGINNING: Duration = Duration::from_secs(30);
/// How many bytes of input are passed on at once.
const PIECE: usize = 256 * 1024;
/// How many pieces of input wait for the task that passes them on.
const PIECES: usize = 16;

/// The time limits of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProcessLimits {
    /// In all.
    pub time: Duration,
    /// Without output.
    pub idle: Duration,
}

impl Default for ProcessLimits {
    fn default() -> Self {
        Self { time: Duration::from_hours(4), idle: Duration::from_mins(20) }
    }
}

/// Why a program did not start.
#[derive(Debug, thiserror::Error)]
pub enum ProcessStartError {
    /// Our own program could not be started to supervise it.
    #[error("cannot start a supervisor: {0}")]
    Unable(#[from] io::Error),
    /// The command cannot be encoded.
    #[error("cannot encode the command: {0}")]
    Unspeakable(#[from] serde_json::Error),
    /// The program itself.
    #[error("{0}")]
    NotStarted(String),
}

/// A running program.
#[derive(Debug)]
pub struct AgentProcess {
    /// Its standard output.
    pub stdout: LineReader<ChildStdout>,
    /// Its standard error.
    pub stderr: LineReader<ChildStderr>,
    /// Its standard input, where it reads from us.
    pub input: ProcessInput,
    /// Its end.
    pub handle: ProcessHandle,
    /// What confines it.
    pub sandbox: SandboxReport,
    pub(crate) idle: IdleTimer,
    pub(crate) pause: PauseWatch,
}

/// How a program ended, once none of its processes is left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProcessOutcome {
    /// How.
    pub how: ProcessExit,
    /// Why, if we ended it.
    pub because: Option<KillReason>,
}

/// How a program ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProcessExit {
    /// It exited with a code.
    Exited(
        /// The code.
        i32,
    ),
    /// A signal killed it.
    Killed(
        /// The signal.
        i32,
    ),
    /// Unknown: its supervisor died, and it was killed.
    Lost,
}

/// Why we ended a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KillReason {
    /// It was cancelled.
    Cancelled,
    /// Its time was over.
    Time,
    /// It was idle for too long.
    Idle,
}

/// Keeps a program alive. When the last clone is dropped, the program ends.
#[derive(Debug, Clone)]
pub struct ProcessHandle {
    order: mpsc::UnboundedSender<ProcessControl>,
    ended: watch::Receiver<Option<ProcessOutcome>>,
    pause: PauseWatch,
}

/// A command for the supervising task.
#[derive(Debug)]
enum ProcessControl {
    /// End it.
    End,
    /// Let it go on for this time.
    Renew(Duration),
    /// Pause or resume it; the caller is notified once it is done.
    Walk(ProgramState, oneshot::Sender<()>),
}

/// Why a program cannot be paused or resumed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the program has ended")]
pub struct ProcessEnded;

impl ProcessHandle {
    /// Ends the program and all its descendants: SIGTERM first, SIGKILL after five seconds.
    pub fn cancel(&self) {
        // If the task no longer receives, the program has ended.
        let _ = self.order.send(ProcessControl::End);
    }

    /// Lets the program go on for this time; after that it is paused until the next call.
    pub fn renew(&self, lease: Duration) {
        let _ = self.order.send(ProcessControl::Renew(lease));
    }

    /// Pauses the program and all its descendants, and returns once they are stopped. Meanwhile no limit counts.
    pub async fn pause(&self) -> Result<(), ProcessEnded> {
        self.set_paused(ProgramState::Paused).await
    }

    /// Resumes them, and returns once that is done.
    pub async fn resume(&self) -> Result<(), ProcessEnded> {
        self.set_paused(ProgramState::Running).await
    }

    async fn set_paused(&self, step: ProgramState) -> Result<(), ProcessEnded> {
        let (done, confirmed) = oneshot::channel();
        self.order.send(ProcessControl::Walk(step, done)).map_err(|_| ProcessEnded)?;
        confirmed.await.map_err(|_| ProcessEnded)
    }

    /// Whether it runs.
    pub(crate) fn pause_watch(&self) -> &PauseWatch {
        &self.pause
    }

    /// How it ended, once it did.
    pub async fn wait(&self) -> ProcessOutcome {
        let mut ended = self.ended.clone();
        let known = ended.wait_for(Option::is_some).await.ok().and_then(|ended| *ended);
        known.unwrap_or(ProcessOutcome { how: ProcessExit::Lost, because: None })
    }

    /// A way to end it that does not keep it alive.
    pub(crate) fn weak(&self) -> WeakProcessHandle {
        WeakProcessHandle(self.order.downgrade())
    }

    /// A way to wait for its end that does not keep it alive.
    pub(crate) fn end_watch(&self) -> watch::Receiver<Option<ProcessOutcome>> {
        self.ended.clone()
    }
}

/// Ends a program without keeping it alive.
#[derive(Debug)]
pub(crate) struct WeakProcessHandle(mpsc::WeakUnboundedSender<ProcessControl>);

impl WeakProcessHandle {
    /// Ends the program, as [`ProcessHandle::cancel`] does. Without any handle, it ends anyway.
    pub(crate) fn cancel(&self) {
        if let Some(order) = self.0.upgrade() {
            // If the task no longer receives, the program has ended.
            let _ = order.send(ProcessControl::End);
        }
    }
}

/// The standard input of a program. When the last clone is dropped, the input ends.
#[derive(Debug, Clone)]
pub struct ProcessInput(mpsc::Sender<ChildCommand>);

impl ProcessInput {
    /// Writes to its input. A program that does not read, or is gone, is not an error.
    pub async fn write(&self, text: &str) {
        let mut rest = text;
        while !rest.is_empty() {
            let (piece, more) = rest.split_at(rest.floor_char_boundary(PIECE));
            if self.0.send(ChildCommand::Input(piece.to_owned())).await.is_err() {
                return;
            }
            rest = more;
        }
    }

    /// Ends the input.
    pub async fn close(&self) {
        // If the task no longer receives, the program has ended.
        let _ = self.0.send(ChildCommand::Close {}).await;
    }
}

/// Starts a program, and returns once it runs.
pub async fn start(maestro: &Path, spec: &ChildSpec, limits: ProcessLimits) -> Result<AgentProcess, ProcessStartError> {
    let line = child::line(spec)?;
    let (mut supervisor, control) = supervise(maestro)?;
    let (words, mut control) = control.into_split();
    control.write_all(&line).await?;
    let mut words = BufReader::new(words).lines();
    let mut reports = Vec::new();
    let beginning = async {
        while let Ok(Some(word)) = words.next_line().await {
            reports.extend(serde_json::from_str::<ChildReport>(&word));
            if !matches!(reports.last(), Some(ChildReport::Forked { .. })) {
                break;
            }
        }
    };
    // The reports tell whether it started in time.
    let _ = timeout(BEGINNING, beginning).await;
    let (said, sandbox) = match reports.pop() {
        Some(ChildReport::Started { pid, sandbox }) => {
            (ChildReport::Started { pid, sandbox: sandbox.clone() }, sandbox)
        }
        Some(ChildReport::NotStarted { reason }) => return Err(ProcessStartError::NotStarted(reason)),
        last => {
            kill_group(last.as_slice());
            return Err(ProcessStartError::NotStarted("its supervisor did not start".to_owned()));
        }
    };
    let (Some(stdout), Some(stderr)) = (supervisor.stdout.take(), supervisor.stderr.take()) else {
        return Err(ProcessStartError::NotStarted("cannot read its output".to_owned()));
    };
    let pulse = IdleTimer::new();
    let (leader, pace) = PauseControl::new();
    let (order, orders) = mpsc::unbounded_channel();
    let (input, inputs) = mpsc::channel(PIECES);
    let (ending, ended) = watch::channel(None);
    let reads = if spec.stdin == ChildStdin::Relay { InputState::Open } else { InputState::Closed };
    let (beats, steps) = (pulse.clone(), pace.clone());
    let watch = ProcessWatch {
        supervisor,
        words,
        control,
        said,
        reads,
        limits,
        idle: beats,
        pause: steps,
        pause_control: leader,
    };
    tokio::spawn(async move { ending.send_replace(Some(watch.watch(orders, inputs).await)) });
    Ok(AgentProcess {
        stdout: LineReader::new(stdout, pulse.clone()),
        stderr: LineReader::new(stderr, pulse.clone()),
        input: ProcessInput(input),
        handle: ProcessHandle { order, ended, pause: pace.clone() },
        sandbox,
        idle: pulse,
        pause: pace,
    })
}

/// The supervising task of a program.
struct ProcessWatch {
    supervisor: Child,
    words: tokio::io::Lines<BufReader<OwnedReadHalf>>,
    control: OwnedWriteHalf,
    /// The last report about it.
    said: ChildReport,
    reads: InputState,
    limits: ProcessLimits,
    idle: IdleTimer,
    pause: PauseWatch,
    pause_control: PauseControl,
}

impl ProcessWatch {
    async fn watch(
        mut self,
        orders: mpsc::UnboundedReceiver<ProcessControl>,
        inputs: mpsc::Receiver<ChildCommand>,
    ) -> ProcessOutcome {
        let because = self.wait_until_end(orders, inputs).await;
        if because.is_some() {
            self.send(b"stop\n").await;
        }
        // The program sees the end of its input when all writers are gone.
        let _ = self.control.shutdown().await;
        let rest = async {
            while let Ok(Some(word)) = self.words.next_line().await {
                self.note(&word);
            }
        };
        if timeout(PATIENCE, rest).await.is_err() || timeout(PATIENCE, self.supervisor.wait()).await.is_err() {
            kill(&mut self.supervisor, std::slice::from_ref(&self.said)).await;
        }
        let how = match self.said {
            ChildReport::Exited { code } => ProcessExit::Exited(code),
            ChildReport::Killed { signal } => ProcessExit::Killed(signal),
            _ => ProcessExit::Lost,
        };
        if how == ProcessExit::Lost {
            child::kill_stopped(self.pause_control.paused_processes());
        }
        // The supervisor is gone without a report: its process group is killed.
        kill_group(&[self.said]);
        ProcessOutcome { how, because }
    }

    /// Records a report about the program.
    fn note(&mut self, word: &str) {
        match serde_json::from_str(word) {
            Ok(ChildReport::Paused { still }) => self.pause_control.mark_paused(still),
            Ok(ChildReport::GoesOn {}) => self.pause_control.mark_running(),
            Ok(said) => self.said = said,
            Err(_) => {}
        }
    }

    /// Pauses or resumes it.
    async fn set_paused(&mut self, step: ProgramState, done: oneshot::Sender<()>) {
        self.pause_control.request(step, &self.idle, done);
        let word = match step {
            ProgramState::Paused => ChildCommand::Pause {},
            ProgramState::Running => ChildCommand::GoOn {},
        };
        self.send_command(&word).await;
    }

    async fn send_command(&mut self, command: &ChildCommand) {
        match child::line(command) {
            Ok(line) => self.send(&line).await,
            Err(error) => tracing::error!("a command for the supervisor cannot be encoded: {error}"),
        }
    }

    /// Sends a line to the supervisor. One that reads no more has ended, and so has its program.
    async fn send(&mut self, line: &[u8]) {
        let _ = self.control.write_all(line).await;
    }

    /// Passes on its input, until it ended or must end.
    async fn wait_until_end(
        &mut self,
        mut orders: mpsc::UnboundedReceiver<ProcessControl>,
        mut inputs: mpsc::Receiver<ChildCommand>,
    ) -> Option<KillReason> {
        let (pulse, pace) = (self.idle.clone(), self.pause.clone());
        let time_is_over = pace.sleep_running(self.limits.time);
        let too_silent = pulse.wait_idle(self.limits.idle);
        tokio::pin!(time_is_over, too_silent);
        let mut used = CpuUse::new(self.supervisor.id(), self.limits.idle);
        let mut looks = interval(used.every());
        looks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        if self.reads == InputState::Closed {
            inputs.close();
        }
        loop {
            tokio::select! {
                word = self.words.next_line() => match word {
                    Ok(Some(word)) => self.note(&word),
                    Ok(None) | Err(_) => return None,
                },
                order = orders.recv() => match order {
                    Some(ProcessControl::Walk(step, done)) => self.set_paused(step, done).await,
                    Some(ProcessControl::Renew(lease)) => {
                        let lease_ms = u64::try_from(lease.as_millis()).unwrap_or(u64::MAX);
                        self.send_command(&ChildCommand::Renew { lease_ms }).await;
                    }
                    Some(ProcessControl::End) | None => return Some(KillReason::Cancelled),
                },
                word = inputs.recv(), if self.reads == InputState::Open => {
                    let word = word.unwrap_or(ChildCommand::Close {});
                    if word == (ChildCommand::Close {}) {
                        self.reads = InputState::Closed;
                        inputs.close();
                    }
                    self.send_command(&word).await;
                }
                _ = looks.tick() => if used.is_busy().await { pulse.touch() },
                () = &mut time_is_over => return Some(KillReason::Time),
                () = &mut too_silent => return Some(KillReason::Idle),
            }
        }
    }
}

/// The remaining input of a program. Any other message means that it must end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum InputState {
    Open,
    Closed,
}
