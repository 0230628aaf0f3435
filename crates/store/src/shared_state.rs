//! State that a store's handles and threads share.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use tokio::sync::watch;

use crate::error::StoreError;
use crate::health::StoreHealth;
use crate::tx::StoreRules;

/// The time in milliseconds since 1970.
pub type Clock = Arc<dyn Fn() -> i64 + Send + Sync>;

/// How a store is used.
#[derive(Debug, Clone, Copy)]
pub struct StoreOptions {
    /// How long a change waits for another process before it is refused as busy.
    pub busy_timeout: Duration,
}

impl Default for StoreOptions {
    fn default() -> Self {
        Self { busy_timeout: Duration::from_secs(5) }
    }
}

/// A signal that something was stored.
pub struct ChangeSignal {
    signal: watch::Receiver<u64>,
    shared: Arc<SharedState>,
}

impl ChangeSignal {
    pub(crate) fn new(shared: &Arc<SharedState>) -> Self {
        shared.watchers.fetch_add(1, Ordering::Relaxed);
        Self { signal: shared.bell.subscribe(), shared: Arc::clone(shared) }
    }

    /// Waits until something was stored since this was last asked.
    pub async fn next(&mut self) -> Result<(), StoreError> {
        self.signal.changed().await.map_err(|_| StoreError::Closed)
    }
}

impl Drop for ChangeSignal {
    fn drop(&mut self) {
        self.shared.watchers.fetch_sub(1, Ordering::Relaxed);
    }
}

/// What the handle and the threads behind it have in common.
pub(crate) struct SharedState {
    bell: watch::Sender<u64>,
    watchers: AtomicUsize,
    looked_at: AtomicBool,
    commits: AtomicU64,
    changes: AtomicU64,
    rules: RwLock<StoreRules>,
    pub(crate) health: StoreHealth,
}

impl Default for SharedState {
    fn default() -> Self {
        Self {
            bell: watch::Sender::new(0),
            watchers: AtomicUsize::default(),
            looked_at: AtomicBool::default(),
            commits: AtomicU64::default(),
            changes: AtomicU64::default(),
            rules: RwLock::default(),
            health: StoreHealth::default(),
        }
    }
}

impl SharedState {
    pub(crate) fn signal_change(&self) {
        self.bell.send_modify(|rings| *rings += 1);
    }

    pub(crate) fn is_watched(&self) -> bool {
        self.watchers.load(Ordering::Relaxed) > 0
    }

    pub(crate) fn count_commit(&self, changes: usize) {
        self.commits.fetch_add(1, Ordering::Relaxed);
        self.changes.fetch_add(changes as u64, Ordering::Relaxed);
    }

    pub(crate) fn rules(&self) -> StoreRules {
        *self.rules.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn set_rules(&self, rules: StoreRules) {
        *self.rules.write().unwrap_or_else(PoisonError::into_inner) = rules;
    }

    /// Whether this call is the first that wants other processes to be watched.
    pub(crate) fn start_watch(&self) -> bool {
        !self.looked_at.swap(true, Ordering::Relaxed)
    }

    /// How many commits there were, and how many changes they held.
    pub(crate) fn commits(&self) -> (u64, u64) {
        (self.commits.load(Ordering::Relaxed), self.changes.load(Ordering::Relaxed))
    }
}
