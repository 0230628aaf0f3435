//! Who came of a program, and how are they all told to end?

use rustix::process::{Pid, Signal, kill_process_group};
#[cfg(target_os = "linux")]
use rustix::process::{getpgrp, getpid, kill_process};

/// Everything that came of a program.
#[derive(Debug, Clone, Copy)]
pub(super) struct Family {
    /// The program, which leads a group.
    pub(super) program: Pid,
}

#[cfg(target_os = "linux")]
impl Family {
    /// Sends a signal to everybody below this process: whatever was orphaned was given to it.
    pub(super) fn signal(self, signal: Signal) {
        let own = getpgrp();
        // Where nobody can be seen, those who stayed in the program's group can still be told.
        let Some(below) = below(getpid()) else {
            let _ = kill_process_group(self.program, signal);
            return;
        };
        let mut groups = Vec::new();
        for (pid, group) in below {
            // Who joined our own group would take us along.
            if group == own {
                let _ = kill_process(pid, signal);
            } else if !groups.contains(&group) {
                groups.push(group);
            }
        }
        // A group is told at once, so that no fork of it slips away.
        for group in groups {
            let _ = kill_process_group(group, signal);
        }
    }

    /// Whether nobody is left, once there is no child to wait for.
    #[expect(clippy::unused_self, reason = "elsewhere the group is asked")]
    pub(super) fn is_gone(self) -> bool {
        true
    }
}

#[cfg(not(target_os = "linux"))]
impl Family {
    /// Sends a signal to the program's group.
    pub(super) fn signal(self, signal: Signal) {
        let _ = kill_process_group(self.program, signal);
    }

    /// Whether nobody is left, once there is no child to wait for.
    pub(super) fn is_gone(self) -> bool {
        rustix::process::test_kill_process_group(self.program).is_err()
    }
}

/// Kills everybody below a process, who would be nobody's once that process is gone. Whoever is born meanwhile is seen
/// the next time; a few times are enough for all but those who do nothing else.
#[cfg(target_os = "linux")]
pub(super) fn kill_below(root: Pid) {
    for _ in 0..8 {
        let Some(below) = below(root).filter(|below| !below.is_empty()) else { return };
        for (pid, _) in below {
            let _ = kill_process(pid, Signal::KILL);
        }
    }
}

/// There is no way to see them.
#[cfg(not(target_os = "linux"))]
pub(super) fn kill_below(_root: Pid) {}

/// Every process below one, with its group; nothing where processes cannot be seen.
#[cfg(target_os = "linux")]
fn below(root: Pid) -> Option<Vec<(Pid, Pid)>> {
    let everybody = everybody()?;
    let mut found: Vec<(Pid, Pid)> = Vec::new();
    let mut parents = vec![root];
    while let Some(parent) = parents.pop() {
        for process in everybody.iter().filter(|process| process.parent == Some(parent)) {
            found.push((process.pid, process.group));
            parents.push(process.pid);
        }
    }
    Some(found)
}

#[cfg(target_os = "linux")]
struct Process {
    pid: Pid,
    parent: Option<Pid>,
    group: Pid,
}

#[cfg(target_os = "linux")]
fn everybody() -> Option<Vec<Process>> {
    let entries = std::fs::read_dir("/proc").ok()?;
    let numbers = entries.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let read = |pid: i32| process(pid, &std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?);
    let everybody: Vec<Process> = numbers.filter_map(read).collect();
    // We see ourselves at least.
    (!everybody.is_empty()).then_some(everybody)
}

/// Reads `PID (name) state parent group …`; the name may hold anything, brackets and blanks too.
#[cfg(target_os = "linux")]
fn process(pid: i32, stat: &str) -> Option<Process> {
    let (_, rest) = stat.rsplit_once(')')?;
    let mut fields = rest.split_whitespace().skip(1);
    let mut next = || fields.next()?.parse::<i32>().ok();
    let parent = next()?;
    Some(Process { pid: Pid::from_raw(pid)?, parent: Pid::from_raw(parent), group: Pid::from_raw(next()?)? })
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_brackets_and_blanks_is_no_obstacle() {
        let process = process(7, "7 (a) S 1 (b) R 3 5 5 0 -1 4194304").unwrap();
        assert_eq!((process.parent, Some(process.group)), (Pid::from_raw(3), Pid::from_raw(5)));
        assert!(super::process(7, "7 (gone").is_none());
    }

    #[test]
    fn this_test_is_below_whoever_runs_it() {
        let parent = rustix::process::getppid().unwrap();
        assert!(below(parent).unwrap().iter().any(|(pid, _)| *pid == getpid()));
    }
}
