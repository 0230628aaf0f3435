//! Plain mode of the demo agent: events on standard output, one per line.

use std::io::{self, Read as _, Write as _};
use std::path::Path;
use std::process::ExitCode;

use maestro_core::agent::{AgentEvent, StopReason, failure_event};

use super::memory::DemoMemory;
use super::perform::perform;
use super::{DemoAnswer, DemoOutput, DemoPermission, DemoTurnEnd, turn_actions};

/// Reads a prompt, follows it, and prints the events.
pub(super) fn run(resume: Option<String>, permission: DemoPermission) -> io::Result<ExitCode> {
    let mut prompt = Vec::new();
    io::stdin().lock().read_to_end(&mut prompt)?;
    let prompt = String::from_utf8_lossy(&prompt);
    let mut out = EventPrinter;
    let memory = match resume {
        Some(id) => DemoMemory::load(&id),
        None => DemoMemory::new(),
    };
    let mut memory = match memory {
        Ok(memory) => memory,
        Err(error) => return fail(&mut out, None, &error.to_string()),
    };
    out.emit(AgentEvent::Began {
        agent_session: Some(memory.id.clone()),
        model: Some("demo".to_owned()),
        version: Some(env!("CARGO_PKG_VERSION").to_owned()),
    })?;
    memory.add(&prompt)?;
    let (acts, reports) = match turn_actions(&memory.prompts) {
        Ok(acts) => acts,
        Err(error) => return fail(&mut out, None, &format!("the script is not valid: {error}")),
    };
    match perform(&acts, reports, Path::new("."), permission, &mut out)? {
        DemoTurnEnd::Done | DemoTurnEnd::Cancelled => {
            out.emit(AgentEvent::Ended { stop: StopReason::EndTurn, text: None })?;
            Ok(ExitCode::SUCCESS)
        }
        DemoTurnEnd::Failed { status, message } => fail(&mut out, Some(status), &message),
        DemoTurnEnd::Exit(code) => Ok(ExitCode::from(code)),
    }
}

fn fail(out: &mut EventPrinter, status: Option<u16>, message: &str) -> io::Result<ExitCode> {
    out.emit(failure_event(status, message))?;
    out.emit(AgentEvent::Ended { stop: StopReason::Error, text: Some(message.to_owned()) })?;
    Ok(ExitCode::FAILURE)
}

/// Prints to standard output; permission requests cannot be answered.
struct EventPrinter;

impl DemoOutput for EventPrinter {
    fn emit(&mut self, event: AgentEvent) -> io::Result<()> {
        let mut line = serde_json::to_vec(&event)?;
        line.push(b'\n');
        self.print(&line)
    }

    fn print(&mut self, bytes: &[u8]) -> io::Result<()> {
        let mut stdout = io::stdout().lock();
        stdout.write_all(bytes)?;
        stdout.flush()
    }

    fn ask(&mut self, _call: &str, _title: &str) -> io::Result<DemoAnswer> {
        Ok(DemoAnswer::None)
    }

    fn is_cancelled(&self) -> bool {
        false
    }
}
