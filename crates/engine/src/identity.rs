//! Identity of an executing process, by which others find out whether it still runs.

use std::fs;
use std::process;

/// The name of a process, unique across machines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessIdentity(String);

impl ProcessIdentity {
    /// The identity of this process.
    pub fn of_this_process() -> Self {
        let pid = process::id();
        Self(format!("{} {pid} {}", machine(), start_time(pid).unwrap_or_default()))
    }

    /// Its text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether the process is certainly gone. Nothing is certain about other machines.
    pub fn is_gone(&self, other: &str) -> bool {
        let mut parts = other.split(' ');
        let (Some(there), Some(pid), Some(began_at)) = (parts.next(), parts.next(), parts.next()) else {
            return true;
        };
        let here = machine();
        let (host, boot) = here.split_once('/').unwrap_or((&here, ""));
        let (other_host, other_boot) = there.split_once('/').unwrap_or((there, ""));
        if host != other_host {
            return false;
        }
        // A restarted machine has none of its old processes.
        boot != other_boot || pid.parse().ok().and_then(start_time).as_deref() != Some(began_at)
    }
}

/// This machine, since it was started.
fn machine() -> String {
    let read = |path| fs::read_to_string(path).unwrap_or_default().trim().to_owned();
    let host = read("/proc/sys/kernel/hostname").replace([' ', '/'], "-");
    format!("{host}{}/{}", own_pids().unwrap_or_default(), read("/proc/sys/kernel/random/boot_id"))
}

/// The namespace of this process's pid, such as `pid:[4026532700]`, where it is not the system's. Nothing in another one
/// can be told from here.
fn own_pids() -> Option<String> {
    /// The kernel's number for the system's own.
    const SYSTEM: &str = "pid:[4026531836]";
    let space = fs::read_link("/proc/self/ns/pid").ok()?.to_string_lossy().into_owned();
    (space != SYSTEM).then_some(space)
}

/// The start time of a process, if it exists and has not ended.
#[cfg(target_os = "linux")]
fn start_time(pid: u32) -> Option<String> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name is in parentheses and may hold anything; the fields after it do not.
    let (_, rest) = stat.rsplit_once(')')?;
    let mut fields = rest.split_whitespace();
    let state = fields.next()?;
    let began = fields.nth(18)?;
    (state != "Z" && state != "X").then(|| began.to_owned())
}

#[cfg(not(target_os = "linux"))]
fn start_time(pid: u32) -> Option<String> {
    let pid = rustix::process::Pid::from_raw(i32::try_from(pid).ok()?)?;
    rustix::process::test_kill_process(pid).ok().map(|()| "running".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_one_that_is_gone_from_this_machine_is_known_to_be() {
        let own = ProcessIdentity::of_this_process();
        assert!(!own.is_gone(own.as_str()));
        let mut ended = process::Command::new("true").spawn().unwrap();
        let name = format!("{} {} {}", machine(), ended.id(), start_time(ended.id()).unwrap_or("1".to_owned()));
        ended.wait().unwrap();
        assert!(own.is_gone(&name));
        let rebooted = own.as_str().replacen('/', "/another-boot-", 1);
        assert!(own.is_gone(&rebooted));
        assert!(!own.is_gone("another-machine/boot 1 1"));
    }
}
