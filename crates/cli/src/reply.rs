//! What does a command answer, and how does it leave the program?
//!
//! Commands return a [`Reply`]; only this module writes to the terminal.

use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;

use serde::Serialize;

use crate::error::{CommandError, Exit};
use crate::screen::{ColorChoice, Paint};

/// What a command has to say.
#[derive(Debug)]
pub(crate) struct Reply {
    stdout: Vec<u8>,
    stderr: String,
    exit: Exit,
}

impl Reply {
    /// Text for people or other programs.
    pub(crate) fn text(text: impl Into<String>) -> Self {
        Self::bytes(text.into().into_bytes())
    }

    /// Bytes that are not necessarily text.
    pub(crate) fn bytes(stdout: Vec<u8>) -> Self {
        Self { stdout, stderr: String::new(), exit: Exit::Ok }
    }

    /// A value for other programs, on one line unless a person is looking.
    pub(crate) fn json(value: &impl Serialize) -> Result<Self, CommandError> {
        let encoded =
            if io::stdout().is_terminal() { serde_json::to_vec_pretty(value) } else { serde_json::to_vec(value) };
        let mut bytes = encoded.map_err(|error| CommandError::internal(format!("cannot write JSON: {error}")))?;
        bytes.push(b'\n');
        Ok(Self::bytes(bytes))
    }

    /// The same reply with notes on standard error.
    pub(crate) fn with_notes(mut self, notes: impl Into<String>) -> Self {
        self.stderr = notes.into();
        self
    }

    /// The same reply, ending with another exit code.
    pub(crate) fn ending(mut self, exit: Exit) -> Self {
        self.exit = exit;
        self
    }
}

/// Prints a reply. A reader that has gone away is no failure; output that is lost in any other way is.
pub(crate) fn print(reply: &Reply) -> ExitCode {
    let printed = answer(&reply.stdout);
    tell(&reply.stderr);
    match printed {
        Ok(()) => reply.exit.into(),
        Err(error) => {
            let error = CommandError::io("the output cannot be written", &error).hint("check where it goes to");
            print_error(&error, false, Paint::for_stderr(ColorChoice::Auto))
        }
    }
}

/// Prints why something failed: for people on standard error, for programs as JSON on standard output.
pub(crate) fn print_error(error: &CommandError, json: bool, paint: Paint) -> ExitCode {
    if json {
        // The exit code tells of the failure even where the text cannot be written.
        let _ = answer(format!("{}\n", error.to_json()).as_bytes());
    } else {
        tell(&error.to_text(paint));
    }
    error.exit().into()
}

/// Prints what is wrong with the command line itself.
pub(crate) fn print_usage(text: &str) -> ExitCode {
    tell(text);
    Exit::Failed.into()
}

fn answer(bytes: &[u8]) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(bytes).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => written,
    }
}

fn tell(text: &str) {
    // Nobody is left to be told when this fails.
    let _ = io::stderr().lock().write_all(text.as_bytes());
}
