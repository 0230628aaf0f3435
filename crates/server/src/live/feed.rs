//! How do a thousand watchers see one log? It is read once and encoded once, for all of them.
//!
//! A watcher that comes late or falls behind reads the log itself until it has caught up, so nothing is dropped and
//! nobody waits for the slowest. While nobody watches, nothing runs.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::{BufMut, Bytes, BytesMut};
use maestro_store::{EventFilter, EventRow, EventsAfter, LastSeq, Store, StoreError};
use tokio::sync::broadcast::{self, error::RecvError};
use tokio::time::{Instant, sleep_until, timeout};

/// Events that come this close together go out together.
const FRAME: Duration = Duration::from_millis(25);
/// How many frames a watcher may be behind before it reads the log itself.
const BEHIND: usize = 256;
/// How many events are read at once.
const AT_ONCE: i64 = 1000;
/// How long the log is followed after the last watcher has gone.
const LINGER: Duration = Duration::from_secs(1);

/// What happened within one frame.
#[derive(Debug)]
pub(crate) struct Batch {
    /// The events, oldest first.
    pub(crate) rows: Vec<EventRow>,
    /// The same as server-sent events, in one piece.
    pub(crate) whole: Bytes,
}

impl Batch {
    pub(crate) fn new(rows: Vec<EventRow>) -> Self {
        let mut whole = BytesMut::with_capacity(rows.len() * 256);
        for row in &rows {
            encode(row, &mut whole);
        }
        Self { rows, whole: whole.freeze() }
    }

    pub(crate) fn first(&self) -> i64 {
        self.rows.first().map_or(0, |row| row.seq)
    }

    pub(crate) fn last(&self) -> i64 {
        self.rows.last().map_or(0, |row| row.seq)
    }
}

fn encode(row: &EventRow, out: &mut BytesMut) {
    out.put_slice(format!("id: {}\ndata: ", row.seq).as_bytes());
    // A row consists of numbers and texts, which cannot fail to be written.
    let _ = serde_json::to_writer(out.writer(), row);
    out.put_slice(b"\n\n");
}

/// The log, followed on behalf of all watchers.
pub(crate) struct Feed {
    store: Store,
    frames: Mutex<Option<broadcast::Sender<Arc<Batch>>>>,
}

impl Feed {
    pub(crate) fn new(store: Store) -> Self {
        Self { store, frames: Mutex::new(None) }
    }

    /// Joins the watchers, after the event with this number.
    pub(crate) fn subscribe(self: &Arc<Self>, after: i64, filter: EventFilter) -> Subscription {
        let frames = self.join();
        let store = self.store.clone();
        Subscription { store, filter, after, caught_up: false, frames }
    }

    /// How many watch.
    pub(crate) fn watchers(&self) -> u64 {
        let frames = self.frames.lock().unwrap_or_else(PoisonError::into_inner);
        frames.as_ref().map_or(0, |sender| sender.receiver_count() as u64)
    }

    fn join(self: &Arc<Self>) -> broadcast::Receiver<Arc<Batch>> {
        let mut frames = self.frames.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(sender) = frames.as_ref() {
            return sender.subscribe();
        }
        let (sender, receiver) = broadcast::channel(BEHIND);
        *frames = Some(sender.clone());
        tokio::spawn(follow(Arc::clone(self), sender));
        receiver
    }

    /// Stops following when nobody is left, unless somebody joined at the last moment.
    fn leave(&self, sender: &broadcast::Sender<Arc<Batch>>) -> bool {
        let mut frames = self.frames.lock().unwrap_or_else(PoisonError::into_inner);
        let alone = sender.receiver_count() == 0;
        if alone {
            *frames = None;
        }
        alone
    }
}

/// Reads the log as it grows and hands each part to all watchers.
async fn follow(feed: Arc<Feed>, sender: broadcast::Sender<Arc<Batch>>) {
    let mut changes = feed.store.changes();
    // What cannot be read now is read at the next bell; watchers catch up from the log in any case.
    let mut last = feed.store.read(LastSeq).await.unwrap_or(i64::MAX);
    let mut next_frame = Instant::now();
    loop {
        match timeout(LINGER, changes.next()).await {
            Ok(Ok(())) => {}
            Ok(Err(_)) => return,
            Err(_) if feed.leave(&sender) => return,
            Err(_) => continue,
        }
        sleep_until(next_frame).await;
        next_frame = Instant::now() + FRAME;
        if last == i64::MAX {
            last = feed.store.read(LastSeq).await.unwrap_or(i64::MAX);
        }
        loop {
            let read = EventsAfter { seq: last, limit: AT_ONCE, filter: EventFilter::default() };
            let Ok(rows) = feed.store.read(read).await else { break };
            let Some(newest) = rows.last() else { break };
            last = newest.seq;
            // Nobody may be watching; then nobody misses it.
            let _ = sender.send(Arc::new(Batch::new(rows)));
        }
    }
}

/// A watcher's place in the log.
pub(crate) struct Subscription {
    store: Store,
    filter: EventFilter,
    after: i64,
    caught_up: bool,
    frames: broadcast::Receiver<Arc<Batch>>,
}

impl Subscription {
    /// What happened next, for this watcher only what it asked for; nothing when the store is closed.
    pub(crate) async fn next(&mut self) -> Option<Arc<Batch>> {
        loop {
            if !self.caught_up {
                match self.catch_up().await {
                    Ok(Some(batch)) => return Some(batch),
                    Ok(None) => {}
                    Err(_) => return None,
                }
            }
            match self.frames.recv().await {
                Ok(batch) => {
                    if let Some(batch) = self.wanted(batch) {
                        return Some(batch);
                    }
                }
                Err(RecvError::Lagged(_)) => self.caught_up = false,
                Err(RecvError::Closed) => return None,
            }
        }
    }

    /// The next part of the log that this watcher has not seen.
    async fn catch_up(&mut self) -> Result<Option<Arc<Batch>>, StoreError> {
        let read = EventsAfter { seq: self.after, limit: AT_ONCE, filter: self.filter.clone() };
        let rows = self.store.read(read).await?;
        self.caught_up = i64::try_from(rows.len()).unwrap_or(i64::MAX) < AT_ONCE;
        let Some(last) = rows.last() else { return Ok(None) };
        self.after = last.seq;
        Ok(Some(Arc::new(Batch::new(rows))))
    }

    /// The part of a frame that this watcher has not seen and wants.
    fn wanted(&mut self, batch: Arc<Batch>) -> Option<Arc<Batch>> {
        let (first, last) = (batch.first(), batch.last());
        if last <= self.after {
            return None;
        }
        let whole = first > self.after && self.filter.is_open();
        let seen = std::mem::replace(&mut self.after, last);
        if whole {
            return Some(batch);
        }
        let admits = |row: &&EventRow| row.seq > seen && self.filter.admits(row);
        let rows: Vec<EventRow> = batch.rows.iter().filter(admits).cloned().collect();
        (!rows.is_empty()).then(|| Arc::new(Batch::new(rows)))
    }
}
