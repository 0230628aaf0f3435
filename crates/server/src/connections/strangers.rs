//! Pool of connections whose callers have not shown who they are: small, and the oldest makes room for the next.
//!
//! It has a moment for that first. A crowd that connects at once waits, so that it does not push itself out.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, timeout_at};

/// The strangers. Copies share everything.
#[derive(Debug, Clone)]
pub(super) struct StrangerPool(Arc<PoolState>);

#[derive(Debug)]
struct PoolState {
    most: usize,
    /// How long each has to show who it is.
    grace: Duration,
    waiting: Mutex<WaitingStrangers>,
    /// Told when a place is given up.
    left: Notify,
}

#[derive(Debug, Default)]
struct WaitingStrangers {
    next: u64,
    /// Until when each may stay, and what ends its connection; oldest first.
    ends: BTreeMap<u64, (Instant, Arc<Notify>)>,
}

/// The place of one connection; it is given up when the caller is known, or the connection has ended.
#[derive(Debug, Clone)]
pub(crate) struct StrangerPlace(Arc<PlaceState>);

#[derive(Debug)]
struct PlaceState {
    number: u64,
    pool: Arc<PoolState>,
    end: Arc<Notify>,
}

impl StrangerPool {
    pub(super) fn new(most: usize, grace: Duration) -> Self {
        Self(Arc::new(PoolState { most, grace, waiting: Mutex::default(), left: Notify::new() }))
    }

    /// Takes a place; where there is none, the oldest stranger's connection ends, as soon as it had its time.
    pub(super) async fn enter(&self) -> StrangerPlace {
        loop {
            match self.try_enter() {
                Ok(place) => return place,
                // Whether one left or the time is over: it is tried again.
                Err(time) => {
                    let _ = timeout_at(time, self.0.left.notified()).await;
                }
            }
        }
    }

    /// Takes a place, or says when the oldest stranger has had its time.
    fn try_enter(&self) -> Result<StrangerPlace, Instant> {
        let now = Instant::now();
        let end = Arc::new(Notify::new());
        let mut waiting = self.0.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        if waiting.ends.len() >= self.0.most
            && let Some(oldest) = waiting.ends.first_entry()
        {
            let time = oldest.get().0;
            if now < time {
                return Err(time);
            }
            let (_, end) = oldest.remove();
            end.notify_one();
        }
        let number = waiting.next;
        waiting.next += 1;
        waiting.ends.insert(number, (now + self.0.grace, Arc::clone(&end)));
        Ok(StrangerPlace(Arc::new(PlaceState { number, pool: Arc::clone(&self.0), end })))
    }
}

impl StrangerPlace {
    /// Gives the place up: the caller is known.
    pub(crate) fn leave(&self) {
        self.0.leave();
    }

    /// Waits until the connection has to make room.
    pub(super) fn ended(&self) -> impl Future<Output = ()> + use<> {
        let end = Arc::clone(&self.0.end);
        async move { end.notified().await }
    }
}

impl PlaceState {
    fn leave(&self) {
        let left = self.pool.waiting.lock().unwrap_or_else(PoisonError::into_inner).ends.remove(&self.number);
        if left.is_some() {
            self.pool.left.notify_one();
        }
    }
}

impl Drop for PlaceState {
    fn drop(&mut self) {
        self.leave();
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;

    use super::*;

    /// Only a failing test takes as long.
    const LONG: Duration = Duration::from_mins(1);

    #[tokio::test]
    async fn the_oldest_stranger_makes_room_and_known_callers_stay() {
        let pool = StrangerPool::new(2, Duration::ZERO);
        let places = [pool.enter().await, pool.enter().await];
        places[0].leave();
        let third = pool.enter().await;
        assert_eq!(places[0].ended().now_or_never(), None, "it is known");
        assert_eq!(places[1].ended().now_or_never(), None, "there was room");
        let _fourth = pool.enter().await;
        assert_eq!(places[1].ended().now_or_never(), Some(()));
        assert_eq!(third.ended().now_or_never(), None);
    }

    #[tokio::test]
    async fn a_stranger_has_its_time_before_it_makes_room() {
        let pool = StrangerPool::new(1, LONG);
        let first = pool.enter().await;
        let next = pool.clone();
        let next = tokio::spawn(async move { next.enter().await });
        tokio::task::yield_now().await;
        assert!(!next.is_finished() && first.ended().now_or_never().is_none());
        first.leave();
        let next = tokio::time::timeout(LONG, next).await.unwrap().unwrap();
        assert!(first.ended().now_or_never().is_none() && next.ended().now_or_never().is_none());
    }
}
