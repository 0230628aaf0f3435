//! Descendants of a program, and how they are paused, resumed and ended.

#[cfg(target_os = "linux")]
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};
#[cfg(target_os = "linux")]
use rustix::process::{getpgrp, getpid, kill_process};

use super::StoppedProcess;

/// How long processes may take to stop after a signal.
#[cfg(target_os = "linux")]
const STANDING: Duration = Duration::from_secs(1);
/// How long processes in uninterruptible sleep may take: waiting for a disk, or for a child that was stopped before its
/// exec. They run nothing before they stop.
#[cfg(target_os = "linux")]
const WAKING: Duration = Duration::from_millis(50);
/// How often their state is checked.
#[cfg(target_os = "linux")]
const LOOK: Duration = Duration::from_millis(2);

/// A program and all its descendants.
#[derive(Debug, Clone, Copy)]
pub(super) struct ProcessTree {
    /// The program, which leads a group.
    pub(super) program: Pid,
}

#[cfg(target_os = "linux")]
impl ProcessTree {
    /// Sends a signal to all descendants of this process: orphans are adopted by it.
    pub(super) fn signal(self, signal: Signal) {
        let own = getpgrp();
        // Where descendants cannot be listed, the program's group still gets the signal.
        let Some(below) = descendants(getpid()) else {
            signal_group(self.program, signal);
            return;
        };
        signal_all(below.iter(), own, signal);
    }

    /// Stops all of them, and returns which ones stopped. A process forked meanwhile is found the next time.
    pub(super) fn pause(self) -> Vec<StoppedProcess> {
        self.signal(Signal::STOP);
        let (own, started) = (getpgrp(), Instant::now());
        loop {
            let below = descendants(getpid()).unwrap_or_default();
            let moving = || below.iter().filter(|process| process.state != ProcessState::Stopped);
            let awake = moving().any(|process| process.state == ProcessState::Awake);
            let patience = if awake { STANDING } else { WAKING };
            if moving().next().is_none() || started.elapsed() > patience {
                return below.iter().map(TreeProcess::as_stopped).collect();
            }
            signal_all(moving(), own, Signal::STOP);
            std::thread::sleep(LOOK);
        }
    }

    /// Resumes all of them: children before their parents, so that no parent finds a stopped child.
    pub(super) fn resume(self) {
        let Some(below) = descendants(getpid()) else { return self.signal(Signal::CONT) };
        for process in below.iter().rev() {
            signal_process(process.pid, Signal::CONT);
        }
    }

    /// Whether none is left, once there is no child to wait for.
    #[expect(clippy::unused_self, reason = "other platforms use the group")]
    pub(super) fn is_empty(self) -> bool {
        true
    }
}

#[cfg(not(target_os = "linux"))]
impl ProcessTree {
    /// Sends a signal to the program's group.
    pub(super) fn signal(self, signal: Signal) {
        signal_group(self.program, signal);
    }

    /// Stops the program's group; its members cannot be listed.
    pub(super) fn pause(self) -> Vec<StoppedProcess> {
        self.signal(Signal::STOP);
        Vec::new()
    }

    /// Resumes them.
    pub(super) fn resume(self) {
        self.signal(Signal::CONT);
    }

    /// Whether none is left, once there is no child to wait for.
    pub(super) fn is_empty(self) -> bool {
        rustix::process::test_kill_process_group(self.program).is_err()
    }
}

/// Kills all descendants of a process before they lose their parent. A process forked meanwhile is found the next time;
/// a few rounds are enough for all but fork bombs.
#[cfg(target_os = "linux")]
pub(super) fn kill_below(root: Pid) {
    for _ in 0..8 {
        let Some(below) = descendants(root).filter(|below| !below.is_empty()) else { return };
        for process in below {
            signal_process(process.pid, Signal::KILL);
        }
    }
}

/// Kills those that still exist.
#[cfg(target_os = "linux")]
pub(super) fn kill_stopped(still: &[StoppedProcess]) {
    for one in still {
        let found = i32::try_from(one.pid).ok().and_then(read_process);
        if let Some(process) = found.filter(|process| process.as_stopped() == *one) {
            signal_process(process.pid, Signal::KILL);
        }
    }
}

/// Not possible on this platform.
#[cfg(not(target_os = "linux"))]
pub(super) fn kill_stopped(_still: &[StoppedProcess]) {}

/// Sends a signal to a process; one that ended meanwhile needs none.
#[cfg(target_os = "linux")]
fn signal_process(process: Pid, signal: Signal) {
    let _ = kill_process(process, signal);
}

/// Sends a signal to a group; one that ended meanwhile needs none.
fn signal_group(group: Pid, signal: Signal) {
    let _ = kill_process_group(group, signal);
}

/// Sends a signal to these, parents first. A group gets it at once, so that no fork of it slips away.
#[cfg(target_os = "linux")]
fn signal_all<'p>(processes: impl Iterator<Item = &'p TreeProcess>, own: Pid, signal: Signal) {
    let mut groups = Vec::new();
    for process in processes {
        // A process that joined our own group would take us along.
        if process.group == own {
            signal_process(process.pid, signal);
        } else if !groups.contains(&process.group) {
            groups.push(process.group);
            signal_group(process.group, signal);
        }
    }
}

/// Not possible on this platform.
#[cfg(not(target_os = "linux"))]
pub(super) fn kill_below(_root: Pid) {}

/// How many ticks of the processor all descendants of a process have used; nothing where that cannot be known.
#[cfg(target_os = "linux")]
pub(super) fn cpu_ticks(root: u32) -> Option<u64> {
    let below = descendants(Pid::from_raw(i32::try_from(root).ok()?)?)?;
    Some(below.iter().map(|process| process.ticks).sum())
}

/// Not known on this platform.
#[cfg(not(target_os = "linux"))]
pub(super) fn cpu_ticks(_root: u32) -> Option<u64> {
    None
}

/// All descendants of a process, parents before their children; nothing where processes cannot be listed.
#[cfg(target_os = "linux")]
fn descendants(root: Pid) -> Option<Vec<TreeProcess>> {
    let everybody = all_processes()?;
    let mut found: Vec<TreeProcess> = Vec::new();
    let mut parents = vec![root];
    while let Some(parent) = parents.pop() {
        for process in everybody.iter().filter(|process| process.parent == Some(parent)) {
            found.push(*process);
            parents.push(process.pid);
        }
    }
    Some(found)
}

#[cfg(target_os = "linux")]
#[derive(Clone, Copy)]
struct TreeProcess {
    pid: Pid,
    parent: Option<Pid>,
    group: Pid,
    state: ProcessState,
    /// In the kernel's ticks.
    began: u64,
    /// How long it and its ended children used the processor, in ticks.
    ticks: u64,
}

/// Whether a process runs.
#[cfg(target_os = "linux")]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ProcessState {
    Awake,
    /// In uninterruptible sleep: it receives no signal before it wakes.
    DeepAsleep,
    /// It was stopped, or is dead.
    Stopped,
}

#[cfg(target_os = "linux")]
impl TreeProcess {
    fn as_stopped(&self) -> StoppedProcess {
        StoppedProcess { pid: self.pid.as_raw_nonzero().get().unsigned_abs(), began: self.began }
    }
}

#[cfg(target_os = "linux")]
fn all_processes() -> Option<Vec<TreeProcess>> {
    let entries = std::fs::read_dir("/proc").ok()?;
    let numbers = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let everybody: Vec<TreeProcess> = numbers.filter_map(read_process).collect();
    // We see ourselves at least.
    (!everybody.is_empty()).then_some(everybody)
}

#[cfg(target_os = "linux")]
fn read_process(pid: i32) -> Option<TreeProcess> {
    parse_stat(pid, &std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

/// Reads `PID (name) state parent group …`, of which fields 14 to 17 are times and 22 is the start time; the name may hold anything,
/// parentheses and blanks too.
#[cfg(target_os = "linux")]
fn parse_stat(pid: i32, stat: &str) -> Option<TreeProcess> {
    let (_, rest) = stat.rsplit_once(')')?;
    let mut fields = rest.split_whitespace();
    let state = match fields.next()? {
        "T" | "t" | "Z" | "X" => ProcessState::Stopped,
        "D" => ProcessState::DeepAsleep,
        _ => ProcessState::Awake,
    };
    // For a process that is exiting the kernel reports group -1.
    let mut next = || fields.next()?.parse::<i32>().ok().filter(|number| *number > 0).and_then(Pid::from_raw);
    let (parent, group) = (next(), next()?);
    // Fields 6 to 13 come between; then user and system time, its own and that of its children.
    let mut ticks = 0_u64;
    for field in fields.by_ref().skip(8).take(4) {
        ticks = ticks.saturating_add(field.parse().ok()?);
    }
    let began = fields.nth(4)?.parse().ok()?;
    Some(TreeProcess { pid: Pid::from_raw(pid)?, parent, group, state, began, ticks })
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_brackets_and_blanks_is_no_obstacle() {
        let stat = "7 (a) S 1 (b) T 3 5 5 0 -1 4194304 91 0 0 0 3 4 1 2 20 0 1 0 4711 8196096 231";
        let process = parse_stat(7, stat).unwrap();
        assert_eq!(process.ticks, 10);
        assert_eq!((process.parent, Some(process.group)), (Pid::from_raw(3), Pid::from_raw(5)));
        assert_eq!(
            (process.state, process.as_stopped()),
            (ProcessState::Stopped, StoppedProcess { pid: 7, began: 4711 })
        );
        assert!(parse_stat(7, "7 (gone").is_none());
        let going = "7 (a) X 0 -1 -1 0 -1 4194304 91 0 0 0 0 0 0 0 20 0 1 0 4711 8196096 231";
        assert!(parse_stat(7, going).is_none());
    }

    #[test]
    fn this_test_is_below_whoever_runs_it() {
        let parent = rustix::process::getppid().unwrap();
        assert!(descendants(parent).unwrap().iter().any(|process| process.pid == getpid()));
        let ourselves = read_process(getpid().as_raw_nonzero().get()).unwrap();
        assert!(ourselves.state != ProcessState::Stopped && ourselves.began > 0);
        // It computes until that is seen.
        while read_process(getpid().as_raw_nonzero().get()).unwrap().ticks <= ourselves.ticks {}
        assert!(cpu_ticks(parent.as_raw_nonzero().get().unsigned_abs()).is_some());
    }
}
