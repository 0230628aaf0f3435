//! WebSocket for clients of the original: its frames, plus `seq`.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::ws::{CloseFrame, Message, WebSocket, WebSocketUpgrade, close_code};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::Response;
use futures_util::SinkExt as _;
use maestro_api::live::SocketReply;
use maestro_core::id::{EntityId as _, ProjectId};
use maestro_store::{LastEventSeq, StoreError};
use tokio::sync::broadcast::{self, error::RecvError};
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

use super::catch_up::{CatchUp, MissedPage};
use super::frame::{FrameQuery, SocketFrame};
use super::hub::{HubMessage, HubSlot, SocketHub};
use super::request::{FrameFilter, SocketRequest};
use super::signal::ClientSignal;
use crate::error::ApiError;
use crate::request_limits::RequestTurn;

/// The largest message of a client.
const LARGEST: usize = 64 * 1024;
/// How long a client may take to accept a frame.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long others that catch up wait for a client that reads slowly.
const BRIEFLY: Duration = Duration::from_millis(100);
/// The longest silence, so that both sides know that the connection is alive.
const QUIET: Duration = Duration::from_secs(30);
/// How many missed frames are made at once. A frame may be large: a session comes with the end of its timeline.
const AT_ONCE: usize = 4;
/// How often, and how far apart, a failed catch-up is repeated.
const TRIES: u32 = 5;
const PAUSE: Duration = Duration::from_millis(500);

/// Whether a request asks for a WebSocket.
pub(crate) fn is_upgrade(headers: &HeaderMap) -> bool {
    let upgrade = headers.get(header::UPGRADE).and_then(|value| value.to_str().ok());
    upgrade.is_some_and(|protocol| protocol.eq_ignore_ascii_case("websocket"))
}

/// Opens a WebSocket, until the server closes. Origin, host and token have been checked by then, as for any request.
pub(crate) async fn upgrade(
    hub: Arc<SocketHub>,
    closing: watch::Receiver<bool>,
    scope: Option<ProjectId>,
    turn: Option<RequestTurn>,
    upgrade: WebSocketUpgrade,
) -> Result<Response, ApiError> {
    let place = hub.admit().ok_or_else(|| {
        ApiError::new(StatusCode::SERVICE_UNAVAILABLE, "TOO_MANY_CLIENTS", "too many clients are connected")
    })?;
    hub.store.watch_others()?;
    // Read before the client knows that it is connected, so that it receives every later event.
    let after = hub.store.read(LastEventSeq).await?;
    let upgrade = upgrade.max_message_size(LARGEST).max_frame_size(LARGEST);
    Ok(upgrade.on_upgrade(move |socket| async move {
        let messages = hub.join(after);
        let client = SocketClient { socket, scope, filter: FrameFilter::default(), messages, after, covered: 0, place };
        client.serve(&hub, closing).await;
        drop(turn);
    }))
}

/// A connection that ended, for any reason.
struct SocketClosed;

/// One connected client.
struct SocketClient {
    socket: WebSocket,
    /// The only project it may see.
    scope: Option<ProjectId>,
    filter: FrameFilter,
    messages: broadcast::Receiver<HubMessage>,
    /// The client has everything up to this line of the log.
    after: i64,
    /// Frames up to this line were already sent while catching up.
    covered: i64,
    place: HubSlot,
}

impl SocketClient {
    async fn serve(mut self, hub: &SocketHub, mut closing: watch::Receiver<bool>) {
        tokio::select! {
            _ = self.run(hub) => {}
            _ = closing.wait_for(|closing| *closing) => {}
        }
        let farewell = CloseFrame { code: close_code::AWAY, reason: "the server is stopping".into() };
        // The client may already be gone.
        let _ = timeout(PAUSE, self.socket.send(Message::Close(Some(farewell)))).await;
        drop(self.place);
    }

    async fn run(&mut self, hub: &SocketHub) -> Result<(), SocketClosed> {
        self.catch_up(hub).await?;
        loop {
            tokio::select! {
                message = self.socket.recv() => match message {
                    Some(Ok(message)) => self.handle_request(hub, &message).await?,
                    _ => return Err(SocketClosed),
                },
                news = self.messages.recv() => match news {
                    Ok(HubMessage::Frame(frame)) => self.forward(&frame).await?,
                    Ok(HubMessage::Gap) | Err(RecvError::Lagged(_)) => self.catch_up(hub).await?,
                    Err(RecvError::Closed) => return Err(SocketClosed),
                },
                () = sleep(QUIET) => self.send(Message::Ping(bytes::Bytes::new())).await?,
            }
        }
    }

    /// Sends a frame unless the client has it or does not want it.
    async fn forward(&mut self, frame: &SocketFrame) -> Result<(), SocketClosed> {
        if frame.own > self.covered && self.admits(frame) {
            self.send(Message::Text(frame.text.clone())).await?;
        }
        self.after = self.after.max(frame.seq);
        Ok(())
    }

    /// Sends the current state of everything touched since the client's last frame, no faster than the client reads.
    async fn catch_up(&mut self, hub: &SocketHub) -> Result<(), SocketClosed> {
        let mut catch_up = CatchUp::default();
        loop {
            let project = self.scope.clone().or_else(|| self.filter.project.clone());
            let page = Self::next_page(hub, &mut catch_up, self.after, project.as_ref()).await?;
            let mut missed = page.signals.as_slice();
            while !missed.is_empty() {
                let sent = self.send_some(hub, missed).await?;
                // A client that reads slowly is waited for without a turn, so that others have theirs.
                self.flush(PATIENCE).await?;
                missed = missed.get(sent..).unwrap_or_default();
            }
            self.after = page.through;
            self.covered = page.through;
            if !page.more {
                return Ok(());
            }
        }
    }

    /// Sends the first of these events, as many as the client reads without a pause, and returns how many.
    async fn send_some(&mut self, hub: &SocketHub, missed: &[ClientSignal]) -> Result<usize, SocketClosed> {
        // Few clients at a time have frames in memory that no one else reads.
        let Ok(_turn) = hub.catch_ups.acquire().await else { return Err(SocketClosed) };
        let now = (hub.clock)();
        let signals: Vec<ClientSignal> = missed.iter().take(AT_ONCE).cloned().collect();
        let frames = retry_store(|| hub.store.read(FrameQuery { signals: signals.clone(), now })).await?;
        for (index, frame) in frames.into_iter().enumerate() {
            let Some(frame) = frame.filter(|frame| self.admits(frame)) else { continue };
            self.socket.feed(Message::Text(frame.text)).await.map_err(|_| SocketClosed)?;
            if self.flush(BRIEFLY).await.is_err() {
                return Ok(index + 1);
            }
        }
        Ok(signals.len())
    }

    /// Waits until the client has taken what was sent to it.
    async fn flush(&mut self, patience: Duration) -> Result<(), SocketClosed> {
        match timeout(patience, self.socket.flush()).await {
            Ok(Ok(())) => Ok(()),
            _ => Err(SocketClosed),
        }
    }

    /// The next page of what the client missed; a database that does not answer is asked again.
    async fn next_page(
        hub: &SocketHub,
        catch_up: &mut CatchUp,
        after: i64,
        project: Option<&ProjectId>,
    ) -> Result<MissedPage, SocketClosed> {
        for _ in 0..TRIES {
            match catch_up.next_page(&hub.store, after, project).await {
                Ok(page) => return Ok(page),
                Err(StoreError::Closed) => return Err(SocketClosed),
                Err(_) => sleep(PAUSE).await,
            }
        }
        Err(SocketClosed)
    }

    /// Whether the client may see a frame, and wants it.
    fn admits(&self, frame: &SocketFrame) -> bool {
        let is_seen = self.scope.as_ref().is_none_or(|own| frame.project.as_deref() == Some(own.as_str()));
        is_seen && self.filter.admits(frame)
    }

    /// Handles a request; one that is not valid gets an error and is otherwise ignored.
    async fn handle_request(&mut self, hub: &SocketHub, message: &Message) -> Result<(), SocketClosed> {
        let request = match message {
            Message::Text(text) => SocketRequest::parse(text),
            Message::Binary(_) => Err("messages are text, not bytes".to_owned()),
            Message::Close(_) => return Err(SocketClosed),
            Message::Ping(_) | Message::Pong(_) => return Ok(()),
        };
        let now = (hub.clock)();
        match request {
            Ok(SocketRequest::Ping) => self.answer(&SocketReply::Pong { timestamp: now }).await,
            Ok(SocketRequest::Alive) => Ok(()),
            Ok(SocketRequest::Subscribe { wish, since }) => {
                self.filter = wish;
                self.answer(&self.filter.confirmation(since.unwrap_or(self.after), now)).await?;
                if let Some(since) = since {
                    // Numbers beyond the log belong to another database; nothing follows them here.
                    self.after = since.min(self.after);
                    self.catch_up(hub).await?;
                }
                Ok(())
            }
            Ok(SocketRequest::Unsubscribe) => {
                self.filter = FrameFilter::default();
                self.answer(&SocketReply::Unsubscribed { timestamp: now }).await
            }
            Err(message) => self.answer(&SocketReply::Error { message, timestamp: now }).await,
        }
    }

    async fn answer(&mut self, answer: &SocketReply) -> Result<(), SocketClosed> {
        // Texts and numbers can always be written.
        let Ok(text) = serde_json::to_string(answer) else { return Err(SocketClosed) };
        self.send(Message::Text(text.into())).await
    }

    async fn send(&mut self, message: Message) -> Result<(), SocketClosed> {
        match timeout(PATIENCE, self.socket.send(message)).await {
            Ok(Ok(())) => Ok(()),
            _ => Err(SocketClosed),
        }
    }
}

/// Retries a database that does not answer. In the end the client has to reconnect and say what it has.
async fn retry_store<T, F: Future<Output = Result<T, StoreError>>>(ask: impl Fn() -> F) -> Result<T, SocketClosed> {
    for _ in 0..TRIES {
        match ask().await {
            Ok(found) => return Ok(found),
            Err(StoreError::Closed) => return Err(SocketClosed),
            Err(_) => sleep(PAUSE).await,
        }
    }
    Err(SocketClosed)
}
