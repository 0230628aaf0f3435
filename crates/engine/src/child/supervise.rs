//! Who starts a program, waits for it, and ends what is left of it?

use std::io::{BufReader, Read};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus, setsid, wait};

use super::family::Family;
use super::{COMMAND, ChildError, ENTER, Said, Spec, hear, say, socket};

/// How long a program may take to end once it was asked to.
const GRACE: Duration = Duration::from_secs(5);
/// How often those who did not end are killed, until the last one is gone.
const AGAIN: Duration = Duration::from_millis(20);

/// Runs what the socket says, until it ends or nobody wants it any more.
pub(super) fn supervise() -> Result<(), ChildError> {
    let mut socket = socket()?;
    let mut words = BufReader::new(socket.try_clone()?);
    let spec = match hear::<Spec>(&mut words) {
        Ok(Some(spec)) => spec,
        Ok(None) => return Ok(()),
        Err(error) => {
            let _ = say(&mut socket, &Said::NotStarted { reason: error.to_string() });
            return Err(error);
        }
    };
    // Whoever was started as the leader of a group cannot lead a session, and need not.
    let _ = setsid();
    let (program, started) = match adopt().and_then(|()| start(&spec)) {
        Ok(started) => started,
        Err(error) => return say(&mut socket, &Said::NotStarted { reason: error.to_string() }),
    };
    let family = Family { program };
    // Nobody may be left to hear it; then there is nothing more to hear from them, either.
    let _ = say(&mut socket, &started);
    let (stop, stopped) = channel();
    let gone = stop.clone();
    thread::spawn(move || {
        let _ = words.read(&mut [0]);
        let _ = gone.send(());
    });
    thread::spawn(move || end_when_told(family, &stopped));
    let mut status = None;
    loop {
        match wait(WaitOptions::empty()) {
            Ok(Some((pid, how))) if pid == program => {
                status = Some(how);
                let _ = stop.send(());
            }
            Ok(_) | Err(Errno::INTR) => {}
            Err(_) => break,
        }
    }
    if !family.is_gone() {
        end_all(family);
    }
    if let (Said::Started { .. }, Some(said)) = (started, status.and_then(outcome)) {
        let _ = say(&mut socket, &said);
    }
    Ok(())
}

/// Takes in what programs leave behind.
#[cfg(target_os = "linux")]
fn adopt() -> Result<(), ChildError> {
    rustix::process::set_child_subreaper(Some(Pid::INIT)).map_err(|error| ChildError::Io(error.into()))
}

#[cfg(not(target_os = "linux"))]
#[expect(clippy::unnecessary_wraps, reason = "it is so where there is something to do")]
fn adopt() -> Result<(), ChildError> {
    Ok(())
}

/// Starts the second stage, and says what became of it.
fn start(spec: &Spec) -> Result<(Pid, Said), ChildError> {
    let (mut ours, theirs) = UnixStream::pair()?;
    let child = Command::new(own_program()?)
        .args([COMMAND, ENTER])
        .env_clear()
        .process_group(0)
        .stdin(Stdio::from(OwnedFd::from(theirs)))
        .spawn()?;
    let program = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let program = program.ok_or_else(|| std::io::Error::other("the process has no number"))?;
    // It has its end of the socket for as long as it has something to say.
    let told = say(&mut ours, &(std::process::id(), spec));
    let mut said = Said::NotStarted { reason: "it ended before it began".to_owned() };
    let mut words = BufReader::new(ours);
    while let Some(more) = told.is_ok().then(|| hear(&mut words)).transpose()?.flatten() {
        said = more;
    }
    Ok((program, said))
}

/// The file this process runs, wherever it is by now.
#[cfg(target_os = "linux")]
#[expect(clippy::unnecessary_wraps, reason = "elsewhere it has to be found")]
fn own_program() -> std::io::Result<std::path::PathBuf> {
    Ok("/proc/self/exe".into())
}

#[cfg(not(target_os = "linux"))]
fn own_program() -> std::io::Result<std::path::PathBuf> {
    std::env::current_exe()
}

fn end_when_told(family: Family, told: &Receiver<()>) {
    if told.recv().is_err() {
        return;
    }
    family.signal(Signal::TERM);
    // Who was stopped would not hear that.
    family.signal(Signal::CONT);
    thread::sleep(GRACE);
    loop {
        family.signal(Signal::KILL);
        thread::sleep(AGAIN);
    }
}

/// Ends those who are no children of ours.
fn end_all(family: Family) {
    let asked = Instant::now();
    family.signal(Signal::TERM);
    while !family.is_gone() {
        if asked.elapsed() > GRACE {
            family.signal(Signal::KILL);
        }
        thread::sleep(AGAIN);
    }
}

fn outcome(status: WaitStatus) -> Option<Said> {
    let exited = status.exit_status().map(|code| Said::Exited { code });
    exited.or_else(|| status.terminating_signal().map(|signal| Said::Killed { signal }))
}
