//! Plain mode of the demo agent: events on standard output, one per line.

use std::io::{self, Read as _, Write as _};
use std::path::Path;
use std::process::ExitCode;

use maestro_core::agent::{AgentEvent, Stop, trouble};

use super::memory::Memory;
use super::perform::perform;
use super::{Answer, Audience, Permission, Turn, acts};

/// Reads a prompt, follows it, and prints the events.
pub(super) fn run(resume: Option<String>, permission: Permission) -> io::Result<ExitCode> {
    let mut prompt = Vec::new();
    io::stdin().lock().read_to_end(&mut prompt)?;
    let prompt = String::from_utf8_lossy(&prompt);
    let mut out = Printer;
    let memory = match resume {
        Some(id) => Memory::load(&id),
        None => Memory::new(),
    };
    let mut memory = match memory {
        Ok(memory) => memory,
        Err(error) => return fail(&mut out, None, &error.to_string()),
    };
    out.tell(AgentEvent::Began {
        agent_session: Some(memory.id.clone()),
        model: Some("demo".to_owned()),
        version: Some(env!("CARGO_PKG_VERSION").to_owned()),
    })?;
    memory.add(&prompt)?;
    let (acts, reports) = match acts(&memory.prompts) {
        Ok(acts) => acts,
        Err(error) => return fail(&mut out, None, &format!("the script is not valid: {error}")),
    };
    match perform(&acts, reports, Path::new("."), permission, &mut out)? {
        Turn::Done | Turn::Cancelled => {
            out.tell(AgentEvent::Ended { stop: Stop::EndTurn, text: None })?;
            Ok(ExitCode::SUCCESS)
        }
        Turn::Failed { status, message } => fail(&mut out, Some(status), &message),
        Turn::Exit(code) => Ok(ExitCode::from(code)),
    }
}

fn fail(out: &mut Printer, status: Option<u16>, message: &str) -> io::Result<ExitCode> {
    out.tell(trouble(status, message))?;
    out.tell(AgentEvent::Ended { stop: Stop::Error, text: Some(message.to_owned()) })?;
    Ok(ExitCode::FAILURE)
}

/// Prints to standard output; permission requests cannot be answered.
struct Printer;

impl Audience for Printer {
    fn tell(&mut self, event: AgentEvent) -> io::Result<()> {
        let mut line = serde_json::to_vec(&event)?;
        line.push(b'\n');
        self.print(&line)
    }

    fn print(&mut self, bytes: &[u8]) -> io::Result<()> {
        let mut stdout = io::stdout().lock();
        stdout.write_all(bytes)?;
        stdout.flush()
    }

    fn ask(&mut self, _call: &str, _title: &str) -> io::Result<Answer> {
        Ok(Answer::None)
    }

    fn is_cancelled(&self) -> bool {
        false
    }
}
