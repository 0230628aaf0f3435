//! Supervisor of one program: starts it, waits for it, and ends its descendants.

use std::io::{BufRead, BufReader, PipeWriter, Write, pipe};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, Sender, SyncSender, TrySendError, channel, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions, setsid, wait, waitpid};

use super::control_group::ControlGroup;
use super::lease_watch::{LeaseWatch, RequestedState};
use super::process_tree::ProcessTree;
use super::{
    COMMAND, ChildCommand, ChildError, ChildReport, ChildSpec, ChildStdin, ENTER, StageKind, StageReport, host_proxy,
    outcome, pipe_passing, receive, send, socket,
};
use crate::sandbox::{ConfinementMode, NetworkAccess};

/// How long a program may take to end after SIGTERM.
const GRACE: Duration = Duration::from_secs(5);
/// How often the remaining processes are killed, until none is left.
const AGAIN: Duration = Duration::from_millis(20);
/// How many pieces of input may wait for a program that does not read.
const MAX_UNREAD: usize = 1024;

/// Runs the program from the socket, until it ends or is not wanted any more.
pub(super) fn supervise() -> Result<(), ChildError> {
    let mut socket = socket()?;
    let mut words = BufReader::new(socket.try_clone()?);
    let spec = match receive::<ChildSpec>(&mut words) {
        Ok(Some(spec)) => spec,
        Ok(None) => return Ok(()),
        Err(error) => {
            // The error is returned as well.
            let _ = send(&mut socket, &ChildReport::NotStarted { reason: error.to_string() });
            return Err(error);
        }
    };
    // A process that was started as the leader of a group cannot lead a session, and need not.
    let _ = setsid();
    let started = match adopt().and_then(|()| start(&spec, &mut socket)) {
        Ok(started) => started,
        Err(error) => return send(&mut socket, &ChildReport::NotStarted { reason: error.to_string() }),
    };
    let StartedChild { program, said, input, later, group } = started;
    let family = ProcessTree { program };
    // The other end may be gone; then it sends nothing more, either.
    let _ = send(&mut socket, &said);
    let (stop, stopped) = channel();
    let gone = ControlClosed(stop.clone());
    let answers = socket.try_clone()?;
    thread::spawn(move || {
        let _gone = gone;
        run_commands(&mut words, answers, input, family);
    });
    thread::spawn(move || end_on_request(family, &stopped));
    let inside = later.map(|later| {
        let ended = ControlClosed(stop.clone());
        thread::spawn(move || wait_inside(later, &ended))
    });
    let mut status = None;
    loop {
        match wait(WaitOptions::empty()) {
            Ok(Some((pid, how))) if pid == program => {
                status = outcome(how);
                let _ = stop.send(());
            }
            Ok(_) | Err(Errno::INTR) => {}
            Err(_) => break,
        }
    }
    if !family.is_empty() {
        end_all(family);
    }
    drop(group);
    // Where a process of ours started the program, that one knows how it ended.
    let inside = inside.and_then(|inside| inside.join().ok().flatten());
    let status = inside.or(status);
    if let (ChildReport::Started { .. }, Some(ended)) = (said, status) {
        // The other end may be gone.
        let _ = send(&mut socket, &ended);
    }
    Ok(())
}

/// Waits for the report of the first process of a program's namespaces that the program ended.
fn wait_inside(mut later: BufReader<UnixStream>, _ended: &ControlClosed) -> Option<ChildReport> {
    match receive(&mut later) {
        Ok(Some(StageReport::Program(ended))) => Some(ended),
        _ => None,
    }
}

/// Adopts orphaned descendants.
#[cfg(target_os = "linux")]
fn adopt() -> Result<(), ChildError> {
    rustix::process::set_child_subreaper(Some(Pid::INIT)).map_err(|error| ChildError::Io(error.into()))
}

#[cfg(not(target_os = "linux"))]
#[expect(clippy::unnecessary_wraps, reason = "other platforms return errors")]
fn adopt() -> Result<(), ChildError> {
    Ok(())
}

/// The outcome of the other stages: a program, or a failure.
struct StartedChild {
    /// The program, or the first process of its namespaces.
    program: Pid,
    said: ChildReport,
    /// The pipe to its standard input.
    input: Option<PipeWriter>,
    /// Where the end of a program in namespaces is reported.
    later: Option<BufReader<UnixStream>>,
    /// The control group it is in.
    group: Option<ControlGroup>,
}

/// Starts the program in namespaces, or without them where that is impossible and permitted.
fn start(spec: &ChildSpec, socket: &mut UnixStream) -> Result<StartedChild, ChildError> {
    let mode = spec.policy.confinement;
    if mode == ConfinementMode::Landlock {
        return start_directly(spec, socket, None);
    }
    match start_in_namespaces(spec, socket)? {
        Ok(started) => Ok(started),
        Err(reason) if mode == ConfinementMode::Auto => start_directly(spec, socket, Some(reason)),
        Err(reason) => Err(ChildError::NoNamespaces(reason)),
    }
}

/// Starts the program in namespaces; fails with the reason where that is impossible.
fn start_in_namespaces(spec: &ChildSpec, socket: &mut UnixStream) -> Result<Result<StartedChild, String>, ChildError> {
    let (stage, mut ours) = spawn_stage(socket)?;
    let group = ControlGroup::around(stage.as_raw_nonzero().get().unsigned_abs(), spec.policy.resources);
    pipe_passing::send(&ours, None)?;
    send(&mut ours, &(std::process::id(), StageKind::Namespaces, spec))?;
    let listener = pipe_passing::receive(&ours)?;
    let mut words = BufReader::new(ours.try_clone()?);
    let said = receive(&mut words)?;
    // Once the stage is gone, the process it started is our child.
    let _ = waitpid(Some(stage), WaitOptions::empty());
    let init = match said {
        Some(StageReport::Entered { pid }) => pid,
        Some(StageReport::NoNamespaces { reason }) => return Ok(Err(reason)),
        _ => return Ok(Err("the process that makes them ended".to_owned())),
    };
    let program = pid(init)?;
    let _ = send(socket, &ChildReport::Forked { pid: init });
    let (reader, input) = (spec.stdin == ChildStdin::Relay).then(pipe).transpose()?.unzip();
    pipe_passing::send(&ours, reader.as_ref().map(AsFd::as_fd))?;
    drop(reader);
    let mut spec = spec.clone();
    if let (Some(listener), NetworkAccess::Hosts(hosts)) = (listener, &spec.policy.network) {
        host_proxy::serve(listener.into(), hosts.clone(), &mut spec.env)?;
    }
    send(&mut ours, &spec)?;
    match receive(&mut words)? {
        Some(StageReport::Program(ChildReport::Started { mut sandbox, .. })) => {
            if let Some(group) = &group {
                group.complete(&mut sandbox);
            }
            let said = ChildReport::Started { pid: init, sandbox };
            Ok(Ok(StartedChild { program, said, input, later: Some(words), group }))
        }
        Some(StageReport::Program(said)) => Ok(Ok(StartedChild { program, said, input, later: None, group })),
        Some(StageReport::NoNamespaces { reason }) => {
            let _ = waitpid(Some(program), WaitOptions::empty());
            Ok(Err(reason))
        }
        _ => {
            let _ = waitpid(Some(program), WaitOptions::empty());
            Ok(Err("their first process ended".to_owned()))
        }
    }
}

/// Starts the program without namespaces, and says why.
fn start_directly(
    spec: &ChildSpec,
    socket: &mut UnixStream,
    reason: Option<String>,
) -> Result<StartedChild, ChildError> {
    let (reader, input) = (spec.stdin == ChildStdin::Relay).then(pipe).transpose()?.unzip();
    let (program, mut ours) = spawn_stage(socket)?;
    let group = ControlGroup::around(program.as_raw_nonzero().get().unsigned_abs(), spec.policy.resources);
    let handed = pipe_passing::send(&ours, reader.as_ref().map(AsFd::as_fd));
    drop(reader);
    // The second stage keeps its end of the socket until it has reported everything.
    let spoken = (std::process::id(), StageKind::Landlock, spec);
    let told = handed.map_err(ChildError::Io).and_then(|()| send(&mut ours, &spoken));
    let mut said = ChildReport::NotStarted { reason: "it ended before it started".to_owned() };
    let mut words = BufReader::new(ours);
    while let Some(more) = told.is_ok().then(|| receive(&mut words)).transpose()?.flatten() {
        if let StageReport::Program(more) = more {
            said = more;
        }
    }
    if let ChildReport::Started { sandbox, .. } = &mut said {
        sandbox.reason = reason;
        if let Some(group) = &group {
            group.complete(sandbox);
        }
    }
    Ok(StartedChild { program, said, input, later: None, group })
}

/// Starts the second stage, reports that it exists, and returns our end of its socket.
fn spawn_stage(socket: &mut UnixStream) -> Result<(Pid, UnixStream), ChildError> {
    let (ours, theirs) = UnixStream::pair()?;
    let child = Command::new(own_program()?)
        .args([COMMAND, ENTER])
        .env_clear()
        .process_group(0)
        .stdin(Stdio::from(OwnedFd::from(theirs)))
        .spawn()?;
    // The other end may be gone.
    let _ = send(socket, &ChildReport::Forked { pid: child.id() });
    Ok((pid(child.id())?, ours))
}

fn pid(number: u32) -> std::io::Result<Pid> {
    let pid = i32::try_from(number).ok().and_then(Pid::from_raw);
    pid.ok_or_else(|| std::io::Error::other("the process has no pid"))
}

/// When this is dropped, no more messages follow.
struct ControlClosed(Sender<()>);

impl Drop for ControlClosed {
    fn drop(&mut self) {
        let _ = self.0.send(());
    }
}

/// Passes on input, pauses and resumes, until the program must end.
fn run_commands(words: &mut impl BufRead, mut answers: UnixStream, input: Option<PipeWriter>, family: ProcessTree) {
    let mut unread = input.map(relay);
    let lease = LeaseWatch::start(family);
    while let Ok(Some(word)) = receive::<ChildCommand>(words) {
        match (word, unread.take()) {
            (ChildCommand::Input(text), Some(room)) => {
                if let Err(TrySendError::Full(_)) = room.try_send(text) {
                    return;
                }
                unread = Some(room);
            }
            (ChildCommand::Close {}, Some(_)) => {}
            (ChildCommand::Input(_) | ChildCommand::Close {}, None) => return,
            (ChildCommand::Renew { lease_ms }, reads) => {
                unread = reads;
                lease.renew(Duration::from_millis(lease_ms));
            }
            (ChildCommand::Pause {}, reads) => {
                unread = reads;
                lease.request(RequestedState::Paused);
                // The other end may be gone; then the program ends next.
                let _ = send(&mut answers, &ChildReport::Paused { still: family.pause() });
            }
            (ChildCommand::GoOn {}, reads) => {
                unread = reads;
                lease.request(RequestedState::Running);
                // Resumed first, the program might end, and we with it, before the report is sent.
                let _ = send(&mut answers, &ChildReport::GoesOn {});
                family.resume();
            }
        }
    }
}

/// The way to a program's input. The program may read slowly, or never: unread input waits here, so that the end of the
/// program is still noticed.
fn relay(mut input: PipeWriter) -> SyncSender<String> {
    let (unread, reading) = sync_channel::<String>(MAX_UNREAD);
    thread::spawn(move || {
        // A program that closed its input receives no more.
        while let Ok(text) = reading.recv()
            && input.write_all(text.as_bytes()).is_ok()
        {}
    });
    unread
}

/// The file this process runs, even if it was moved.
#[cfg(target_os = "linux")]
#[expect(clippy::unnecessary_wraps, reason = "other platforms return errors")]
fn own_program() -> std::io::Result<std::path::PathBuf> {
    Ok("/proc/self/exe".into())
}

#[cfg(not(target_os = "linux"))]
fn own_program() -> std::io::Result<std::path::PathBuf> {
    std::env::current_exe()
}

fn end_on_request(family: ProcessTree, told: &Receiver<()>) {
    if told.recv().is_err() {
        return;
    }
    family.signal(Signal::TERM);
    // A stopped process does not receive that.
    family.signal(Signal::CONT);
    thread::sleep(GRACE);
    loop {
        family.signal(Signal::KILL);
        thread::sleep(AGAIN);
    }
}

/// Ends the descendants that are not our children.
fn end_all(family: ProcessTree) {
    let asked = Instant::now();
    family.signal(Signal::TERM);
    while !family.is_empty() {
        if asked.elapsed() > GRACE {
            family.signal(Signal::KILL);
        }
        thread::sleep(AGAIN);
    }
}
