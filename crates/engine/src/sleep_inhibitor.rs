//! Inhibition of suspend while agents work, by `systemd-inhibit` where it is installed.

use std::path::PathBuf;

use crate::user_program::{CompanionProgram, UserProgram};

/// The program that inhibits it.
pub const PROGRAM: &str = "systemd-inhibit";

/// A lock that keeps the system awake, held while it is wanted.
#[derive(Debug)]
pub(crate) struct SleepInhibitor {
    program: Option<PathBuf>,
    held: Option<CompanionProgram>,
}

impl SleepInhibitor {
    /// One that holds nothing yet; without the program it never does.
    pub(crate) fn new(program: Option<PathBuf>) -> Self {
        Self { program, held: None }
    }

    /// Holds the lock, or lets it go.
    pub(crate) fn hold_if(&mut self, wanted: bool) {
        if !wanted {
            self.held = None;
        } else if let (None, Some(program)) = (&self.held, &self.program) {
            let words = ["--what=idle:sleep", "--who=Maestro", "--why=Agents are working", "--mode=block", "cat"];
            match UserProgram::new(program).args(words).hold() {
                Ok(held) => self.held = Some(held),
                Err(error) => {
                    tracing::warn!("suspend is not inhibited: {error}");
                    self.program = None;
                }
            }
        }
    }
}
