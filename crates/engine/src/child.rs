//! How does a program run so that nothing of it outlives us?
//!
//! Everything we start goes through `maestro child`. That process leads a session of its own and adopts whatever its
//! program leaves behind. It hears what to run as one line of JSON on its standard input, which is one end of a socket
//! whose other end we hold; on the same socket it says how that went. One more word from us, or the end of the socket
//! because we are gone, and it ends the program with everything that came of it. Only a [`Word`] it knows means something
//! else: what the program is to read, and that all of it is to stand still or to go on.

mod enter;
mod family;
mod pass;
mod supervise;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{self, BufRead, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::ExitCode;

use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::sandbox::{Policy, Sandbox};

/// The word after the program's name that makes it a child.
pub const COMMAND: &str = "child";
/// The word after that one for the second stage.
const ENTER: &str = "enter";
/// How many bytes a line of the socket may have.
const MAX_LINE: u64 = 32 * 1024 * 1024;

/// What to run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spec {
    /// The program's file.
    pub program: PathBuf,
    /// Its arguments, the first of which is what it is called by.
    pub argv: Vec<String>,
    /// Where it works.
    pub cwd: PathBuf,
    /// Its whole environment.
    pub env: BTreeMap<String, String>,
    /// Where it may write.
    pub policy: Policy,
    /// What it reads.
    #[serde(default)]
    pub stdin: Stdin,
}

/// What a program reads on its standard input.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stdin {
    /// Nothing.
    #[default]
    Nothing,
    /// This file.
    File(PathBuf),
    /// What its supervisor is told, as [`Word`]s.
    Relay,
}

/// What a supervisor is told while a program runs. Everything else means that it is to end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Word {
    /// This is for the program to read, if it reads from here ([`Stdin::Relay`]).
    Input(String),
    /// There is no more to read.
    Close {},
    /// The program and all that came of it are to stand still.
    Pause {},
    /// They are to go on.
    GoOn {},
}

/// What is said about a program.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Said {
    /// There is a process for it, which cannot do anything yet: whatever it does to its supervisor, we know of it.
    Forked {
        /// The process, which leads a group of its own.
        pid: u32,
    },
    /// It runs.
    Started {
        /// As this process, which leads a group of its own.
        pid: u32,
        /// Whether its writes are kept in bounds.
        sandbox: Sandbox,
    },
    /// It could not be started.
    NotStarted {
        /// Why.
        reason: String,
    },
    /// It stands still, with all that came of it.
    Paused {
        /// All of them.
        still: Vec<Still>,
    },
    /// It goes on.
    GoesOn {},
    /// It exited, and nothing of it is left.
    Exited {
        /// With this code.
        code: i32,
    },
    /// It died of a signal, and nothing of it is left.
    Killed {
        /// Of which.
        signal: i32,
    },
}

/// A process that stands still, known even when its number is given to another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Still {
    /// Its number.
    pub pid: u32,
    /// When it began, in the kernel's ticks.
    pub began: u64,
}

/// Why a child could not do its work.
#[derive(Debug, thiserror::Error)]
enum ChildError {
    #[error("what is said on the socket is no sense: {0}")]
    Nonsense(#[from] serde_json::Error),
    #[error("a line on the socket is longer than {MAX_LINE} bytes")]
    TooLong,
    #[error("{0}")]
    Io(#[from] io::Error),
}

/// Does what `maestro child` does; `arguments` are the words after that.
///
/// It is for Maestro itself: whoever types it gets an exit code and nothing else.
pub fn run(mut arguments: impl Iterator<Item = OsString>) -> ExitCode {
    let done = match arguments.next() {
        None => supervise::supervise(),
        Some(word) if word == ENTER => enter::enter(),
        Some(_) => return ExitCode::FAILURE,
    };
    if done.is_ok() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// The socket that is our standard input. The copy is not handed on to programs.
fn socket() -> io::Result<UnixStream> {
    Ok(UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?))
}

/// The next line of the socket; nothing at its end.
fn hear<T: DeserializeOwned>(from: &mut impl BufRead) -> Result<Option<T>, ChildError> {
    let mut line = Vec::new();
    from.take(MAX_LINE).read_until(b'\n', &mut line)?;
    match line.last() {
        Some(b'\n') => Ok(Some(serde_json::from_slice(&line)?)),
        Some(_) if line.len() as u64 == MAX_LINE => Err(ChildError::TooLong),
        // Whoever wrote half of it is gone.
        Some(_) | None => Ok(None),
    }
}

fn say(to: &mut impl Write, what: &impl Serialize) -> Result<(), ChildError> {
    Ok(to.write_all(&line(what)?)?)
}

/// Kills everybody below a supervisor that does not do so itself.
pub(crate) fn kill_below(supervisor: u32) {
    if let Some(root) = i32::try_from(supervisor).ok().and_then(rustix::process::Pid::from_raw) {
        family::kill_below(root);
    }
}

/// Kills those who stand still and whose supervisor is gone: nobody else would ever wake them.
pub(crate) fn kill_still(still: &[Still]) {
    family::kill_still(still);
}

/// Something as a line of the socket.
pub(crate) fn line(what: &impl Serialize) -> Result<Vec<u8>, serde_json::Error> {
    let mut line = serde_json::to_vec(what)?;
    line.push(b'\n');
    Ok(line)
}
