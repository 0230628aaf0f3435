//! What does a process do that wants to outlive everybody?

use std::ffi::OsStr;
use std::io;
use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;

/// The argument that makes the demo agent linger.
pub(super) const ARGUMENT: &str = "--linger";

/// Leaves a process of a session of its own behind.
pub(super) fn leave(file: &OsStr) -> io::Result<()> {
    let program = std::env::current_exe()?;
    Command::new(program)
        .args([OsStr::new(super::COMMAND), OsStr::new(ARGUMENT), file])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    Ok(())
}

/// Writes the number of this process into a file, and stays.
pub(super) fn linger(file: &OsStr) -> io::Result<ExitCode> {
    rustix::process::setsid()?;
    std::fs::write(file, format!("{}\n", std::process::id()))?;
    loop {
        std::thread::sleep(Duration::from_hours(1));
    }
}
