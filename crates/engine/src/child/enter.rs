//! Second stage of a child: the setup between the new process and its program.

use std::fs::File;
use std::io::BufReader;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use super::{ChildError, ChildReport, ChildSpec, ChildStdin, pipe_passing, receive, send, socket};

/// Becomes the program: it dies with its supervisor, writes only inside the sandbox, and reads only its input.
///
/// The socket closes when the program starts, because programs do not inherit it.
pub(super) fn enter() -> Result<(), ChildError> {
    let mut socket = socket()?;
    let input = pipe_passing::receive(&socket)?;
    let received: Option<(u32, ChildSpec)> = receive(&mut BufReader::new(socket.try_clone()?))?;
    let Some((supervisor, spec)) = received else { return Ok(()) };
    if !bind(supervisor)? {
        return Ok(());
    }
    let stdin = match &spec.stdin {
        ChildStdin::Nothing | ChildStdin::Relay => Ok(input.map_or_else(Stdio::null, Stdio::from)),
        ChildStdin::File(path) => File::open(path).map(Stdio::from),
    };
    let reason = match (stdin, spec.policy.apply()) {
        (Ok(stdin), Ok(sandbox)) => {
            send(&mut socket, &ChildReport::Started { pid: std::process::id(), sandbox })?;
            let error = become_program(&spec, stdin);
            format!("`{}` cannot be started: {error}", spec.program.display())
        }
        (Err(error), _) => format!("cannot open the input of `{}`: {error}", spec.program.display()),
        (_, Err(error)) => error.to_string(),
    };
    send(&mut socket, &ChildReport::NotStarted { reason })
}

/// Makes this process die with its supervisor, and checks whether the supervisor still exists.
#[cfg(target_os = "linux")]
fn bind(supervisor: u32) -> Result<bool, ChildError> {
    use rustix::process::{Signal, getppid, set_parent_process_death_signal};
    set_parent_process_death_signal(Some(Signal::KILL)).map_err(std::io::Error::from)?;
    let parent = getppid().map(rustix::process::Pid::as_raw_nonzero);
    Ok(parent.is_some_and(|parent| u32::try_from(parent.get()) == Ok(supervisor)))
}

#[cfg(not(target_os = "linux"))]
#[expect(clippy::unnecessary_wraps, reason = "other platforms return errors")]
fn bind(_supervisor: u32) -> Result<bool, ChildError> {
    Ok(true)
}

/// Returns only when it fails.
fn become_program(spec: &ChildSpec, stdin: Stdio) -> std::io::Error {
    let mut command = Command::new(&spec.program);
    if let Some((name, arguments)) = spec.argv.split_first() {
        command.arg0(name).args(arguments);
    }
    command.env_clear().envs(&spec.env).current_dir(&spec.cwd).stdin(stdin).exec()
}
