//! First process of a program's namespaces: it finishes them, starts the program and reaps what that leaves behind.
//!
//! When it ends, the kernel kills everything in there; and it dies with its supervisor, which nothing inside can see.

use std::io::{self, BufReader};
use std::os::unix::process::CommandExt as _;

use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions, set_parent_process_death_signal, wait};

use super::{ChildError, ChildReport, ChildSpec, StageReport, outcome, pipe_passing, receive, send, socket};
use crate::sandbox::namespaces;

/// Runs the program from the socket, and returns when no process is left.
pub(super) fn init() -> Result<(), ChildError> {
    let mut socket = socket()?;
    // What comes from here was sent after our supervisor became our parent.
    let input = pipe_passing::receive(&socket)?;
    let Some(spec) = receive::<ChildSpec>(&mut BufReader::new(socket.try_clone()?))? else { return Ok(()) };
    set_parent_process_death_signal(Some(Signal::KILL)).map_err(io::Error::from)?;
    // A supervisor that died before that cannot receive this: we end, too.
    let sandbox = match namespaces::settle(&spec.policy) {
        Ok(sandbox) => sandbox,
        Err(error) => return send(&mut socket, &StageReport::NoNamespaces { reason: error.to_string() }),
    };
    let started = spec
        .open_stdin(input)
        .and_then(|stdin| spec.command(stdin).process_group(0).spawn().map_err(|error| spec.not_started(&error)));
    let program = match started.map(|child| i32::try_from(child.id()).ok().and_then(Pid::from_raw)) {
        Ok(program) => program,
        Err(reason) => return send(&mut socket, &StageReport::Program(ChildReport::NotStarted { reason })),
    };
    send(&mut socket, &StageReport::Program(ChildReport::Started { pid: std::process::id(), sandbox }))?;
    loop {
        match wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) if Some(pid) == program => {
                if let Some(ended) = outcome(status) {
                    send(&mut socket, &StageReport::Program(ended))?;
                }
            }
            Ok(_) | Err(Errno::INTR) => {}
            Err(_) => return Ok(()),
        }
    }
}
