//! Control group of a program (cgroup v2): limits of memory and processes, and an end that no descendant escapes.
//!
//! A user may make groups where they were delegated, as in a service or scope of a user's own systemd. Elsewhere there is
//! none, and the sandbox names the gap.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use crate::sandbox::{ResourceLimits, SandboxGap, SandboxReport};

/// What the names of our groups begin with; the pid of the supervisor follows.
const PREFIX: &str = "maestro-";
/// How often, and how far apart, an ended group is removed: its processes take a moment to go.
const TRIES: u32 = 50;
const PAUSE: Duration = Duration::from_millis(20);

/// A group that a program is in, with all its descendants.
#[derive(Debug)]
pub(super) struct ControlGroup {
    directory: PathBuf,
    /// What the kernel enforces.
    enforced: EnforcedLimits,
}

/// Whether a group limits what it was asked to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum EnforcedLimits {
    /// All of it.
    All,
    /// Nothing: the kernel has no controllers there.
    None,
}

impl ControlGroup {
    /// Puts a process into a group of its own; nothing where that is impossible, or nothing is limited.
    pub(super) fn around(process: u32, limits: ResourceLimits) -> Option<Self> {
        let places = limits.is_any().then(places)??;
        let groups = |enforced| places.iter().find_map(|place| Self::create(place, process, limits, enforced).ok());
        [EnforcedLimits::All, EnforcedLimits::None].into_iter().find_map(groups)
    }

    fn create(place: &Path, process: u32, limits: ResourceLimits, enforced: EnforcedLimits) -> io::Result<Self> {
        if enforced == EnforcedLimits::All {
            enable(place, limits)?;
        }
        remove_left(place);
        let directory = place.join(group_name(std::process::id()));
        fs::create_dir(&directory)?;
        let group = Self { directory, enforced };
        group.fill(process, limits).map(|()| group)
    }

    fn fill(&self, process: u32, limits: ResourceLimits) -> io::Result<()> {
        if self.enforced == EnforcedLimits::All {
            if let Some(memory) = limits.memory_mib {
                fs::write(self.directory.join("memory.max"), memory.saturating_mul(1024 * 1024).to_string())?;
                // Without swap the first of these is missing, and older kernels miss the second.
                let _ = fs::write(self.directory.join("memory.swap.max"), "0");
                let _ = fs::write(self.directory.join("memory.oom.group"), "1");
            }
            if let Some(processes) = limits.processes {
                fs::write(self.directory.join("pids.max"), processes.to_string())?;
            }
        }
        fs::write(self.directory.join("cgroup.procs"), process.to_string())
    }

    /// What confines the program, with what this group limits.
    pub(super) fn complete(&self, sandbox: &mut SandboxReport) {
        if self.enforced == EnforcedLimits::All {
            sandbox.gaps.retain(|gap| *gap != SandboxGap::Resources);
        }
    }
}

impl Drop for ControlGroup {
    /// Kills what is left in it, and removes it.
    fn drop(&mut self) {
        end_group(&self.directory);
    }
}

/// Kills what a supervisor left behind that ended before its program did.
pub(super) fn end_left(supervisor: u32) {
    for place in places().unwrap_or_default() {
        let directory = place.join(group_name(supervisor));
        if directory.is_dir() {
            end_group(&directory);
        }
    }
}

fn end_group(directory: &Path) {
    // Kernels before 5.14 have no such file; then the processes were signalled one by one.
    let _ = fs::write(directory.join("cgroup.kill"), "1");
    for _ in 0..TRIES {
        match fs::remove_dir(directory) {
            Err(error) if error.kind() == io::ErrorKind::ResourceBusy => thread::sleep(PAUSE),
            _ => return,
        }
    }
}

fn group_name(supervisor: u32) -> String {
    format!("{PREFIX}{supervisor}")
}

/// Makes the kernel limit in groups of this place what is to be limited.
fn enable(place: &Path, limits: ResourceLimits) -> io::Result<()> {
    let wanted = [limits.memory_mib.map(|_| "memory"), limits.processes.map(|_| "pids")];
    let control = place.join("cgroup.subtree_control");
    for name in wanted.into_iter().flatten() {
        let is_on = |text: &str| text.split_whitespace().any(|word| word == name);
        if !is_on(&fs::read_to_string(&control)?) {
            fs::write(&control, format!("+{name}"))?;
        }
    }
    Ok(())
}

/// Removes groups whose supervisors were killed; one with processes stays.
fn remove_left(place: &Path) {
    for entry in fs::read_dir(place).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let supervisor = name.to_str().and_then(|name| name.strip_prefix(PREFIX)?.parse::<u32>().ok());
        if supervisor.is_some_and(|pid| !Path::new(&format!("/proc/{pid}")).exists()) {
            let _ = fs::remove_dir(entry.path());
        }
    }
}

/// Where groups may be made: in our own group, or beside it.
fn places() -> Option<Vec<PathBuf>> {
    let own = fs::read_to_string("/proc/self/cgroup").ok()?;
    let mounts = fs::read_to_string("/proc/self/mountinfo").ok()?;
    let own = own_directory(&own, &mounts)?;
    let beside = own.1.parent().filter(|parent| parent.starts_with(&own.0)).map(Path::to_owned);
    Some(std::iter::once(own.1).chain(beside).collect())
}

/// Where the control groups are mounted, and our own among them.
fn own_directory(groups: &str, mounts: &str) -> Option<(PathBuf, PathBuf)> {
    let own = Path::new(groups.lines().find_map(|line| line.strip_prefix("0::"))?);
    mounts.lines().find_map(|line| {
        let (fields, kind) = line.split_once(" - ")?;
        let mut fields = fields.split(' ').skip(3);
        let (root, place) = (fields.next()?, Path::new(fields.next()?));
        let inside = own.strip_prefix(root).ok().filter(|_| kind.starts_with("cgroup2 "))?;
        Some((place.to_owned(), place.join(inside)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_own_group_is_where_it_is_mounted() {
        let mounts = "25 30 0:23 / /sys rw - sysfs sysfs rw\n\
            31 25 0:27 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n";
        let groups = "1:name=systemd:/x\n0::/user.slice/app.slice/maestro.service\n";
        let own = PathBuf::from("/sys/fs/cgroup/user.slice/app.slice/maestro.service");
        assert_eq!(own_directory(groups, mounts), Some(("/sys/fs/cgroup".into(), own)));
        let part = "31 25 0:27 /docker/a /sys/fs/cgroup ro - cgroup2 cgroup rw\n";
        assert_eq!(own_directory("0::/docker/a\n", part).unwrap().1, PathBuf::from("/sys/fs/cgroup"));
        assert_eq!(own_directory("0::/elsewhere\n", part), None);
        assert_eq!(own_directory("1:pids:/\n", mounts), None);
    }

    #[test]
    fn nothing_to_limit_needs_no_group() {
        assert!(ControlGroup::around(std::process::id(), ResourceLimits::default()).is_none());
    }
}
