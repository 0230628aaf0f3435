//! One feed of the log for all SSE watchers: read once and encoded once.
//!
//! A watcher that joins late or falls behind reads the log itself until it has caught up, so nothing is dropped and no
//! watcher waits for the slowest. Nothing runs while there are no watchers.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::{BufMut, Bytes, BytesMut};
use maestro_store::{EventFilter, EventPageAfter, EventRow, LastEventSeq, Store, StoreError};
use tokio::sync::broadcast::{self, error::RecvError};
use tokio::time::{Instant, sleep_until, timeout};

/// Events this close together are sent together.
const FRAME: Duration = Duration::from_millis(25);
/// How many frames a watcher may be behind before it reads the log itself.
const BEHIND: usize = 256;
/// How many events are read at once.
const AT_ONCE: i64 = 1000;
/// The size of a frame that is not kept for all watchers.
const LARGE: usize = 256 * 1024;
/// How long the log is followed after the last watcher has gone.
const LINGER: Duration = Duration::from_secs(1);

/// The events of one frame.
#[derive(Debug)]
pub(crate) struct EventBatch {
    /// The events, oldest first.
    pub(crate) rows: Vec<EventRow>,
    /// The same events as server-sent events, in one piece.
    pub(crate) whole: Bytes,
    /// The event before; a watcher that has not seen it has missed something.
    after: i64,
    /// The log was read up to here.
    through: i64,
}

impl EventBatch {
    fn new(rows: Vec<EventRow>, after: i64) -> Self {
        let through = rows.last().map_or(after, |row| row.seq);
        let mut whole = BytesMut::with_capacity(rows.len() * 256);
        for row in &rows {
            encode(row, &mut whole);
        }
        Self { rows, whole: whole.freeze(), after, through }
    }

    /// The last event of it.
    pub(crate) fn last(&self) -> i64 {
        self.through
    }
}

fn encode(row: &EventRow, out: &mut BytesMut) {
    out.put_slice(format!("id: {}\ndata: ", row.seq).as_bytes());
    // Rows consist of numbers and texts, so serializing them cannot fail.
    let _ = serde_json::to_writer(out.writer(), row);
    out.put_slice(b"\n\n");
}

/// The log, followed on behalf of all watchers.
pub(crate) struct EventFeed {
    store: Store,
    frames: Mutex<Option<broadcast::Sender<Arc<EventBatch>>>>,
}

impl EventFeed {
    pub(crate) fn new(store: Store) -> Self {
        Self { store, frames: Mutex::new(None) }
    }

    /// Joins the watchers, after the event with this number.
    pub(crate) fn subscribe(self: &Arc<Self>, after: i64, filter: EventFilter) -> FeedSubscription {
        let frames = self.join();
        let store = self.store.clone();
        FeedSubscription { store, filter, after, caught_up: false, behind: 0, frames }
    }

    /// The number of watchers.
    pub(crate) fn watchers(&self) -> u64 {
        let frames = self.frames.lock().unwrap_or_else(PoisonError::into_inner);
        frames.as_ref().map_or(0, |sender| sender.receiver_count() as u64)
    }

    fn join(self: &Arc<Self>) -> broadcast::Receiver<Arc<EventBatch>> {
        let mut frames = self.frames.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(sender) = frames.as_ref() {
            return sender.subscribe();
        }
        let (sender, receiver) = broadcast::channel(BEHIND);
        *frames = Some(sender.clone());
        tokio::spawn(follow(Arc::clone(self), sender));
        receiver
    }

    /// Stops when there are no watchers, unless one joined at the last moment.
    fn leave(&self, sender: &broadcast::Sender<Arc<EventBatch>>) -> bool {
        let mut frames = self.frames.lock().unwrap_or_else(PoisonError::into_inner);
        let alone = sender.receiver_count() == 0;
        if alone {
            *frames = None;
        }
        alone
    }
}

/// Reads the log as it grows and hands each part to all watchers.
async fn follow(feed: Arc<EventFeed>, sender: broadcast::Sender<Arc<EventBatch>>) {
    let mut changes = feed.store.changes();
    let mut last = None;
    let mut next_frame = Instant::now();
    // The first watchers may have read the log before this task did: the first frame, which is empty, tells them where
    // it starts.
    let mut unread = true;
    loop {
        if !unread {
            match timeout(LINGER, changes.next()).await {
                Ok(Ok(())) => {}
                Ok(Err(_)) => return,
                Err(_) if feed.leave(&sender) => return,
                Err(_) => continue,
            }
        }
        sleep_until(next_frame).await;
        next_frame = Instant::now() + FRAME;
        unread = read_new(&feed.store, &sender, &mut last).await.is_err();
        if unread {
            // A failed read is repeated, whether or not anything is stored in the meantime.
            next_frame = Instant::now() + LINGER;
            if feed.leave(&sender) {
                return;
            }
        }
    }
}

/// Sends everything after the last event sent.
async fn read_new(
    store: &Store,
    sender: &broadcast::Sender<Arc<EventBatch>>,
    last: &mut Option<i64>,
) -> Result<(), StoreError> {
    let mut seq = if let Some(seq) = *last {
        seq
    } else {
        let seq = store.read(LastEventSeq).await?;
        // A frame without watchers is dropped.
        let _ = sender.send(Arc::new(EventBatch::new(Vec::new(), seq)));
        *last = Some(seq);
        seq
    };
    loop {
        let page = store.read(EventPageAfter { seq, limit: AT_ONCE, filter: EventFilter::default() }).await?;
        if page.rows.is_empty() {
            return Ok(());
        }
        let batch = EventBatch::new(page.rows, seq);
        seq = batch.through;
        *last = Some(seq);
        // Frames stay in memory until the slowest watcher has them; a large one is read by each watcher itself.
        let shared = if batch.whole.len() > LARGE { EventBatch::new(Vec::new(), seq) } else { batch };
        let _ = sender.send(Arc::new(shared));
    }
}

/// A watcher's position in the log.
pub(crate) struct FeedSubscription {
    store: Store,
    filter: EventFilter,
    after: i64,
    caught_up: bool,
    /// How far the log went when it turned out that something was missed.
    behind: i64,
    frames: broadcast::Receiver<Arc<EventBatch>>,
}

impl FeedSubscription {
    /// The next events for this watcher, filtered; nothing when the log cannot be read.
    pub(crate) async fn next(&mut self) -> Option<Arc<EventBatch>> {
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
                    if let Some(batch) = self.filter_batch(batch) {
                        return Some(batch);
                    }
                }
                Err(RecvError::Lagged(_)) => self.caught_up = false,
                Err(RecvError::Closed) => return None,
            }
        }
    }

    /// The next part of the log that this watcher has not seen.
    async fn catch_up(&mut self) -> Result<Option<Arc<EventBatch>>, StoreError> {
        let read = EventPageAfter { seq: self.after, limit: AT_ONCE, filter: self.filter.clone() };
        let page = self.store.read(read).await?;
        let (rows, after) = (page.rows, self.after);
        self.after = rows.last().map_or(after, |row| row.seq);
        self.caught_up = !page.more;
        if self.caught_up {
            // The events between were read too, and filtered out.
            self.after = self.after.max(self.behind);
        }
        Ok((!rows.is_empty()).then(|| Arc::new(EventBatch::new(rows, after))))
    }

    /// The part of a frame that this watcher wants and has not seen.
    fn filter_batch(&mut self, batch: Arc<EventBatch>) -> Option<Arc<EventBatch>> {
        if batch.after > self.after {
            self.caught_up = false;
            self.behind = batch.through;
            return None;
        }
        if batch.through <= self.after {
            return None;
        }
        let seen = std::mem::replace(&mut self.after, batch.through);
        if seen == batch.after && self.filter.is_open() {
            return Some(batch);
        }
        let admits = |row: &&EventRow| row.seq > seen && self.filter.admits(row);
        let rows: Vec<EventRow> = batch.rows.iter().filter(admits).cloned().collect();
        (!rows.is_empty()).then(|| Arc::new(EventBatch::new(rows, seen)))
    }
}
