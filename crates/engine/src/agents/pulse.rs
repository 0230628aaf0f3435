//! Idle timer of a program.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use tokio::time::{Instant, sleep};

/// When a program was last active, shared by its readers and the timeout.
#[derive(Debug, Clone)]
pub(crate) struct Pulse(Arc<Beats>);

#[derive(Debug)]
struct Beats {
    begun: Instant,
    /// Milliseconds after the start.
    last: AtomicU64,
    /// How many reasons suspend the timer.
    held: AtomicUsize,
}

/// Suspends the timer while it exists.
#[derive(Debug)]
pub(crate) struct Hold(Pulse);

impl Pulse {
    pub(crate) fn new() -> Self {
        Self(Arc::new(Beats { begun: Instant::now(), last: AtomicU64::new(0), held: AtomicUsize::new(0) }))
    }

    /// Records activity.
    pub(crate) fn beat(&self) {
        let now = u64::try_from(self.0.begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        self.0.last.fetch_max(now, Ordering::Relaxed);
    }

    /// Suspends the timer while the program waits for something else.
    pub(crate) fn hold(&self) -> Hold {
        self.0.held.fetch_add(1, Ordering::Relaxed);
        Hold(self.clone())
    }

    /// Returns once the program was idle for this long while the timer was running.
    pub(crate) async fn silent_for(&self, patience: Duration) {
        loop {
            let silent =
                self.0.begun.elapsed().saturating_sub(Duration::from_millis(self.0.last.load(Ordering::Relaxed)));
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

impl Drop for Hold {
    fn drop(&mut self) {
        self.0.beat();
        self.0.0.held.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::timeout;

    use super::*;

    const PATIENCE: Duration = Duration::from_millis(60);

    async fn is_silent_within(pulse: &Pulse, time: Duration) -> bool {
        timeout(time, pulse.silent_for(PATIENCE)).await.is_ok()
    }

    #[tokio::test]
    async fn silence_counts_from_the_last_word_and_not_while_others_are_waited_for() {
        let pulse = Pulse::new();
        let hold = pulse.hold();
        assert!(!is_silent_within(&pulse, PATIENCE * 4).await);
        drop(hold);
        assert!(!is_silent_within(&pulse, PATIENCE / 4).await);
        assert!(is_silent_within(&pulse, PATIENCE * 20).await);
        pulse.beat();
        assert!(!is_silent_within(&pulse, PATIENCE / 4).await);
    }
}
