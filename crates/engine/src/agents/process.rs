//! Long-running programs with live output, input and limits.
//!
//! Three parts do not wait for each other: the reader of its output, the writer of its input, and a task that
//! supervises its time and its end. That task holds the socket to the supervisor; once the last [`Handle`] is dropped,
//! or the task is gone, the program ends with all its descendants.

use std::io;
use std::path::Path;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::process::{Child, ChildStderr, ChildStdout};
use tokio::sync::{mpsc, oneshot, watch};
use tokio::time::timeout;

use super::lines::LineReader;
use super::pace::{Leader, Pace, Step};
use super::pulse::Pulse;
use crate::child::{self, Said, Spec, Stdin, Word};
use crate::process::{PATIENCE, kill, kill_group, supervise};
use crate::sandbox::Sandbox;

/// How long a program may take to start.
const BEGINNING: Duration = Duration::from_secs(30);
/// How many bytes of input are passed on at once.
const PIECE: usize = 256 * 1024;
/// How many pieces of input wait for the task that passes them on.
const PIECES: usize = 16;

/// The time limits of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// In all.
    pub time: Duration,
    /// Without output.
    pub idle: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self { time: Duration::from_hours(4), idle: Duration::from_mins(20) }
    }
}

/// Why a program did not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
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
pub struct Process {
    /// Its standard output.
    pub stdout: LineReader<ChildStdout>,
    /// Its standard error.
    pub stderr: LineReader<ChildStderr>,
    /// Its standard input, where it reads from us.
    pub input: Input,
    /// Its end.
    pub handle: Handle,
    /// Whether the sandbox restricts its writes.
    pub sandbox: Sandbox,
    pub(crate) pulse: Pulse,
    pub(crate) pace: Pace,
}

/// How a program ended, once none of its processes is left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ended {
    /// How.
    pub how: How,
    /// Why, if we ended it.
    pub because: Option<Because>,
}

/// How a program ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum How {
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
pub enum Because {
    /// It was cancelled.
    Cancelled,
    /// Its time was over.
    Time,
    /// It was idle for too long.
    Idle,
}

/// Keeps a program alive. When the last clone is dropped, the program ends.
#[derive(Debug, Clone)]
pub struct Handle {
    order: mpsc::UnboundedSender<Order>,
    ended: watch::Receiver<Option<Ended>>,
    pace: Pace,
}

/// A command for the supervising task.
#[derive(Debug)]
enum Order {
    /// End it.
    End,
    /// Pause or resume it; the caller is notified once it is done.
    Walk(Step, oneshot::Sender<()>),
}

/// Why a program cannot be paused or resumed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the program has ended")]
pub struct Over;

impl Handle {
    /// Ends the program and all its descendants: SIGTERM first, SIGKILL after five seconds.
    pub fn cancel(&self) {
        // If the task no longer receives, the program has ended.
        let _ = self.order.send(Order::End);
    }

    /// Pauses the program and all its descendants, and returns once they are stopped. Meanwhile no limit counts.
    pub async fn pause(&self) -> Result<(), Over> {
        self.walk(Step::Stands).await
    }

    /// Resumes them, and returns once that is done.
    pub async fn go_on(&self) -> Result<(), Over> {
        self.walk(Step::Moves).await
    }

    async fn walk(&self, step: Step) -> Result<(), Over> {
        let (done, confirmed) = oneshot::channel();
        self.order.send(Order::Walk(step, done)).map_err(|_| Over)?;
        confirmed.await.map_err(|_| Over)
    }

    /// Whether it runs.
    pub(crate) fn pace(&self) -> &Pace {
        &self.pace
    }

    /// How it ended, once it did.
    pub async fn wait(&self) -> Ended {
        let mut ended = self.ended.clone();
        let known = ended.wait_for(Option::is_some).await.ok().and_then(|ended| *ended);
        known.unwrap_or(Ended { how: How::Lost, because: None })
    }

    /// A way to end it that does not keep it alive.
    pub(crate) fn weak(&self) -> WeakHandle {
        WeakHandle(self.order.downgrade())
    }

    /// A way to wait for its end that does not keep it alive.
    pub(crate) fn end(&self) -> watch::Receiver<Option<Ended>> {
        self.ended.clone()
    }
}

/// Ends a program without keeping it alive.
#[derive(Debug)]
pub(crate) struct WeakHandle(mpsc::WeakUnboundedSender<Order>);

impl WeakHandle {
    /// Ends the program, as [`Handle::cancel`] does. Without any handle, it ends anyway.
    pub(crate) fn cancel(&self) {
        if let Some(order) = self.0.upgrade() {
            let _ = order.send(Order::End);
        }
    }
}

/// The standard input of a program. When the last clone is dropped, the input ends.
#[derive(Debug, Clone)]
pub struct Input(mpsc::Sender<Word>);

impl Input {
    /// Writes to its input. A program that does not read, or is gone, is not an error.
    pub async fn write(&self, text: &str) {
        let mut rest = text;
        while !rest.is_empty() {
            let (piece, more) = rest.split_at(rest.floor_char_boundary(PIECE));
            if self.0.send(Word::Input(piece.to_owned())).await.is_err() {
                return;
            }
            rest = more;
        }
    }

    /// Ends the input.
    pub async fn close(&self) {
        let _ = self.0.send(Word::Close {}).await;
    }
}

/// Starts a program, and returns once it runs.
pub async fn start(maestro: &Path, spec: &Spec, limits: Limits) -> Result<Process, StartError> {
    let line = child::line(spec)?;
    let (mut supervisor, control) = supervise(maestro)?;
    let (words, mut control) = control.into_split();
    control.write_all(&line).await?;
    let mut words = BufReader::new(words).lines();
    let mut reports = Vec::new();
    let beginning = async {
        while let Ok(Some(word)) = words.next_line().await {
            reports.extend(serde_json::from_str::<Said>(&word));
            if !matches!(reports.last(), Some(Said::Forked { .. })) {
                break;
            }
        }
    };
    let _ = timeout(BEGINNING, beginning).await;
    let (said, sandbox) = match reports.pop() {
        Some(said @ Said::Started { sandbox, .. }) => (said, sandbox),
        Some(Said::NotStarted { reason }) => return Err(StartError::NotStarted(reason)),
        last => {
            kill_group(last.as_slice());
            return Err(StartError::NotStarted("its supervisor did not start".to_owned()));
        }
    };
    let (Some(stdout), Some(stderr)) = (supervisor.stdout.take(), supervisor.stderr.take()) else {
        return Err(StartError::NotStarted("cannot read its output".to_owned()));
    };
    let pulse = Pulse::new();
    let (leader, pace) = Leader::new();
    let (order, orders) = mpsc::unbounded_channel();
    let (input, inputs) = mpsc::channel(PIECES);
    let (ending, ended) = watch::channel(None);
    let reads = if spec.stdin == Stdin::Relay { Reads::More } else { Reads::Nothing };
    let (beats, steps) = (pulse.clone(), pace.clone());
    let watch = Watch { supervisor, words, control, said, reads, limits, pulse: beats, pace: steps, leader };
    tokio::spawn(async move { ending.send_replace(Some(watch.over(orders, inputs).await)) });
    Ok(Process {
        stdout: LineReader::new(stdout, pulse.clone()),
        stderr: LineReader::new(stderr, pulse.clone()),
        input: Input(input),
        handle: Handle { order, ended, pace: pace.clone() },
        sandbox,
        pulse,
        pace,
    })
}

/// The supervising task of a program.
struct Watch {
    supervisor: Child,
    words: tokio::io::Lines<BufReader<OwnedReadHalf>>,
    control: OwnedWriteHalf,
    /// The last report about it.
    said: Said,
    reads: Reads,
    limits: Limits,
    pulse: Pulse,
    pace: Pace,
    leader: Leader,
}

impl Watch {
    async fn over(mut self, orders: mpsc::UnboundedReceiver<Order>, inputs: mpsc::Receiver<Word>) -> Ended {
        let because = self.until_over(orders, inputs).await;
        if because.is_some() {
            let _ = self.control.write_all(b"stop\n").await;
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
            Said::Exited { code } => How::Exited(code),
            Said::Killed { signal } => How::Killed(signal),
            _ => How::Lost,
        };
        if how == How::Lost {
            child::kill_still(self.leader.still());
        }
        // The supervisor is gone without a report: its process group is killed.
        kill_group(&[self.said]);
        Ended { how, because }
    }

    /// Records a report about the program.
    fn note(&mut self, word: &str) {
        match serde_json::from_str(word) {
            Ok(Said::Paused { still }) => self.leader.stands(still),
            Ok(Said::GoesOn {}) => self.leader.moves(),
            Ok(said) => self.said = said,
            Err(_) => {}
        }
    }

    /// Pauses or resumes it.
    async fn walk(&mut self, step: Step, done: oneshot::Sender<()>) {
        self.leader.told(step, &self.pulse, done);
        let word = match step {
            Step::Stands => Word::Pause {},
            Step::Moves => Word::GoOn {},
        };
        if let Ok(line) = child::line(&word) {
            let _ = self.control.write_all(&line).await;
        }
    }

    /// Passes on its input, until it ended or must end.
    async fn until_over(
        &mut self,
        mut orders: mpsc::UnboundedReceiver<Order>,
        mut inputs: mpsc::Receiver<Word>,
    ) -> Option<Because> {
        let (pulse, pace) = (self.pulse.clone(), self.pace.clone());
        let time_is_over = pace.elapse(self.limits.time);
        let too_silent = pulse.silent_for(self.limits.idle);
        tokio::pin!(time_is_over, too_silent);
        if self.reads == Reads::Nothing {
            inputs.close();
        }
        loop {
            tokio::select! {
                word = self.words.next_line() => match word {
                    Ok(Some(word)) => self.note(&word),
                    Ok(None) | Err(_) => return None,
                },
                order = orders.recv() => match order {
                    Some(Order::Walk(step, done)) => self.walk(step, done).await,
                    Some(Order::End) | None => return Some(Because::Cancelled),
                },
                word = inputs.recv(), if self.reads == Reads::More => {
                    let word = word.unwrap_or(Word::Close {});
                    if word == (Word::Close {}) {
                        self.reads = Reads::Nothing;
                        inputs.close();
                    }
                    if let Ok(line) = child::line(&word) {
                        let _ = self.control.write_all(&line).await;
                    }
                }
                () = &mut time_is_over => return Some(Because::Time),
                () = &mut too_silent => return Some(Because::Idle),
            }
        }
    }
}

/// The remaining input of a program. Any other message means that it must end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reads {
    More,
    Nothing,
}
