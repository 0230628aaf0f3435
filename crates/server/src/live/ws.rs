//! WebSocket for clients of the original: its frames, plus `seq`.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::ws::{CloseFrame, Message, WebSocket, WebSocketUpgrade, close_code};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::Response;
use maestro_api::live::SocketReply;
use maestro_store::{LastEventSeq, StoreError};
use tokio::sync::broadcast::{self, error::RecvError};
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

use super::catch_up::missed_changes;
use super::frame::{FrameQuery, SocketFrame};
use super::hub::{HubMessage, HubSlot, SocketHub};
use super::request::{FrameFilter, SocketRequest};
use crate::error::ApiError;

/// The largest message of a client.
const LARGEST: usize = 64 * 1024;
/// How long a client may take to accept a frame.
const PATIENCE: Duration = Duration::from_secs(30);
/// The longest silence, so that both sides know that the connection is alive.
const QUIET: Duration = Duration::from_secs(30);
/// How many missed frames are made at once.
const AT_ONCE: usize = 50;
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
        let client = SocketClient { socket, filter: FrameFilter::default(), messages, after, covered: 0, place };
        client.serve(&hub, closing).await;
    }))
}

/// A connection that ended, for any reason.
struct SocketClosed;

/// One connected client.
struct SocketClient {
    socket: WebSocket,
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
        if frame.own > self.covered && self.filter.admits(frame) {
            self.send(Message::Text(frame.text.clone())).await?;
        }
        self.after = self.after.max(frame.seq);
        Ok(())
    }

    /// Sends the current state of everything touched since the client's last frame.
    async fn catch_up(&mut self, hub: &SocketHub) -> Result<(), SocketClosed> {
        let missed = retry_store(|| missed_changes(&hub.store, self.after, self.filter.project.as_ref())).await?;
        for signs in missed.signals.chunks(AT_ONCE) {
            let now = (hub.clock)();
            let frames = retry_store(|| hub.store.read(FrameQuery { signals: signs.to_vec(), now })).await?;
            for frame in frames {
                if self.filter.admits(&frame) {
                    self.send(Message::Text(frame.text)).await?;
                }
            }
        }
        self.after = missed.through;
        self.covered = missed.through;
        Ok(())
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
