//! Timeouts of a program that do not count while it is paused.

use std::collections::VecDeque;
use std::pin::pin;
use std::time::Duration;

use tokio::sync::{oneshot, watch};
use tokio::time::{Instant, sleep};

use super::pulse::{Hold, Pulse};
use crate::child::Still;

/// Whether a program runs, for those who apply timeouts to it.
#[derive(Debug, Clone)]
pub(crate) struct Pace(watch::Receiver<Step>);

/// The pause state of a program, and the callers waiting for a change.
#[derive(Debug)]
pub(crate) struct Leader {
    step: watch::Sender<Step>,
    /// A paused program is not idle.
    hold: Option<Hold>,
    still: Vec<Still>,
    /// The callers waiting for a pause or resume, in order.
    waiting: VecDeque<oneshot::Sender<()>>,
}

/// Whether a program moves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// It does.
    Moves,
    /// It stands still.
    Stands,
}

impl Leader {
    pub(crate) fn new() -> (Self, Pace) {
        let (step, pace) = watch::channel(Step::Moves);
        (Self { step, hold: None, still: Vec::new(), waiting: VecDeque::new() }, Pace(pace))
    }

    /// A pause or resume was requested.
    pub(crate) fn told(&mut self, step: Step, pulse: &Pulse, done: oneshot::Sender<()>) {
        self.waiting.push_back(done);
        // Parts of it may be silent before all of it is stopped.
        if step == Step::Stands {
            self.hold = Some(pulse.hold());
            self.step.send_replace(step);
        }
    }

    /// It is paused; these are all its processes.
    pub(crate) fn stands(&mut self, still: Vec<Still>) {
        self.still = still;
        self.is(Step::Stands);
    }

    /// It is resumed.
    pub(crate) fn moves(&mut self) {
        self.still.clear();
        self.hold = None;
        self.is(Step::Moves);
    }

    /// The paused processes.
    pub(crate) fn still(&self) -> &[Still] {
        &self.still
    }

    fn is(&mut self, step: Step) {
        self.step.send_replace(step);
        if let Some(waiting) = self.waiting.pop_front() {
            let _ = waiting.send(());
        }
    }
}

impl Pace {
    /// Whether it runs now.
    pub(crate) fn step(&self) -> Step {
        *self.0.borrow()
    }

    /// Returns once it has run for this long.
    pub(crate) async fn elapse(&self, time: Duration) {
        let mut pace = self.0.clone();
        let mut left = time;
        loop {
            let step = *pace.borrow_and_update();
            let started = Instant::now();
            let changed = match step {
                Step::Stands => pace.changed().await,
                Step::Moves => tokio::select! {
                    () = sleep(left) => return,
                    changed = pace.changed() => changed,
                },
            };
            if step == Step::Moves {
                left = left.saturating_sub(started.elapsed());
            }
            if changed.is_err() {
                // No more reports: nothing keeps the rest from running.
                return sleep(left).await;
            }
        }
    }

    /// The output of a future; nothing if the program ran for this long meanwhile.
    pub(crate) async fn within<T>(&self, time: Duration, what: impl Future<Output = T>) -> Option<T> {
        let mut what = pin!(what);
        tokio::select! {
            biased;
            done = &mut what => Some(done),
            () = self.elapse(time) => None,
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
        let (mut leader, pace) = Leader::new();
        let started = Instant::now();
        let steps = async {
            sleep(A_WHILE).await;
            leader.stands(Vec::new());
            sleep(A_WHILE * 5).await;
            leader.moves();
        };
        tokio::join!(steps, pace.elapse(A_WHILE * 3));
        assert!(started.elapsed() >= A_WHILE * 7, "{:?}", started.elapsed());
    }

    #[tokio::test]
    async fn who_stands_still_has_all_the_time_there_is() {
        let (mut leader, pace) = Leader::new();
        leader.stands(Vec::new());
        assert!(timeout(A_WHILE, pace.within(Duration::ZERO, std::future::pending::<()>())).await.is_err());
        assert_eq!(pace.within(Duration::ZERO, async { 1 }).await, Some(1));
        drop(leader);
        assert_eq!(pace.within(A_WHILE, std::future::pending::<()>()).await, None);
    }
}
