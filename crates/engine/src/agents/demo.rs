//! Demo agent, which needs no model: it follows its prompt literally, edits files, runs commands and reports.
//!
//! It reads its prompt on standard input and prints what it does as one [`AgentEvent`] a line, or speaks the Agent
//! Client Protocol (`--acp`). A file named by `MAESTRO_DEMO_SCRIPT` makes it misbehave in any way an agent can.

mod action;
mod choose;
mod daemon;
mod memory;
mod path;
mod perform;
mod plain;
mod rpc;

use std::ffi::OsString;
use std::io;
use std::process::ExitCode;

use maestro_core::agent::{AgentEvent, PermissionChoiceKind};

use action::DemoAction;

/// The argument that makes this program the demo agent.
pub const COMMAND: &str = "demo-agent";
/// The start of a prompt that makes an agent resume after an interruption.
const INTERRUPTED: &str = "You were interrupted.";
/// The variable that names a script.
pub const SCRIPT: &str = "MAESTRO_DEMO_SCRIPT";

/// What it may do without asking.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DemoPermission {
    /// Nothing.
    Ask,
    /// Edit files.
    Edits,
    /// Everything.
    All,
}

impl DemoPermission {
    fn of(word: &str) -> Option<Self> {
        match word {
            "ask" => Some(Self::Ask),
            "edits" => Some(Self::Edits),
            "all" => Some(Self::All),
            _ => None,
        }
    }
}

/// How a turn ended.
#[derive(Debug, Clone, PartialEq, Eq)]
enum DemoTurnEnd {
    /// Everything was done.
    Done,
    /// It was cancelled.
    Cancelled,
    /// It simulates a failure of the model provider.
    Failed { status: u16, message: String },
    /// The process must end at once.
    Exit(u8),
}

/// The receiver of its events.
trait DemoOutput {
    /// Emits an event.
    fn emit(&mut self, event: AgentEvent) -> io::Result<()>;

    /// Prints something that is not an event.
    fn print(&mut self, bytes: &[u8]) -> io::Result<()>;

    /// Asks for permission, and waits for the answer.
    fn ask(&mut self, call: &str, title: &str) -> io::Result<DemoAnswer>;

    /// Whether it was cancelled.
    fn is_cancelled(&self) -> bool;
}

/// An answer to a permission request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DemoAnswer {
    Given(PermissionChoiceKind),
    /// No client can answer, or it was cancelled.
    None,
}

/// Runs `maestro demo-agent`; `arguments` are the arguments after that.
pub fn run(arguments: impl Iterator<Item = OsString>) -> ExitCode {
    let done = match DemoMode::of(arguments) {
        Some(DemoMode::Plain { resume, permission }) => plain::run(resume, permission),
        Some(DemoMode::Protocol) => rpc::run(),
        Some(DemoMode::Daemon(file)) => daemon::run_daemon(&file),
        None => return ExitCode::from(2),
    };
    done.unwrap_or(ExitCode::FAILURE)
}

/// The command line.
enum DemoMode {
    Plain { resume: Option<String>, permission: DemoPermission },
    Protocol,
    Daemon(OsString),
}

impl DemoMode {
    fn of(mut arguments: impl Iterator<Item = OsString>) -> Option<Self> {
        let (mut resume, mut permission) = (None, DemoPermission::All);
        while let Some(argument) = arguments.next() {
            match argument.to_str()? {
                "--acp" => return Some(Self::Protocol),
                daemon::ARGUMENT => return Some(Self::Daemon(arguments.next()?)),
                "--resume" => resume = Some(arguments.next()?.into_string().ok()?),
                "--permission" => permission = DemoPermission::of(arguments.next()?.to_str()?)?,
                _ => return None,
            }
        }
        Some(Self::Plain { resume, permission })
    }
}

/// The actions of a turn: those of the script, otherwise those of the prompt. A resumed session repeats the actions of
/// the prompt before.
fn turn_actions(prompts: &[String]) -> io::Result<(Vec<DemoAction>, DemoReporting)> {
    let turn = prompts.len().saturating_sub(1);
    let prompt = prompts.last().map_or("", String::as_str);
    let script = match std::env::var_os(SCRIPT).filter(|path| !path.is_empty()) {
        Some(path) => action::script(&std::fs::read_to_string(path)?, prompt)?,
        None => Vec::new(),
    };
    if let Some(acts) = script.into_iter().nth(turn) {
        return Ok((acts, DemoReporting::AsScripted));
    }
    let told = prompts.iter().rev().find(|prompt| !prompt.starts_with(INTERRUPTED));
    Ok((action::parse_prompt(told.map_or(prompt, String::as_str)), DemoReporting::ByItself))
}

/// Whether it reports without an instruction to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DemoReporting {
    ByItself,
    AsScripted,
}
