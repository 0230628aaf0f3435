//! Live updates of open pages: rendered once per change for all viewers.
//!
//! A page receives the difference from what it shows. One that fell behind, or reconnects, receives everything instead,
//! so that the last state always arrives and the server keeps no state per page.

use std::collections::HashMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use futures_util::Stream;
use maestro_store::EventFilter;
use serde_json::json;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until, timeout};

use super::consents::consent_mark;
use super::fragments::RenderedScreen;
use super::health;
use super::screens::ScreenId;
use crate::app::AppState;
use crate::live::FeedSubscription;

/// A page changes at most this often.
const PACE: Duration = Duration::from_millis(90);
/// How long a screen is kept current after its last page was closed.
const LINGER: Duration = Duration::from_secs(2);
/// The longest silence, so that proxies keep the connection open.
const QUIET: Duration = Duration::from_secs(15);
const STILL_HERE: &str = ": still here\n\n";
/// Sent to a page of another server.
pub(super) const FOREIGN: &str = "event: foreign\ndata: {}\n\n";
/// Sent to a page that has nothing in common with the current state.
pub(super) const RELOAD: &str = "retry: 1000\n\nevent: reload\ndata: {}\n\n";

/// A screen and its latest change.
struct ScreenFrame {
    number: u64,
    shot: RenderedScreen,
    /// The difference from the previous frame.
    news: Bytes,
}

/// The current frame, for all viewers of one screen; nothing before the first.
type ScreenWatch = watch::Sender<Option<Arc<ScreenFrame>>>;
type FrameReceiver = watch::Receiver<Option<Arc<ScreenFrame>>>;

/// The open screens, each kept current once for all its viewers.
pub(super) struct LiveScreens {
    app: AppState,
    screens: Mutex<HashMap<ScreenId, ScreenWatch>>,
}

impl LiveScreens {
    pub(super) fn new(app: AppState) -> Self {
        Self { app, screens: Mutex::default() }
    }

    fn join(self: &Arc<Self>, scene: ScreenId) -> FrameReceiver {
        let mut screens = self.screens.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(sender) = screens.get(&scene) {
            return sender.subscribe();
        }
        let (sender, receiver) = watch::channel(None);
        screens.insert(scene.clone(), sender.clone());
        tokio::spawn(keep_current(Arc::clone(self), scene, sender));
        receiver
    }

    /// Stops when there are no viewers, unless one came at the last moment.
    fn leave(&self, scene: &ScreenId, sender: &ScreenWatch) -> bool {
        let mut screens = self.screens.lock().unwrap_or_else(PoisonError::into_inner);
        let alone = sender.receiver_count() == 0;
        if alone {
            screens.remove(scene);
        }
        alone
    }
}

/// Renders a screen after every change, until there are no viewers.
async fn keep_current(shots: Arc<LiveScreens>, scene: ScreenId, sender: ScreenWatch) {
    let mut frame: Option<Arc<ScreenFrame>> = None;
    let mut feed: Option<FeedSubscription> = None;
    loop {
        let pace = Instant::now() + PACE;
        let consents = consent_mark(&shots.app);
        match scene.render(&shots.app, frame.as_ref().map(|frame| &frame.shot)).await {
            Ok(shot) => {
                let next = Arc::new(ScreenFrame::after(frame.as_deref(), shot));
                sender.send_replace(Some(Arc::clone(&next)));
                frame = Some(next);
            }
            // A database that fails is asked again; what no longer exists ends the screen.
            Err(error) if error.status().is_server_error() && !shots.leave(&scene, &sender) => {
                if let Some(next) = frame.as_deref().and_then(|frame| frame.while_failing(&shots.app)) {
                    frame = Some(Arc::new(next));
                    sender.send_replace(frame.clone());
                }
                sleep_until(pace).await;
                continue;
            }
            Err(_) => {}
        }
        let seq = frame.as_ref().map_or(0, |frame| frame.shot.seq);
        let feed = feed.get_or_insert_with(|| shots.app.feed.subscribe(seq, EventFilter::default()));
        loop {
            match timeout(LINGER, feed.next()).await {
                // What the screen already shows need not be read again.
                Ok(Some(batch)) if batch.last() > seq => break,
                Ok(None) => return,
                Err(_) if shots.leave(&scene, &sender) => return,
                // What fails is no event, but shows; and so is what waits for consent.
                Err(_) if frame.as_ref().is_some_and(|frame| !frame.shows_health_of(&shots.app)) => break,
                Err(_) if consent_mark(&shots.app) != consents => break,
                // Who did what is known only after something slow is done.
                Err(_) if frame.as_ref().is_some_and(|frame| !frame.explains_changes_of(&shots.app)) => break,
                Ok(Some(_)) | Err(_) => {}
            }
        }
        sleep_until(pace).await;
    }
}

impl ScreenFrame {
    /// The next frame; it keeps the number of the last one if both look the same.
    fn after(last: Option<&Self>, shot: RenderedScreen) -> Self {
        let Some(last) = last else { return Self { number: 0, news: shot.whole(), shot } };
        match shot.since(&last.shot) {
            Some(news) => Self { number: last.number + 1, news, shot },
            None => Self { number: last.number, news: last.news.clone(), shot },
        }
    }

    /// Whether it shows what fails now.
    fn shows_health_of(&self, app: &AppState) -> bool {
        self.shot.has_banner(health::banner(app).as_deref())
    }

    /// Whether it says who made the changes of the last moments.
    fn explains_changes_of(&self, app: &AppState) -> bool {
        self.shot.explains(&app.page.changes_made.recent((app.clock)()))
    }

    /// The next frame while nothing can be read: the same, below what fails. Nothing if it shows that already.
    fn while_failing(&self, app: &AppState) -> Option<Self> {
        match self.shot.with_banner(health::banner(app).as_deref()) {
            Ok(shot) => Some(Self::after(Some(self), shot)).filter(|next| next.number != self.number),
            Err(error) => {
                tracing::error!("the banner cannot be rendered: {error:#}");
                None
            }
        }
    }
}

/// The position of a page.
struct PageViewer {
    frames: FrameReceiver,
    closing: watch::Receiver<bool>,
    /// The first thing it receives: how long it waits before it reconnects, and which server this is.
    greeting: Option<Bytes>,
    /// The last event the page shows, as it reports.
    seen: Option<i64>,
    /// The last frame it was sent.
    shown: Option<u64>,
}

/// The stream of a page, until it disconnects or the server stops.
pub(super) fn stream(
    shots: &Arc<LiveScreens>,
    scene: ScreenId,
    seen: Option<i64>,
    app: &AppState,
) -> impl Stream<Item = Result<Bytes, Infallible>> + Send + use<> {
    let mut frames = shots.join(scene);
    frames.mark_changed();
    let hello = format!("retry: 1000\n\nevent: server\ndata: {}\n\n", json!({ "id": app.facts.site }));
    let (closing, greeting) = (app.closing.subscribe(), Some(Bytes::from(hello)));
    let viewer = PageViewer { frames, closing, greeting, seen, shown: None };
    futures_util::stream::unfold(viewer, |mut viewer| async move {
        let bytes = viewer.next().await?;
        Some((Ok(bytes), viewer))
    })
}

impl PageViewer {
    async fn next(&mut self) -> Option<Bytes> {
        if let Some(greeting) = self.greeting.take() {
            return Some(greeting);
        }
        loop {
            let changed = tokio::select! {
                changed = timeout(QUIET, self.frames.changed()) => changed,
                _ = self.closing.wait_for(|closing| *closing) => return None,
            };
            match changed {
                Ok(Ok(())) => {}
                Ok(Err(_)) => return None,
                Err(_) => return Some(Bytes::from_static(STILL_HERE.as_bytes())),
            }
            let frame = self.frames.borrow_and_update().clone();
            if let Some(bytes) = frame.and_then(|frame| self.show(&frame)) {
                return Some(bytes);
            }
        }
    }

    /// The patch that brings the page to this frame.
    fn show(&mut self, frame: &ScreenFrame) -> Option<Bytes> {
        // The page was rendered a moment ago, and this frame a moment before.
        if self.shown.is_none() && self.seen.is_some_and(|seen| seen > frame.shot.seq) {
            return None;
        }
        let current = self.seen == Some(frame.shot.seq);
        match self.shown.replace(frame.number) {
            None if current => Some(frame.shot.nothing()),
            Some(shown) if shown == frame.number => None,
            Some(shown) if shown + 1 == frame.number => Some(frame.news.clone()),
            _ => Some(frame.shot.whole()),
        }
    }
}
