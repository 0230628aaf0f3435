//! Health of the daemon: what fails, since when and why; and the one policy for errors.
//!
//! What fails is logged, counted and retried after a pause that grows. It counts as degraded until it succeeds.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use maestro_store::{Clock, StoreError};

use crate::runs::RunError;

/// The pause after the first failure; each further one doubles it.
const FIRST_PAUSE: Duration = Duration::from_millis(250);
/// The longest pause.
const LONGEST_PAUSE: Duration = Duration::from_secs(15);

/// How long after its time a task that is not tried again counts as abandoned, in milliseconds.
const ABANDONED: i64 = 60_000;

maestro_core::word_enum! {
    /// A part of the daemon.
    #[derive(PartialOrd, Ord)]
    pub enum DaemonPart {
        /// Starts queued agents.
        Worker = "worker",
        /// Starts sessions for steps of runs.
        StepSessions = "step sessions",
        /// Ends silent sessions, continues runs, forgets what is old.
        Maintenance = "maintenance",
        /// Executes what runs order.
        RunDriver = "run driver",
    }
}

/// Something that the daemon does again and again.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct DaemonTask {
    /// The part that does it.
    pub part: DaemonPart,
    /// What it is about: a session, a run, or what is done.
    pub subject: String,
}

impl DaemonTask {
    /// The task of a part about something.
    pub fn new(part: DaemonPart, subject: impl fmt::Display) -> Self {
        Self { part, subject: subject.to_string() }
    }
}

/// A task that fails.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DaemonFailure {
    /// What fails.
    pub task: DaemonTask,
    /// Since when, in milliseconds since 1970.
    pub since: i64,
    /// How often it failed since then.
    pub failures: u64,
    /// Why it failed last.
    pub reason: String,
    /// When it is tried again, in milliseconds since 1970.
    retry_at: i64,
    /// How long it rests until then, in milliseconds.
    pause: i64,
}

/// An error that is either a failure that may pass, or an answer.
pub trait PassingError: fmt::Display {
    /// Whether the same may succeed later.
    fn may_pass(&self) -> bool;
}

impl PassingError for StoreError {
    fn may_pass(&self) -> bool {
        self.is_failure()
    }
}

impl PassingError for RunError {
    fn may_pass(&self) -> bool {
        matches!(self, Self::Store(error) if error.is_failure())
    }
}

/// What fails in the daemon now. All copies show the same.
#[derive(Clone)]
pub struct DaemonHealth {
    clock: Clock,
    failing: Arc<Mutex<BTreeMap<DaemonTask, DaemonFailure>>>,
}

impl DaemonHealth {
    /// A daemon in which nothing fails.
    pub fn new(clock: Clock) -> Self {
        Self { clock, failing: Arc::default() }
    }

    /// What fails now.
    pub fn failures(&self) -> Vec<DaemonFailure> {
        let now = (self.clock)();
        let mut failing = self.failing();
        // What is not tried any more does not fail any more: its run or session is over.
        // What rests long may also take long.
        failing.retain(|_, failure| failure.retry_at.saturating_add(failure.pause.max(ABANDONED)) > now);
        failing.values().cloned().collect()
    }

    /// Whether a task is to be tried now; one that failed rests for a while.
    pub fn is_due(&self, task: &DaemonTask) -> bool {
        self.failing().get(task).is_none_or(|failure| failure.retry_at <= (self.clock)())
    }

    /// Whether a task failed when it was last tried.
    pub fn is_failing(&self, task: &DaemonTask) -> bool {
        self.failing().contains_key(task)
    }

    /// Takes note of how a task went, and hands out what it returned if it went well.
    pub fn record<T, E: fmt::Display>(&self, task: &DaemonTask, result: Result<T, E>) -> Option<T> {
        self.record_with(task, result, pause_after)
    }

    /// The same for a task that costs much: one that failed rests this long each time.
    pub fn record_costly<T, E: fmt::Display>(
        &self,
        task: &DaemonTask,
        result: Result<T, E>,
        rest: Duration,
    ) -> Option<T> {
        self.record_with(task, result, |_| rest)
    }

    fn record_with<T, E: fmt::Display>(
        &self,
        task: &DaemonTask,
        result: Result<T, E>,
        pause: impl FnOnce(u64) -> Duration,
    ) -> Option<T> {
        match result {
            Ok(value) => {
                self.forget(task);
                Some(value)
            }
            Err(error) => {
                self.note_failure(task, &error.to_string(), pause);
                None
            }
        }
    }

    /// Repeats a task that fails, with growing pauses, until the store answers: with success, or with a refusal.
    pub async fn persist<T, E, F>(&self, task: &DaemonTask, mut attempt: impl FnMut() -> F) -> Result<T, E>
    where
        E: PassingError,
        F: Future<Output = Result<T, E>>,
    {
        loop {
            match attempt().await {
                Err(error) if error.may_pass() => {
                    let pause = self.note_failure(task, &error.to_string(), pause_after);
                    tokio::time::sleep(pause).await;
                }
                answer => {
                    self.forget(task);
                    return answer;
                }
            }
        }
    }

    /// Forgets what failed, because it succeeded or is over.
    pub fn forget(&self, task: &DaemonTask) {
        if let Some(failure) = self.failing().remove(task) {
            tracing::info!(part = %task.part, subject = task.subject, failures = failure.failures, "works again");
        }
    }

    /// Logs and counts a failure, and returns how long to wait.
    fn note_failure(&self, task: &DaemonTask, reason: &str, pause: impl FnOnce(u64) -> Duration) -> Duration {
        let now = (self.clock)();
        let mut failing = self.failing();
        let failure = failing.entry(task.clone()).or_insert_with(|| DaemonFailure {
            task: task.clone(),
            since: now,
            failures: 0,
            reason: String::new(),
            retry_at: now,
            pause: 0,
        });
        failure.failures += 1;
        reason.clone_into(&mut failure.reason);
        let pause = pause(failure.failures);
        failure.pause = i64::try_from(pause.as_millis()).unwrap_or(i64::MAX);
        failure.retry_at = now.saturating_add(failure.pause);
        // The first failures are logged one by one, and then ever fewer of them.
        if failure.failures.is_power_of_two() {
            tracing::warn!(part = %task.part, subject = task.subject, failures = failure.failures, "{reason}");
        }
        pause
    }

    fn failing(&self) -> std::sync::MutexGuard<'_, BTreeMap<DaemonTask, DaemonFailure>> {
        self.failing.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How long to wait after so many failures in a row.
fn pause_after(failures: u64) -> Duration {
    let doublings = u32::try_from(failures.saturating_sub(1)).unwrap_or(u32::MAX).min(16);
    (FIRST_PAUSE * 2_u32.pow(doublings)).min(LONGEST_PAUSE)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicI64, Ordering};

    use super::*;

    #[test]
    fn what_fails_rests_longer_each_time_and_shows_until_it_succeeds() {
        let now = Arc::new(AtomicI64::new(1_000));
        let clock = Arc::clone(&now);
        let health = DaemonHealth::new(Arc::new(move || clock.load(Ordering::Relaxed)));
        let task = DaemonTask::new(DaemonPart::Maintenance, "silent sessions");
        assert!(health.is_due(&task));
        assert_eq!(health.record(&task, Err::<(), _>("the disk is full")), None);
        assert!(!health.is_due(&task), "it is not tried again at once");
        now.store(1_250, Ordering::Relaxed);
        assert!(health.is_due(&task));
        health.record(&task, Err::<(), _>("the disk is full"));
        now.store(1_500, Ordering::Relaxed);
        assert!(!health.is_due(&task), "the pause grows");
        let [failure] = health.failures().try_into().unwrap();
        assert_eq!((failure.since, failure.failures, failure.reason.as_str()), (1_000, 2, "the disk is full"));
        assert_eq!(health.record(&task, Ok::<_, String>(7)), Some(7));
        assert_eq!(health.failures(), []);
    }

    #[test]
    fn what_rests_long_shows_all_the_while() {
        let now = Arc::new(AtomicI64::new(1_000));
        let clock = Arc::clone(&now);
        let health = DaemonHealth::new(Arc::new(move || clock.load(Ordering::Relaxed)));
        let task = DaemonTask::new(DaemonPart::Maintenance, "automatic backup");
        let rest = Duration::from_mins(5);
        for attempt in 1..4 {
            assert!(health.is_due(&task));
            health.record_costly(&task, Err::<(), _>("the disk is full"), rest);
            now.fetch_add(299_999, Ordering::Relaxed);
            assert!(!health.is_due(&task) && health.is_failing(&task));
            assert_eq!(health.failures().first().map(|failure| failure.failures), Some(attempt));
            now.fetch_add(1, Ordering::Relaxed);
        }
        assert_eq!(health.record_costly(&task, Ok::<_, String>(()), rest), Some(()));
        assert_eq!((health.failures(), health.is_failing(&task)), (Vec::new(), false));
    }
}
