//! Waiting for other processes, and what is known of them.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

/// Waits until something is so; the machine may be slow.
pub(crate) fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < Duration::from_mins(2), "it never came to be so: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The process whose number a program wrote into a file, once all of it is there; 0 where it has ended.
pub(crate) fn number_in(path: &Path) -> u32 {
    let read = || fs::read_to_string(path).ok()?.strip_suffix('\n')?.trim().parse().ok();
    wait_until(&format!("{} has a number", path.display()), || read().is_some());
    process_in(path, read().unwrap()).unwrap_or(0)
}

/// The process that has this number in its own namespace, and works beside this file or anywhere in the same test.
pub(crate) fn process_in(file: &Path, number: u32) -> Option<u32> {
    let is_root = |path: &&Path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(".tmp"));
    let root = file.ancestors().find(is_root).or(file.parent()).unwrap();
    let is_meant = |pid: &u32| {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        let numbers = status.lines().find_map(|line| line.strip_prefix("NSpid:")).unwrap_or_default();
        let there = fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|cwd| cwd.starts_with(root));
        there && numbers.split_whitespace().last() == Some(number.to_string().as_str())
    };
    let pids = fs::read_dir("/proc").unwrap().flatten();
    pids.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).find(is_meant).filter(|pid| is_alive(*pid))
}

/// Whether a process is there, and not only waited for.
pub(crate) fn is_alive(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(')').is_some_and(|(_, rest)| !rest.trim_start().starts_with(['Z', 'X']))
}
