//! Use of the processor by a program and its descendants: who computes is not idle.

use std::time::Duration;

use crate::blocking;
use crate::child;

/// How many ticks of the processor there are in a second, on every system of today.
const TICKS_PER_SECOND: u64 = 100;
/// The least number of ticks that counts: programs that wait wake up now and then, too.
const LEAST_TICKS: u64 = 5;
/// Of which part of the time the processor must be used.
const PART: u32 = 5;
/// How often it is looked at, at most and at least.
const LONGEST: Duration = Duration::from_secs(15);
const SHORTEST: Duration = Duration::from_millis(50);

/// What a program used so far.
#[derive(Debug)]
pub(super) struct CpuUse {
    root: Option<u32>,
    every: Duration,
    last: Option<u64>,
}

impl CpuUse {
    /// The use of a process and all below it, where silence may last so long.
    pub(super) fn new(root: Option<u32>, idle: Duration) -> Self {
        Self { root, every: (idle / 4).clamp(SHORTEST, LONGEST), last: None }
    }

    /// How often to look.
    pub(super) fn every(&self) -> Duration {
        self.every
    }

    /// Whether it computed since the last look.
    pub(super) async fn is_busy(&mut self) -> bool {
        let Some(root) = self.root else { return false };
        let now = blocking::run(move || child::cpu_ticks(root)).await;
        let before = std::mem::replace(&mut self.last, now);
        is_use(before, now, self.every)
    }
}

/// Whether so many ticks, of which the later number comes so much later, are use of the processor.
fn is_use(before: Option<u64>, now: Option<u64>, every: Duration) -> bool {
    before.zip(now).is_some_and(|(before, now)| now.saturating_sub(before) >= least_ticks(every))
}

/// How many ticks in this time are use of the processor.
fn least_ticks(time: Duration) -> u64 {
    let part = u64::try_from((time / PART).as_millis()).unwrap_or(u64::MAX);
    (part.saturating_mul(TICKS_PER_SECOND) / 1000).max(LEAST_TICKS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fifth_of_the_time_is_use_and_a_moment_is_not() {
        assert_eq!(least_ticks(Duration::from_secs(15)), 300);
        assert_eq!(least_ticks(Duration::from_millis(50)), LEAST_TICKS);
    }

    #[test]
    fn who_computes_is_busy_and_who_waits_is_not() {
        let every = Duration::from_secs(1);
        assert!(is_use(Some(100), Some(120), every));
        assert!(!is_use(Some(100), Some(119), every));
        assert!(!is_use(Some(120), Some(100), every), "what has ended is not counted any more");
        assert!(!is_use(None, Some(1000), every), "nothing is known of before");
    }
}
