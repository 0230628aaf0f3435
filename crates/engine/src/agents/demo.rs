//! What does an agent do that needs no model? What it is told, to the letter: it really edits files, runs commands and
//! reports.
//!
//! It reads its prompt on standard input and prints what it does as one [`AgentEvent`] a line, or speaks the Agent
//! Client Protocol (`--acp`). A file named by `MAESTRO_DEMO_SCRIPT` makes it misbehave in any way an agent can.

mod act;
mod choose;
mod daemon;
mod memory;
mod perform;
mod place;
mod plain;
mod rpc;

use std::ffi::OsString;
use std::io;
use std::process::ExitCode;

use maestro_core::agent::{AgentEvent, ChoiceKind};

use act::Act;

/// The word after the program's name that makes it the demo agent.
pub const COMMAND: &str = "demo-agent";
/// How a prompt begins that tells an agent to go on where it was interrupted.
const INTERRUPTED: &str = "You were interrupted.";
/// The variable that names a script.
pub const SCRIPT: &str = "MAESTRO_DEMO_SCRIPT";

/// What it may do without asking.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Permission {
    /// Nothing.
    Ask,
    /// Edit files.
    Edits,
    /// Everything.
    All,
}

impl Permission {
    fn of(word: &str) -> Option<Self> {
        match word {
            "ask" => Some(Self::Ask),
            "edits" => Some(Self::Edits),
            "all" => Some(Self::All),
            _ => None,
        }
    }
}

/// How it came to the end of a turn.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Turn {
    /// Everything was done.
    Done,
    /// Somebody cancelled it.
    Cancelled,
    /// The model's server is made out to have failed.
    Failed { status: u16, message: String },
    /// The process is to end at once.
    Exit(u8),
}

/// Whoever hears what it does.
trait Audience {
    /// Something happened.
    fn tell(&mut self, event: AgentEvent) -> io::Result<()>;

    /// Something is printed that is no event.
    fn print(&mut self, bytes: &[u8]) -> io::Result<()>;

    /// Asks whether something may be done, and waits for the answer.
    fn ask(&mut self, call: &str, title: &str) -> io::Result<Answer>;

    /// Whether it was cancelled.
    fn is_cancelled(&self) -> bool;
}

/// An answer to a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Answer {
    Given(ChoiceKind),
    /// There is nobody who could answer, or it was cancelled.
    None,
}

/// Does what `maestro demo-agent` does; `arguments` are the words after that.
pub fn run(arguments: impl Iterator<Item = OsString>) -> ExitCode {
    let done = match Asked::of(arguments) {
        Some(Asked::Plain { resume, permission }) => plain::run(resume, permission),
        Some(Asked::Protocol) => rpc::run(),
        Some(Asked::Daemon(file)) => daemon::linger(&file),
        None => return ExitCode::from(2),
    };
    done.unwrap_or(ExitCode::FAILURE)
}

/// What was asked of it on the command line.
enum Asked {
    Plain { resume: Option<String>, permission: Permission },
    Protocol,
    Daemon(OsString),
}

impl Asked {
    fn of(mut arguments: impl Iterator<Item = OsString>) -> Option<Self> {
        let (mut resume, mut permission) = (None, Permission::All);
        while let Some(argument) = arguments.next() {
            match argument.to_str()? {
                "--acp" => return Some(Self::Protocol),
                daemon::ARGUMENT => return Some(Self::Daemon(arguments.next()?)),
                "--resume" => resume = Some(arguments.next()?.into_string().ok()?),
                "--permission" => permission = Permission::of(arguments.next()?.to_str()?)?,
                _ => return None,
            }
        }
        Some(Self::Plain { resume, permission })
    }
}

/// What is to be done in a turn: what the script says of it, else what the prompt says. Who was interrupted does again
/// what the prompt before said.
fn acts(prompts: &[String]) -> io::Result<(Vec<Act>, Reports)> {
    let turn = prompts.len().saturating_sub(1);
    let prompt = prompts.last().map_or("", String::as_str);
    let script = match std::env::var_os(SCRIPT).filter(|path| !path.is_empty()) {
        Some(path) => act::script(&std::fs::read_to_string(path)?, prompt)?,
        None => Vec::new(),
    };
    if let Some(acts) = script.into_iter().nth(turn) {
        return Ok((acts, Reports::AsScripted));
    }
    let told = prompts.iter().rev().find(|prompt| !prompt.starts_with(INTERRUPTED));
    Ok((act::understood(told.map_or(prompt, String::as_str)), Reports::ByItself))
}

/// Whether it reports without having been told to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reports {
    ByItself,
    AsScripted,
}
