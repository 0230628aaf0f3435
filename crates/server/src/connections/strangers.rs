//! Pool of connections whose callers have not shown who they are: small, and the oldest makes room for the next.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::Notify;

/// The strangers. Copies share everything.
#[derive(Debug, Clone)]
pub(super) struct StrangerPool(Arc<PoolState>);

#[derive(Debug)]
struct PoolState {
    most: usize,
    waiting: Mutex<WaitingStrangers>,
}

#[derive(Debug, Default)]
struct WaitingStrangers {
    next: u64,
    /// What ends each connection, oldest first.
    ends: BTreeMap<u64, Arc<Notify>>,
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
    pub(super) fn new(most: usize) -> Self {
        Self(Arc::new(PoolState { most, waiting: Mutex::default() }))
    }

    /// Takes a place; where there is none, the oldest stranger's connection ends.
    pub(super) fn enter(&self) -> StrangerPlace {
        let end = Arc::new(Notify::new());
        let mut waiting = self.0.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        if waiting.ends.len() >= self.0.most
            && let Some((_, oldest)) = waiting.ends.pop_first()
        {
            oldest.notify_one();
        }
        let number = waiting.next;
        waiting.next += 1;
        waiting.ends.insert(number, Arc::clone(&end));
        StrangerPlace(Arc::new(PlaceState { number, pool: Arc::clone(&self.0), end }))
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
        self.pool.waiting.lock().unwrap_or_else(PoisonError::into_inner).ends.remove(&self.number);
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

    #[test]
    fn the_oldest_stranger_makes_room_and_known_callers_stay() {
        let pool = StrangerPool::new(2);
        let places: Vec<StrangerPlace> = (0..2).map(|_| pool.enter()).collect();
        places[0].leave();
        let third = pool.enter();
        assert_eq!(places[0].ended().now_or_never(), None, "it is known");
        assert_eq!(places[1].ended().now_or_never(), None, "there was room");
        let _fourth = pool.enter();
        assert_eq!(places[1].ended().now_or_never(), Some(()));
        assert_eq!(third.ended().now_or_never(), None);
    }
}
