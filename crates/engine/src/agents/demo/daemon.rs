//! Process that tries to outlive the agent.

use std::ffi::OsStr;
use std::io;
use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;

/// The argument that makes the demo agent linger.
pub(super) const ARGUMENT: &str = "--linger";

/// Leaves a process behind in a session of its own.
pub(super) fn spawn_daemon(file: &OsStr) -> io::Result<()> {
    let program = std::env::current_exe()?;
    Command::new(program)
        .args([OsStr::new(super::COMMAND), OsStr::new(ARGUMENT), file])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    Ok(())
}

/// Writes the pid of this process into a file, and stays.
pub(super) fn run_daemon(file: &OsStr) -> io::Result<ExitCode> {
    rustix::process::setsid()?;
    std::fs::write(file, format!("{}\n", std::process::id()))?;
    loop {
        std::thread::sleep(Duration::from_hours(1));
    }
}
