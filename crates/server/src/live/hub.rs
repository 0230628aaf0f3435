//! Hub of all WebSocket clients: one task reads, paces and encodes the log for all of them.
//!
//! It runs only while a client is connected. A client that falls behind is not waited for: it reads the log itself.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use maestro_store::{Clock, EventFilter, Store};
use tokio::sync::{Semaphore, broadcast};
use tokio::time::{Instant, sleep, sleep_until};

use super::EventFeed;
use super::frame::{FrameQuery, SocketFrame};
use super::rate_limit::RateLimiter;
use super::signal::ClientSignal;

/// How many frames a client may be behind before it reads the log itself.
const BEHIND: usize = 256;
/// The size of a frame that is not kept for all clients.
const LARGE: usize = 256 * 1024;
/// How many clients have frames of their own in memory at once.
const CATCH_UPS: usize = 16;
/// How many clients may be connected at once.
const CLIENTS: usize = 1024;
/// How long the log is followed after the last client has left, and the pause after a failed read.
const LINGER: Duration = Duration::from_secs(1);

/// A message from the hub to the clients.
#[derive(Debug, Clone)]
pub(crate) enum HubMessage {
    /// An event.
    Frame(Arc<SocketFrame>),
    /// Something could not be read, so every client must catch up by itself.
    Gap,
}

/// The hub.
pub(crate) struct SocketHub {
    pub(super) store: Store,
    pub(super) clock: Clock,
    feed: Arc<EventFeed>,
    messages: Mutex<Option<broadcast::Sender<HubMessage>>>,
    clients: AtomicUsize,
    /// Turns of clients that catch up.
    pub(super) catch_ups: Semaphore,
}

/// A client's slot; dropping it frees the slot.
pub(crate) struct HubSlot(Arc<SocketHub>);

impl Drop for HubSlot {
    fn drop(&mut self) {
        self.0.clients.fetch_sub(1, Ordering::Relaxed);
    }
}

impl SocketHub {
    pub(crate) fn new(store: Store, clock: Clock, feed: Arc<EventFeed>) -> Self {
        let catch_ups = Semaphore::new(CATCH_UPS);
        Self { store, clock, feed, messages: Mutex::new(None), clients: AtomicUsize::new(0), catch_ups }
    }

    /// The number of clients.
    pub(crate) fn clients(&self) -> usize {
        self.clients.load(Ordering::Relaxed)
    }

    /// A slot for one more client; nothing when there are too many.
    pub(super) fn admit(self: &Arc<Self>) -> Option<HubSlot> {
        let more = |clients| (clients < CLIENTS).then_some(clients + 1);
        self.clients.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).ok()?;
        Some(HubSlot(Arc::clone(self)))
    }

    /// Adds a client; it receives everything after this line of the log.
    pub(super) fn join(self: &Arc<Self>, after: i64) -> broadcast::Receiver<HubMessage> {
        let mut news = self.messages.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(sender) = news.as_ref() {
            return sender.subscribe();
        }
        let (sender, receiver) = broadcast::channel(BEHIND);
        *news = Some(sender.clone());
        tokio::spawn(run(Arc::clone(self), sender, after));
        receiver
    }

    /// Stops when there are no clients, unless one joined at the last moment.
    fn leave(&self, sender: &broadcast::Sender<HubMessage>) -> bool {
        let mut news = self.messages.lock().unwrap_or_else(PoisonError::into_inner);
        let alone = sender.receiver_count() == 0;
        if alone {
            *news = None;
        }
        alone
    }

    async fn broadcast(&self, sender: &broadcast::Sender<HubMessage>, signs: Vec<ClientSignal>) {
        if signs.is_empty() {
            return;
        }
        // A message without clients is dropped.
        match self.store.read(FrameQuery { signals: signs, now: (self.clock)() }).await {
            Ok(frames) => frames.into_iter().flatten().for_each(|frame| {
                // Frames stay in memory until the slowest client has them; a large one is read by each client itself.
                let message =
                    if frame.text.len() > LARGE { HubMessage::Gap } else { HubMessage::Frame(Arc::new(frame)) };
                let _ = sender.send(message);
            }),
            Err(_) => {
                let _ = sender.send(HubMessage::Gap);
            }
        }
    }
}

/// Sends events until there are no clients.
async fn run(hub: Arc<SocketHub>, sender: broadcast::Sender<HubMessage>, after: i64) {
    let mut log = hub.feed.subscribe(after, EventFilter::default());
    let mut pace = RateLimiter::default();
    let mut look = Instant::now() + LINGER;
    loop {
        let wake = pace.next_due().map_or(look, |due| due.min(look));
        tokio::select! {
            batch = log.next() => if let Some(batch) = batch {
                hub.broadcast(&sender, pace.take(&batch.rows, Instant::now())).await;
            } else {
                sleep(LINGER).await;
                log = hub.feed.subscribe(pace.through().max(after), EventFilter::default());
            },
            () = sleep_until(wake) => {
                hub.broadcast(&sender, pace.due(Instant::now())).await;
            }
        }
        if Instant::now() >= look {
            if hub.leave(&sender) {
                return;
            }
            look = Instant::now() + LINGER;
        }
    }
}
