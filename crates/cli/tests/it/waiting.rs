//! Waiting for other processes, and what is known of them.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

/// Waits until something is so; the machine may be slow.
pub(crate) fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !is_so() {
        assert!(begun.elapsed() < Duration::from_secs(30), "it never came to be so: {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The number that a program wrote into a file once all of it is there.
pub(crate) fn number_in(path: &Path) -> u32 {
    let read = || fs::read_to_string(path).ok()?.strip_suffix('\n')?.trim().parse().ok();
    wait_until(&format!("{} has a number", path.display()), || read().is_some());
    read().unwrap()
}

/// Whether a process is there, and not only waited for.
pub(crate) fn is_alive(pid: u32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit_once(')').is_some_and(|(_, rest)| !rest.trim_start().starts_with(['Z', 'X']))
}
