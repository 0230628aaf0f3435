//! Idle timer of a program.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use tokio::time::{Instant, sleep};

/// When a program was last active, shared by its readers and the timeout.
#[derive(Debug, Clone)]
pub(crate) struct IdleTimer(Arc<IdleClock>);

#[derive(Debug)]
struct IdleClock {
    started: Instant,
    /// Milliseconds after the start.
    last: AtomicU64,
    /// How many reasons suspend the timer.
    held: AtomicUsize,
}

/// Suspends the timer while it exists.
#[derive(Debug)]
pub(crate) struct IdleGuard(IdleTimer);

impl IdleTimer {
    pub(crate) fn new() -> Self {
        Self(Arc::new(IdleClock { started: Instant::now(), last: AtomicU64::new(0), held: AtomicUsize::new(0) }))
    }

    /// Records activity.
    pub(crate) fn touch(&self) {
        let now = u64::try_from(self.0.started.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.0.last.fetch_max(now, Ordering::Relaxed);
    }

    /// Suspends the timer while the program waits for something else.
    pub(crate) fn suspend(&self) -> IdleGuard {
        self.0.held.fetch_add(1, Ordering::Relaxed);
        IdleGuard(self.clone())
    }

    /// Returns once the program was idle for this long while the timer was running.
    pub(crate) async fn wait_idle(&self, patience: Duration) {
        loop {
            let silent =
                self.0.started.elapsed().saturating_sub(Duration::from_millis(self.0.last.load(Ordering::Relaxed)));
            if self.0.held.load(Ordering::Relaxed) > 0 {
                sleep(patience).await;
            } else if silent >= patience {
                return;
            } else {
                sleep(patience.saturating_sub(silent)).await;
            }
        }
    }
}

impl Drop for IdleGuard {
    fn drop(&mut self) {
        self.0.touch();
        self.0.0.held.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::timeout;

    use super::*;

    const PATIENCE: Duration = Duration::from_millis(60);

    async fn is_silent_within(pulse: &IdleTimer, time: Duration) -> bool {
        timeout(time, pulse.wait_idle(PATIENCE)).await.is_ok()
    }

    #[tokio::test]
    async fn silence_counts_from_the_last_word_and_not_while_others_are_waited_for() {
        let pulse = IdleTimer::new();
        let hold = pulse.suspend();
        assert!(!is_silent_within(&pulse, PATIENCE * 4).await);
        drop(hold);
        assert!(!is_silent_within(&pulse, PATIENCE / 4).await);
        assert!(is_silent_within(&pulse, PATIENCE * 20).await);
        pulse.touch();
        assert!(!is_silent_within(&pulse, PATIENCE / 4).await);
    }
}
