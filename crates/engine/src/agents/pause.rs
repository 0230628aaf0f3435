//! Timeouts of a program that do not count while it is paused.

use std::collections::VecDeque;
use std::pin::pin;
use std::time::Duration;

use tokio::sync::{oneshot, watch};
use tokio::time::{Instant, sleep};

use super::idle::{IdleGuard, IdleTimer};
use crate::child::StoppedProcess;

/// Whether a program runs, for those who apply timeouts to it.
#[derive(Debug, Clone)]
pub(crate) struct PauseWatch(watch::Receiver<ProgramState>);

/// The pause state of a program, and the callers waiting for a change.
#[derive(Debug)]
pub(crate) struct PauseControl {
    step: watch::Sender<ProgramState>,
    /// A paused program is not idle.
    hold: Option<IdleGuard>,
    still: Vec<StoppedProcess>,
    /// The callers waiting for a pause or resume, in order.
    waiting: VecDeque<oneshot::Sender<()>>,
}

/// Whether a program moves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ProgramState {
    /// It does.
    Running,
    /// It stands still.
    Paused,
}

impl PauseControl {
    pub(crate) fn new() -> (Self, PauseWatch) {
        let (step, pace) = watch::channel(ProgramState::Running);
        (Self { step, hold: None, still: Vec::new(), waiting: VecDeque::new() }, PauseWatch(pace))
    }

    /// A pause or resume was requested.
    pub(crate) fn request(&mut self, step: ProgramState, pulse: &IdleTimer, done: oneshot::Sender<()>) {
        self.waiting.push_back(done);
        // Parts of it may be silent before all of it is stopped.
        if step == ProgramState::Paused {
            self.hold = Some(pulse.suspend());
            self.step.send_replace(step);
        }
    }

    /// It is paused; these are all its processes.
    pub(crate) fn mark_paused(&mut self, still: Vec<StoppedProcess>) {
        self.still = still;
        self.set(ProgramState::Paused);
    }

    /// It is resumed.
    pub(crate) fn mark_running(&mut self) {
        self.still.clear();
        self.hold = None;
        self.set(ProgramState::Running);
    }

    /// The paused processes.
    pub(crate) fn paused_processes(&self) -> &[StoppedProcess] {
        &self.still
    }

    fn set(&mut self, step: ProgramState) {
        self.step.send_replace(step);
        if let Some(waiting) = self.waiting.pop_front() {
            // The caller may no longer wait.
            let _ = waiting.send(());
        }
    }
}

impl PauseWatch {
    /// Whether it runs now.
    pub(crate) fn state(&self) -> ProgramState {
        *self.0.borrow()
    }

    /// Returns once it has run for this long.
    pub(crate) async fn sleep_running(&self, time: Duration) {
        let mut pace = self.0.clone();
        let mut left = time;
        loop {
            let step = *pace.borrow_and_update();
            let started = Instant::now();
            let changed = match step {
                ProgramState::Paused => pace.changed().await,
                ProgramState::Running => tokio::select! {
                    () = sleep(left) => return,
                    changed = pace.changed() => changed,
                },
            };
            if step == ProgramState::Running {
                left = left.saturating_sub(started.elapsed());
            }
            if changed.is_err() {
                // No more reports: nothing keeps the rest from running.
                return sleep(left).await;
            }
        }
    }

    /// The output of a future; nothing if the program ran for this long meanwhile.
    pub(crate) async fn timeout_running<T>(&self, time: Duration, what: impl Future<Output = T>) -> Option<T> {
        let mut what = pin!(what);
        tokio::select! {
            biased;
            done = &mut what => Some(done),
            () = self.sleep_running(time) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::timeout;

    use super::*;

    const A_WHILE: Duration = Duration::from_millis(60);

    #[tokio::test]
    async fn only_the_time_it_moves_counts() {
        let (mut leader, pace) = PauseControl::new();
        let started = Instant::now();
        let steps = async {
            sleep(A_WHILE).await;
            leader.mark_paused(Vec::new());
            sleep(A_WHILE * 5).await;
            leader.mark_running();
        };
        tokio::join!(steps, pace.sleep_running(A_WHILE * 3));
        assert!(started.elapsed() >= A_WHILE * 7, "{:?}", started.elapsed());
    }

    #[tokio::test]
    async fn who_stands_still_has_all_the_time_there_is() {
        let (mut leader, pace) = PauseControl::new();
        leader.mark_paused(Vec::new());
        assert!(timeout(A_WHILE, pace.timeout_running(Duration::ZERO, std::future::pending::<()>())).await.is_err());
        assert_eq!(pace.timeout_running(Duration::ZERO, async { 1 }).await, Some(1));
        drop(leader);
        assert_eq!(pace.timeout_running(A_WHILE, std::future::pending::<()>()).await, None);
    }
}
