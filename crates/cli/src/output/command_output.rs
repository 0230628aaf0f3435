//! Replies of commands, and how they are printed.
//!
//! Commands return a [`CommandOutput`]; only this module writes to the terminal.

use std::io::{self, BufWriter, IsTerminal, Write};
use std::process::ExitCode;

use serde::Serialize;

use crate::output::error::{CommandError, ExitKind};
use crate::output::screen::{ColorChoice, TextStyle};

/// How much is printed at once.
const PIECE: usize = 64 * 1024;

/// Output of a command.
pub(crate) struct CommandOutput {
    stdout: StdoutContent,
    stderr: String,
    exit: ExitKind,
}

/// What a command, or a part of one, returns.
pub(crate) type CommandResult<T = CommandOutput> = Result<T, CommandError>;

/// Content of standard output.
enum StdoutContent {
    /// Complete output.
    Bytes(Vec<u8>),
    /// Output produced while it is printed, because it may be long.
    Stream(OutputStream),
}

type OutputStream = Box<dyn FnOnce(&mut dyn Write) -> io::Result<()>>;

impl CommandOutput {
    /// Text for people or other programs.
    pub(crate) fn text(text: impl Into<String>) -> Self {
        Self::bytes(text.into().into_bytes())
    }

    /// Bytes that are not necessarily text.
    pub(crate) fn bytes(stdout: Vec<u8>) -> Self {
        Self { stdout: StdoutContent::Bytes(stdout), stderr: String::new(), exit: ExitKind::Ok }
    }

    /// Something long, which is never in memory as a whole.
    pub(crate) fn stream(write: impl FnOnce(&mut dyn Write) -> io::Result<()> + 'static) -> Self {
        Self { stdout: StdoutContent::Stream(Box::new(write)), stderr: String::new(), exit: ExitKind::Ok }
    }

    /// A value for other programs.
    pub(crate) fn json(value: &impl Serialize) -> Result<Self, CommandError> {
        let mut bytes = Vec::new();
        write_json(&mut bytes, value).map_err(|error| CommandError::internal(format!("cannot write JSON: {error}")))?;
        Ok(Self::bytes(bytes))
    }

    /// Prints it now, for a command that goes on afterwards; says how it would have ended.
    pub(crate) fn show_now(self) -> Result<ExitKind, CommandError> {
        let shown = match self.stdout {
            StdoutContent::Bytes(bytes) => answer(|out| out.write_all(&bytes)),
            StdoutContent::Stream(write) => answer(write),
        };
        write_notes(&self.stderr);
        shown.map_err(|error| CommandError::io("cannot write the output", &error)).map(|()| self.exit)
    }

    /// The same reply with notes on standard error.
    pub(crate) fn with_notes(mut self, notes: impl Into<String>) -> Self {
        self.stderr = notes.into();
        self
    }

    /// The same reply with notes after those that it has.
    pub(crate) fn with_further_notes(mut self, notes: &str) -> Self {
        self.stderr.push_str(notes);
        self
    }

    /// The same reply, ending with another exit code.
    pub(crate) fn with_exit(mut self, exit: ExitKind) -> Self {
        self.exit = exit;
        self
    }
}

/// Prints text at once, for commands that keep running.
pub(crate) fn show(text: &str) -> Result<(), CommandError> {
    answer(|out| out.write_all(text.as_bytes())).map_err(|error| {
        CommandError::io("cannot write the output", &error).hint("check the redirection or pipe of standard output")
    })
}

/// Prints a warning on standard error at once, for commands that keep running.
pub(crate) fn warn(text: &str, paint: TextStyle) {
    write_notes(&format!("{} {text}\n", paint.warning("warning:")));
}

/// Prints a reply. A closed pipe is no failure; output lost in any other way is.
pub(crate) fn print(reply: CommandOutput) -> ExitCode {
    let printed = match reply.stdout {
        StdoutContent::Bytes(bytes) => answer(|out| out.write_all(&bytes)),
        StdoutContent::Stream(write) => answer(write),
    };
    write_notes(&reply.stderr);
    match printed {
        Ok(()) => reply.exit.into(),
        Err(error) => {
            let error = CommandError::io("cannot write the output", &error)
                .hint("check the redirection or pipe of standard output");
            print_error(&error, false, TextStyle::for_stderr(ColorChoice::Auto))
        }
    }
}

/// Prints why something failed: for people on standard error, for programs as JSON on standard output.
pub(crate) fn print_error(error: &CommandError, json: bool, paint: TextStyle) -> ExitCode {
    if json {
        // The exit code shows the failure even if the text cannot be written.
        let _ = answer(|out| writeln!(out, "{}", error.to_json()));
    } else {
        write_notes(&error.to_text(paint));
    }
    error.exit().into()
}

/// Prints an error about the command line itself.
pub(crate) fn print_usage(text: &str) -> ExitCode {
    write_notes(text);
    ExitKind::Failed.into()
}

/// Writes a value for other programs, on one line unless standard output is a terminal.
pub(crate) fn write_json(mut out: &mut dyn Write, value: &impl Serialize) -> io::Result<()> {
    if io::stdout().is_terminal() {
        serde_json::to_writer_pretty(&mut out, value)?;
    } else {
        serde_json::to_writer(&mut out, value)?;
    }
    out.write_all(b"\n")
}

fn answer(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let mut stdout = BufWriter::with_capacity(PIECE, io::stdout().lock());
    match write(&mut stdout).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => written,
    }
}

fn write_notes(text: &str) {
    // Standard error is the last place to report to, so a failure is ignored.
    let _ = io::stderr().lock().write_all(text.as_bytes());
}
