//! Second stage of a child: the setup between the new process and its program.

use std::io::BufReader;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;

use super::{ChildError, ChildReport, ChildSpec, StageKind, StageReport, pipe_passing, receive, send, socket};

/// Becomes the program, or makes the namespaces that it will live in. Either dies with its supervisor.
pub(super) fn enter() -> Result<(), ChildError> {
    let mut socket = socket()?;
    let input = pipe_passing::receive(&socket)?;
    let received: Option<(u32, StageKind, ChildSpec)> = receive(&mut BufReader::new(socket.try_clone()?))?;
    let Some((supervisor, kind, spec)) = received else { return Ok(()) };
    if !bind(supervisor)? {
        return Ok(());
    }
    match kind {
        StageKind::Namespaces => {
            let (said, listener) = make_namespaces(&spec, &socket);
            pipe_passing::send(&socket, listener.as_ref().map(AsFd::as_fd))?;
            send(&mut socket, &said)
        }
        StageKind::Landlock => {
            let reason = become_program(&spec, input, &mut socket)?;
            send(&mut socket, &StageReport::Program(ChildReport::NotStarted { reason }))
        }
    }
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

/// Makes the namespaces, and starts their first process; returns the socket in there on which a proxy listens, too. It gets our end of the socket, reads from it once we are gone,
/// and is then the supervisor's child.
#[cfg(target_os = "linux")]
fn make_namespaces(spec: &ChildSpec, socket: &UnixStream) -> (StageReport, Option<OwnedFd>) {
    use std::process::{Command, Stdio};

    use crate::sandbox::{NetworkAccess, namespaces};
    let start = || {
        namespaces::enter(&spec.sandboxed()).map_err(|error| error.to_string())?;
        let is_proxied = matches!(spec.policy.network, NetworkAccess::Hosts(_));
        // It stays in this network, although a process outside accepts on it.
        let listener = is_proxied.then(|| std::net::TcpListener::bind((std::net::Ipv4Addr::LOCALHOST, 0))).transpose();
        let listener = listener.map_err(|error| error.to_string())?.map(OwnedFd::from);
        let socket = socket.try_clone().map_err(|error| error.to_string())?;
        let mut init = Command::new("/proc/self/exe");
        init.args([super::COMMAND, super::INIT]).env_clear().process_group(0).stdin(Stdio::from(OwnedFd::from(socket)));
        let init = init.spawn().map_err(|error| error.to_string())?;
        Ok((StageReport::Entered { pid: init.id() }, listener))
    };
    start().unwrap_or_else(|reason: String| (StageReport::NoNamespaces { reason }, None))
}

#[cfg(not(target_os = "linux"))]
fn make_namespaces(_spec: &ChildSpec, _socket: &UnixStream) -> (StageReport, Option<OwnedFd>) {
    (StageReport::NoNamespaces { reason: "this system has none".to_owned() }, None)
}

/// Becomes the program: it writes only inside the sandbox, and reads only its input. Returns why it could not.
///
/// The socket closes when the program starts, because programs do not inherit it.
fn become_program(spec: &ChildSpec, input: Option<OwnedFd>, socket: &mut UnixStream) -> Result<String, ChildError> {
    let stdin = match spec.open_stdin(input) {
        Ok(stdin) => stdin,
        Err(reason) => return Ok(reason),
    };
    let sandbox = match spec.policy.apply() {
        Ok(sandbox) => sandbox,
        Err(error) => return Ok(error.to_string()),
    };
    let started = ChildReport::Started { pid: std::process::id(), sandbox };
    send(socket, &StageReport::Program(started))?;
    Ok(spec.not_started(&spec.command(stdin).exec()))
}
