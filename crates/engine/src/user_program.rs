//! Programs that a command starts for the person who typed it: `gh`, an agent's own interface, a server for itself.
//!
//! They have the user's own rights and terminal. Everything that a run or a worker starts goes through the supervisor in
//! `process.rs` instead, which keeps it in bounds.

use std::ffi::OsStr;
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

/// How often it is looked whether a program has ended.
const POLL: Duration = Duration::from_millis(20);

/// Why a program did not do what it was started for.
#[derive(Debug, thiserror::Error)]
pub enum ProgramError {
    /// It cannot be started, or not be listened to.
    #[error("`{}` cannot be started: {error}", program.display())]
    NotStarted {
        /// The program.
        program: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// It exited with an error.
    #[error("`{}`: {stderr}", program.display())]
    Failed {
        /// The program.
        program: PathBuf,
        /// What it wrote to standard error.
        stderr: String,
    },
}

/// A program that is about to be started.
#[derive(Debug)]
#[must_use = "a program does nothing before it is run"]
pub struct UserProgram {
    program: PathBuf,
    command: Command,
}

impl UserProgram {
    /// A program by its file, or by its name on the `PATH`.
    pub fn new(program: impl Into<PathBuf>) -> Self {
        let program = program.into();
        Self { command: Command::new(&program), program }
    }

    /// Our own program.
    pub fn own() -> Result<Self, ProgramError> {
        let not_found = |error| ProgramError::NotStarted { program: "maestro".into(), error };
        std::env::current_exe().map(Self::new).map_err(not_found)
    }

    /// The same, with these arguments as well.
    pub fn args(mut self, arguments: impl IntoIterator<Item = impl AsRef<OsStr>>) -> Self {
        self.command.args(arguments);
        self
    }

    /// The same, with a variable set.
    pub fn env(mut self, name: impl AsRef<OsStr>, value: impl AsRef<OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    /// The same, without those variables of this process whose names are left out.
    pub fn without_env(mut self, left_out: impl Fn(&str) -> bool) -> Self {
        for (name, _) in std::env::vars_os() {
            if left_out(&name.to_string_lossy()) {
                self.command.env_remove(&name);
            }
        }
        self
    }

    /// The same, in this directory.
    pub fn current_dir(mut self, directory: impl AsRef<Path>) -> Self {
        self.command.current_dir(directory);
        self
    }

    /// Runs it to its end without a terminal, and returns what it printed.
    pub fn output(mut self) -> Result<String, ProgramError> {
        let output = self.command.stdin(Stdio::null()).output();
        let output = output.map_err(|error| ProgramError::NotStarted { program: self.program.clone(), error })?;
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        let stderr = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        Err(ProgramError::Failed { program: self.program, stderr })
    }

    /// Runs it to its end in this terminal.
    pub async fn run_in_terminal(self) -> Result<ExitStatus, ProgramError> {
        self.run().await
    }

    /// Runs it to its end; it reads nothing, and what it prints goes nowhere or to this terminal.
    pub async fn run_unattended(mut self, output: ProgramOutput) -> Result<ExitStatus, ProgramError> {
        let stdout = match output {
            ProgramOutput::Inherited => Stdio::inherit(),
            ProgramOutput::Discarded => Stdio::null(),
        };
        self.command.stdin(Stdio::null()).stdout(stdout);
        self.run().await
    }

    async fn run(mut self) -> Result<ExitStatus, ProgramError> {
        let program = self.program;
        let ended = tokio::task::spawn_blocking(move || self.command.status()).await;
        ended.map_err(io::Error::other).flatten().map_err(|error| ProgramError::NotStarted { program, error })
    }

    /// Runs it with a text as its input, for so long at most; what it prints goes nowhere.
    pub fn run_with_input(mut self, input: &[u8], patience: Duration) -> Result<(), ProgramError> {
        self.command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        let program = self.program;
        let cannot = |error| ProgramError::NotStarted { program: program.clone(), error };
        let failed = |stderr: String| ProgramError::Failed { program: program.clone(), stderr };
        let mut child = self.command.spawn().map_err(cannot)?;
        if let Some(mut stdin) = child.stdin.take() {
            // A program that does not read its input is no failure.
            let _ = stdin.write_all(input);
        }
        let deadline = Instant::now() + patience;
        loop {
            match child.try_wait().map_err(cannot)? {
                Some(status) if status.success() => return Ok(()),
                Some(status) => return Err(failed(status.to_string())),
                None if Instant::now() >= deadline => {
                    let _ = child.kill();
                    let _ = child.wait();
                    return Err(failed(format!("it took longer than {} s", patience.as_secs())));
                }
                None => std::thread::sleep(POLL),
            }
        }
    }

    /// Starts it as a companion that ends with this process and prints nothing.
    pub fn hold(mut self) -> Result<CompanionProgram, ProgramError> {
        self.command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        let cannot = |error| ProgramError::NotStarted { program: self.program.clone(), error };
        let (child, end) = (self.command.spawn().map_err(cannot)?, CompanionEnd::WithUs);
        Ok(CompanionProgram { child, first_line: String::new(), end })
    }

    /// Starts it as a companion that ends with this process, and waits for its first line.
    pub fn companion(mut self) -> Result<CompanionProgram, ProgramError> {
        self.command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        // Ctrl-C and a closed terminal reach this process, which decides what becomes of its companion.
        self.command.process_group(0);
        let cannot = |error| ProgramError::NotStarted { program: self.program.clone(), error };
        let mut companion = CompanionProgram {
            child: self.command.spawn().map_err(cannot)?,
            first_line: String::new(),
            end: CompanionEnd::WithUs,
        };
        if let Some(out) = companion.child.stdout.take() {
            BufReader::new(out).read_line(&mut companion.first_line).map_err(cannot)?;
        }
        Ok(companion)
    }
}

/// Where a program's output is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProgramOutput {
    /// In this terminal.
    Inherited,
    /// Nowhere.
    Discarded,
}

/// A program that ends with this process, however that ends: its standard input ends then.
#[derive(Debug)]
pub struct CompanionProgram {
    child: Child,
    first_line: String,
    end: CompanionEnd,
}

/// When a companion ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CompanionEnd {
    /// With this process.
    WithUs,
    /// By itself.
    OnItsOwn,
}

/// The word for a companion that stays when this process ends.
pub const DETACH: &str = "detach";

impl CompanionProgram {
    /// The first line it printed; empty where it ended at once.
    pub fn first_line(&self) -> &str {
        self.first_line.trim()
    }

    /// Tells it to stay, and lets it go.
    pub fn detach(mut self) {
        let told = self.child.stdin.take().map_or(Ok(()), |mut stdin| writeln!(stdin, "{DETACH}"));
        match told {
            Ok(()) => self.end = CompanionEnd::OnItsOwn,
            Err(error) => tracing::warn!("the server cannot be left to its work: {error}"),
        }
    }
}

impl Drop for CompanionProgram {
    fn drop(&mut self) {
        if self.end == CompanionEnd::OnItsOwn {
            return;
        }
        // It tidies up, and is waited for, so that nothing is left.
        if let Some(pid) = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw) {
            let _ = kill_process(pid, Signal::TERM);
        }
        // Waiting closes its standard input, which would end it as well.
        let _ = self.child.wait();
    }
}
