//! Supervised child processes: nothing of a program outlives Maestro.
//!
//! Everything we start goes through `maestro child`. That process leads a session of its own and adopts the processes
//! its program leaves behind. It reads what to run as one line of JSON on its standard input, which is one end of a
//! socket whose other end we hold; it reports the result on the same socket. Any further line from us, or the end of
//! the socket because we are gone, makes it end the program with all its descendants. Only a known [`ChildCommand`] means
//! something else: input for the program, pause, and resume.

mod control_group;
mod enter;
mod host_proxy;
#[cfg(target_os = "linux")]
mod init;
mod lease_watch;
mod pipe_passing;
mod process_tree;
mod supervise;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, BufRead, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, ExitCode, Stdio};

use rustix::process::WaitStatus;
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::sandbox::{SandboxReport, SandboxedProgram, WritePolicy};

/// The argument that makes this program a child supervisor.
pub const COMMAND: &str = "child";
/// The argument after that one for the second stage.
const ENTER: &str = "enter";
/// The argument instead for the first process of a program's own namespaces.
#[cfg(target_os = "linux")]
const INIT: &str = "init";
/// The longest line on the socket, in bytes.
const MAX_LINE: u64 = 32 * 1024 * 1024;

/// The program to run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChildSpec {
    /// The program's file.
    pub program: PathBuf,
    /// Its arguments, starting with its name.
    pub argv: Vec<String>,
    /// Its working directory.
    pub cwd: PathBuf,
    /// Its whole environment.
    pub env: BTreeMap<String, String>,
    /// Where it may write.
    pub policy: WritePolicy,
    /// Its standard input.
    #[serde(default)]
    pub stdin: ChildStdin,
}

/// The standard input of a program.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChildStdin {
    /// Nothing.
    #[default]
    Nothing,
    /// This file.
    File(PathBuf),
    /// What its supervisor receives, as [`ChildCommand`]s.
    Relay,
}

/// A message to the supervisor while a program runs. Anything else means that the program must end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChildCommand {
    /// Input for the program, if it reads from here ([`ChildStdin::Relay`]).
    Input(String),
    /// End of the input.
    Close {},
    /// Pause the program and all its descendants.
    Pause {},
    /// Resume them.
    GoOn {},
    /// The worker still has the session. After this time without another such message the program is paused, until the
    /// next one: by then another worker may have it.
    Renew {
        /// The time, in milliseconds.
        lease_ms: u64,
    },
}

/// A report about a program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChildReport {
    /// Its process exists, but cannot act yet: we know of it before it can harm its supervisor.
    Forked {
        /// The process, which leads a group of its own.
        pid: u32,
    },
    /// It runs.
    Started {
        /// As this process, which leads a group of its own.
        pid: u32,
        /// What confines it.
        sandbox: SandboxReport,
    },
    /// It could not be started.
    NotStarted {
        /// Why.
        reason: String,
    },
    /// It is paused, with all its descendants.
    Paused {
        /// All of them.
        still: Vec<StoppedProcess>,
    },
    /// It is resumed.
    GoesOn {},
    /// It exited, and no process of it is left.
    Exited {
        /// The exit code.
        code: i32,
    },
    /// A signal killed it, and no process of it is left.
    Killed {
        /// The signal.
        signal: i32,
    },
}

/// A report of the stages between a supervisor and its program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum StageReport {
    /// The program's namespaces exist, and this is their first process.
    Entered {
        /// Its pid, as the supervisor sees it.
        pid: u32,
    },
    /// The program can have no namespaces.
    NoNamespaces {
        /// Why.
        reason: String,
    },
    /// About the program itself.
    Program(ChildReport),
}

/// What the second stage makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum StageKind {
    /// Namespaces, and their first process.
    Namespaces,
    /// The program, confined by Landlock.
    Landlock,
}

/// A paused process, identified even if its pid is reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoppedProcess {
    /// Its pid.
    pub pid: u32,
    /// Its start time, in the kernel's ticks.
    pub began: u64,
}

/// Why a child failed.
#[derive(Debug, thiserror::Error)]
enum ChildError {
    #[error("a message on the socket is not valid: {0}")]
    Nonsense(#[from] serde_json::Error),
    #[error("the program needs namespaces, which are not available: {0}")]
    NoNamespaces(String),
    #[error("a line on the socket is longer than {MAX_LINE} bytes")]
    TooLong,
    #[error("{0}")]
    Io(#[from] io::Error),
}

/// Runs `maestro child`; `arguments` are the arguments after that.
///
/// It is for Maestro itself: a person who runs it gets an exit code and nothing else.
pub fn run(mut arguments: impl Iterator<Item = OsString>) -> ExitCode {
    let done = match arguments.next() {
        None => supervise::supervise(),
        Some(word) if word == ENTER => enter::enter(),
        #[cfg(target_os = "linux")]
        Some(word) if word == INIT => init::init(),
        Some(_) => return ExitCode::FAILURE,
    };
    if done.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

impl ChildSpec {
    fn sandboxed(&self) -> SandboxedProgram<'_> {
        SandboxedProgram { program: &self.program, cwd: &self.cwd, env: &self.env, policy: &self.policy }
    }

    /// Its program, ready to be started.
    fn command(&self, stdin: Stdio) -> Command {
        let mut command = Command::new(&self.program);
        if let Some((name, arguments)) = self.argv.split_first() {
            command.arg0(name).args(arguments);
        }
        command.env_clear().envs(&self.env).current_dir(&self.cwd).stdin(stdin);
        command
    }

    /// Its standard input; `relayed` is the pipe from its supervisor.
    fn open_stdin(&self, relayed: Option<OwnedFd>) -> Result<Stdio, String> {
        match &self.stdin {
            ChildStdin::Nothing | ChildStdin::Relay => Ok(relayed.map_or_else(Stdio::null, Stdio::from)),
            ChildStdin::File(path) => File::open(path)
                .map(Stdio::from)
                .map_err(|error| format!("cannot open the input of `{}`: {error}", self.program.display())),
        }
    }

    /// Why its program does not run.
    fn not_started(&self, error: &io::Error) -> String {
        format!("`{}` cannot be started: {error}", self.program.display())
    }
}

/// The socket that is our standard input. Programs do not inherit the copy.
fn socket() -> io::Result<UnixStream> {
    Ok(UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?))
}

/// The next line of the socket; nothing at its end.
fn receive<T: DeserializeOwned>(from: &mut impl BufRead) -> Result<Option<T>, ChildError> {
    let mut line = Vec::new();
    from.take(MAX_LINE).read_until(b'\n', &mut line)?;
    match line.last() {
        Some(b'\n') => Ok(Some(serde_json::from_slice(&line)?)),
        Some(_) if line.len() as u64 == MAX_LINE => Err(ChildError::TooLong),
        // A partial line: its writer is gone.
        Some(_) | None => Ok(None),
    }
}

fn send(to: &mut impl Write, what: &impl Serialize) -> Result<(), ChildError> {
    Ok(to.write_all(&line(what)?)?)
}

/// How a process ended, as a report about the program.
fn outcome(status: WaitStatus) -> Option<ChildReport> {
    let exited = status.exit_status().map(|code| ChildReport::Exited { code });
    exited.or_else(|| status.terminating_signal().map(|signal| ChildReport::Killed { signal }))
}

/// Kills all descendants of a supervisor that does not do so itself.
pub(crate) fn kill_below(supervisor: u32) {
    if let Some(root) = i32::try_from(supervisor).ok().and_then(rustix::process::Pid::from_raw) {
        process_tree::kill_below(root);
    }
    control_group::end_left(supervisor);
}

/// How many ticks of the processor all descendants of a process have used; nothing where that cannot be known.
pub(crate) fn cpu_ticks(root: u32) -> Option<u64> {
    process_tree::cpu_ticks(root)
}

/// Kills paused processes whose supervisor is gone: nothing else would ever resume them.
pub(crate) fn kill_stopped(still: &[StoppedProcess]) {
    process_tree::kill_stopped(still);
}

/// A value as a line of the socket.
pub(crate) fn line(what: &impl Serialize) -> Result<Vec<u8>, serde_json::Error> {
    let mut line = serde_json::to_vec(what)?;
    line.push(b'\n');
    Ok(line)
}
