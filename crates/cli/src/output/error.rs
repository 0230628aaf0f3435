//! Errors of commands: one shape for all of them, with hints and exit codes.

use std::error::Error;
use std::fmt::Write as _;
use std::io;
use std::process::ExitCode;

use maestro_core::Problem;
use serde::de::DeserializeOwned;
use serde_json::{Value as Json, json};

use crate::output::screen::{TextStyle, clean, clean_lines, place};

/// How the program ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ExitKind {
    /// All went well.
    Ok,
    /// The command failed or was used wrongly.
    Failed,
    /// The requested thing does not exist.
    NotFound,
    /// The server could not be reached.
    Network,
    /// The caller may not do it.
    Forbidden,
    /// An agent was not started.
    NotSpawned,
}

impl From<ExitKind> for ExitCode {
    fn from(exit: ExitKind) -> Self {
        Self::from(match exit {
            ExitKind::Ok => 0,
            ExitKind::Failed => 1,
            ExitKind::NotFound => 2,
            ExitKind::Network => 3,
            ExitKind::Forbidden => 4,
            ExitKind::NotSpawned => 5,
        })
    }
}

/// Kind of a failure, for programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ErrorKind {
    /// The request is invalid.
    Invalid,
    /// The state does not allow the request.
    Refused,
    /// What was named does not exist.
    NotFound,
    /// A configuration file is wrong.
    Config,
    /// The file system refused.
    Io,
    /// There is no server.
    Unreachable,
    /// The connection broke.
    Network,
    /// The caller may not do it.
    Forbidden,
    /// No session or task is set.
    NoContext,
    /// The server, or the store behind it, failed.
    Server,
    /// An agent was not started.
    NotSpawned,
    /// A bug in this program.
    Internal,
}

impl ErrorKind {
    fn word(self) -> &'static str {
        match self {
            Self::Invalid | Self::Refused => "invalid_request",
            Self::NotFound => "resource_not_found",
            Self::Config => "invalid_config",
            Self::Io => "io_error",
            Self::Unreachable | Self::Network => "network_error",
            Self::Forbidden => "permission_denied",
            Self::NoContext => "no_context",
            Self::Server => "server_error",
            Self::NotSpawned => "spawn_failed",
            Self::Internal => "internal_error",
        }
    }
}

/// A command that failed.
#[derive(Debug)]
pub(crate) struct CommandError {
    kind: ErrorKind,
    message: String,
    causes: Vec<String>,
    hints: Vec<String>,
    /// The only hint that helps where the disk itself refuses.
    disk_hint: Option<&'static str>,
    /// Details from the server, for programs.
    details: Option<Box<Json>>,
}

impl CommandError {
    fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), causes: Vec::new(), hints: Vec::new(), disk_hint: None, details: None }
    }

    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Invalid, message)
    }

    /// The state does not allow the request.
    pub(crate) fn refused(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Refused, message)
    }

    pub(crate) fn not_found(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::NotFound, message)
    }

    pub(crate) fn io(message: impl Into<String>, cause: &(dyn Error + 'static)) -> Self {
        Self::new(ErrorKind::Io, message).because(cause)
    }

    pub(crate) fn network(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Network, message)
    }

    /// The request did not reach a server.
    pub(crate) fn unreachable(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Unreachable, message)
    }

    pub(crate) fn forbidden(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Forbidden, message)
    }

    pub(crate) fn no_context(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::NoContext, message)
    }

    /// The same error for a command that starts an agent; "not found" and "not allowed" stay as they are.
    pub(crate) fn of_spawn(mut self) -> Self {
        if matches!(self.kind, ErrorKind::Invalid | ErrorKind::Refused | ErrorKind::Server | ErrorKind::Internal) {
            self.kind = ErrorKind::NotSpawned;
        }
        self
    }

    /// An agent cannot be started.
    pub(crate) fn not_spawned(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::NotSpawned, message)
    }

    pub(crate) fn server(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Server, message)
    }

    pub(crate) fn internal(message: impl Into<String>) -> Self {
        Self::new(ErrorKind::Internal, message)
    }

    /// Everything wrong with the configuration, at once.
    pub(crate) fn config(problems: &[&Problem]) -> Self {
        Self::new(ErrorKind::Config, "the configuration has errors")
            .because_of(problems.iter().copied())
            .hint("run `maestro doctor` for all problems, `maestro config show --origin` for every setting")
    }

    /// Adds problems, each with its place and help.
    pub(crate) fn because_of<'a>(mut self, problems: impl IntoIterator<Item = &'a Problem>) -> Self {
        let told = |problem: &Problem| format!("{}: {} ({})", place(problem), problem.message, problem.help);
        self.causes.extend(problems.into_iter().map(told));
        self
    }

    /// Adds reasons, one line each.
    pub(crate) fn with_reasons(mut self, reasons: &[String]) -> Self {
        self.causes.extend_from_slice(reasons);
        self
    }

    /// Adds a cause with its whole chain of sources.
    pub(crate) fn because(mut self, cause: &(dyn Error + 'static)) -> Self {
        let mut next = Some(cause);
        while let Some(cause) = next {
            self.causes.push(cause.to_string());
            self.disk_hint = self.disk_hint.or_else(|| disk_hint(cause.downcast_ref()?));
            next = cause.source();
        }
        self
    }

    /// Adds a hint.
    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }

    /// Adds details from the server, for programs.
    pub(crate) fn with_details(mut self, details: Option<Box<Json>>) -> Self {
        self.details = details;
        self
    }

    /// What the server added for programs, read as `T`.
    pub(crate) fn details<T: DeserializeOwned>(&self) -> Option<T> {
        T::deserialize(self.details.as_deref()?).ok()
    }

    /// Whether the state does not allow the request.
    pub(crate) fn is_refusal(&self) -> bool {
        self.kind == ErrorKind::Refused
    }

    /// The message, on one line.
    pub(crate) fn message(&self) -> &str {
        &self.message
    }

    /// Whether the same request may succeed when repeated.
    pub(crate) fn is_transient(&self) -> bool {
        matches!(self.kind, ErrorKind::Unreachable | ErrorKind::Network | ErrorKind::Server)
    }

    /// Whether the request certainly had no effect.
    pub(crate) fn is_unsent(&self) -> bool {
        self.kind == ErrorKind::Unreachable
    }

    /// Whether the requested thing does not exist.
    pub(crate) fn is_not_found(&self) -> bool {
        self.kind == ErrorKind::NotFound
    }

    pub(crate) fn exit(&self) -> ExitKind {
        match self.kind {
            ErrorKind::NotFound => ExitKind::NotFound,
            ErrorKind::Unreachable | ErrorKind::Network => ExitKind::Network,
            ErrorKind::Forbidden => ExitKind::Forbidden,
            ErrorKind::NotSpawned => ExitKind::NotSpawned,
            ErrorKind::Invalid
            | ErrorKind::Refused
            | ErrorKind::Config
            | ErrorKind::Io
            | ErrorKind::NoContext
            | ErrorKind::Server
            | ErrorKind::Internal => ExitKind::Failed,
        }
    }

    pub(crate) fn to_text(&self, paint: TextStyle) -> String {
        // Further lines are indented, so that none looks like a line of ours.
        let message = clean_lines(&self.message).replace('\n', "\n  ");
        let mut text = format!("{} {message}\n", paint.error("error:"));
        for cause in &self.causes {
            let _ = writeln!(text, "  {} {}", paint.dim("because"), clean(cause));
        }
        for hint in self.hints() {
            let _ = writeln!(text, "{} {}", paint.help("hint:"), clean(hint));
        }
        text
    }

    /// The ways out.
    pub(crate) fn hints(&self) -> Vec<&str> {
        match self.disk_hint {
            Some(hint) => vec![hint],
            None => self.hints.iter().map(String::as_str).collect(),
        }
    }

    pub(crate) fn to_json(&self) -> Json {
        json!({
            "success": false,
            "error": self.kind.word(),
            "message": self.message,
            "details": { "causes": self.causes },
            "suggestion": self.hints().join("; "),
        })
    }
}

/// The way out where no other advice helps: a disk that is full or cannot be written.
fn disk_hint(error: &io::Error) -> Option<&'static str> {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Some("free disk space and try again"),
        io::ErrorKind::ReadOnlyFilesystem => {
            Some("the file system is read-only; work in a copy of the project that can be written")
        }
        _ => None,
    }
}
