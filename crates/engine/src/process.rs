//! One program run to its end, within its time and with limited output.
//!
//! Dropping the future closes the socket to the supervisor, which then ends the program and all its descendants.

use std::io;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::process::{Child, Command};
use tokio::time::timeout;

use crate::child::{self, COMMAND, ChildReport, ChildSpec};
use crate::sandbox::SandboxReport;

/// What an order may use up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// How long it may take.
    pub time: Duration,
    /// How many bytes of its output are kept.
    pub output: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { time: Duration::from_mins(1), output: 256 * 1024 }
    }
}

impl Limits {
    /// The usual ones, with the time a definition gives.
    pub fn within(seconds: Option<u32>) -> Self {
        let usual = Self::default();
        Self { time: seconds.map_or(usual.time, |seconds| Duration::from_secs(seconds.into())), ..usual }
    }
}

/// How many bytes of the end of standard error are kept.
const STDERR_TAIL: usize = 4 * 1024;
/// How long a supervisor may take to end everything: its own timeout, and some more.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);

/// The result of a program.
#[derive(Debug)]
pub(crate) struct ProgramResult {
    pub(crate) how: ProgramExit,
    /// The start of its standard output.
    pub(crate) stdout: Vec<u8>,
    /// How many bytes were cut.
    pub(crate) cut: u64,
    /// The end of its standard error.
    pub(crate) stderr: Vec<u8>,
    /// What confined it; nothing where it never ran.
    pub(crate) sandbox: Option<SandboxReport>,
}

/// How a program ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ProgramExit {
    Exited(i32),
    Killed(i32),
    TimedOut,
    NotStarted(String),
}

/// The reports and output of a program so far.
#[derive(Default)]
struct CapturedOutput {
    said: Vec<ChildReport>,
    stdout: Vec<u8>,
    cut: u64,
    stderr: Vec<u8>,
}

/// Runs a program to its end or timeout.
pub(crate) async fn run(maestro: &Path, spec: &ChildSpec, limits: Limits) -> io::Result<ProgramResult> {
    let line = child::line(spec)?;
    let (mut supervisor, control) = supervise(maestro)?;
    let (words, mut control) = control.into_split();
    let (stdout, stderr) = (supervisor.stdout.take(), supervisor.stderr.take());
    let mut captured = CapturedOutput::default();
    let finished =
        timeout(limits.time, follow(words, &mut control, &line, stdout, stderr, &mut captured, limits)).await;
    if finished.is_err() {
        stop(&mut supervisor, control, &captured).await;
    } else {
        // It has reported everything; tokio reaps it should it not end at once.
        let _ = timeout(PATIENCE, supervisor.wait()).await;
    }
    let sandbox = captured.said.iter().find_map(|said| match said {
        ChildReport::Started { sandbox, .. } => Some(sandbox.clone()),
        _ => None,
    });
    let how = match captured.said.pop() {
        _ if finished.is_err() => ProgramExit::TimedOut,
        Some(ChildReport::Exited { code }) => ProgramExit::Exited(code),
        Some(ChildReport::Killed { signal }) => ProgramExit::Killed(signal),
        Some(ChildReport::NotStarted { reason }) => ProgramExit::NotStarted(reason),
        Some(
            ChildReport::Forked { .. }
            | ChildReport::Started { .. }
            | ChildReport::Paused { .. }
            | ChildReport::GoesOn {},
        )
        | None => ProgramExit::NotStarted("its supervisor died".to_owned()),
    };
    Ok(ProgramResult { how, stdout: captured.stdout, cut: captured.cut, stderr: captured.stderr, sandbox })
}

/// Starts a supervisor, which inherits nothing of our environment.
pub(crate) fn supervise(maestro: &Path) -> io::Result<(Child, UnixStream)> {
    let (ours, theirs) = std::os::unix::net::UnixStream::pair()?;
    ours.set_nonblocking(true)?;
    // Our copies of its ends close after this statement, so that we notice when the supervisor is gone.
    let child = Command::new(maestro)
        .arg(COMMAND)
        .env_clear()
        .current_dir("/")
        .stdin(Stdio::from(OwnedFd::from(theirs)))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    Ok((child, UnixStream::from_std(ours)?))
}

/// Sends the program to run, and collects its reports and output.
async fn follow(
    words: OwnedReadHalf,
    control: &mut OwnedWriteHalf,
    line: &[u8],
    stdout: Option<impl AsyncRead + Unpin>,
    stderr: Option<impl AsyncRead + Unpin>,
    captured: &mut CapturedOutput,
    limits: Limits,
) {
    let CapturedOutput { said, stdout: kept, cut, stderr: tail } = captured;
    let tell = async {
        // A supervisor that does not read reports nothing, either.
        let _ = control.write_all(line).await;
    };
    let receive = async {
        let mut words = BufReader::new(words).lines();
        while let Ok(Some(word)) = words.next_line().await {
            said.extend(serde_json::from_str::<ChildReport>(&word));
        }
        // The supervisor is gone without a report, perhaps killed by the program: its process group is killed.
        kill_group(said);
    };
    tokio::join!(tell, receive, keep_head(stdout, limits.output, kept, cut), keep_tail(stderr, tail));
}

/// Ends a program after its timeout; if the supervisor does not react, it is killed.
async fn stop(supervisor: &mut Child, mut control: OwnedWriteHalf, captured: &CapturedOutput) {
    // The end of the socket means the same, should the line not arrive.
    let _ = control.write_all(b"stop\n").await;
    drop(control);
    if timeout(PATIENCE, supervisor.wait()).await.is_ok() {
        return;
    }
    kill(supervisor, &captured.said).await;
}

/// Kills a supervisor that does not react, and all its descendants before they lose their parent.
pub(crate) async fn kill(supervisor: &mut Child, said: &[ChildReport]) {
    if let Some(supervisor) = supervisor.id() {
        child::kill_below(supervisor);
    }
    if let Err(error) = supervisor.kill().await {
        tracing::warn!("a supervisor that does not react cannot be killed: {error}");
    }
    kill_group(said);
}

/// Kills the group of a program that started and whose end was never reported.
pub(crate) fn kill_group(said: &[ChildReport]) {
    let Some(ChildReport::Forked { pid } | ChildReport::Started { pid, .. }) = said.last() else { return };
    if let Some(group) = i32::try_from(*pid).ok().and_then(Pid::from_raw) {
        // A group that ended meanwhile needs no signal.
        let _ = kill_process_group(group, Signal::KILL);
    }
}

/// Reads everything and keeps the start.
async fn keep_head(from: Option<impl AsyncRead + Unpin>, limit: usize, kept: &mut Vec<u8>, cut: &mut u64) {
    let Some(mut from) = from else { return };
    let mut piece = vec![0; 16 * 1024];
    while let Ok(read @ 1..) = from.read(&mut piece).await {
        let wanted = read.min(limit - kept.len());
        kept.extend_from_slice(&piece[..wanted]);
        *cut += (read - wanted) as u64;
    }
}

/// Reads everything and keeps the end.
async fn keep_tail(from: Option<impl AsyncRead + Unpin>, kept: &mut Vec<u8>) {
    let Some(mut from) = from else { return };
    let mut piece = vec![0; 16 * 1024];
    while let Ok(read @ 1..) = from.read(&mut piece).await {
        kept.extend_from_slice(&piece[..read]);
        let extra = kept.len().saturating_sub(STDERR_TAIL);
        kept.drain(..extra);
    }
}
