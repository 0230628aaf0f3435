//! WebSocket for clients of the original: its frames, plus `seq`.

use std::time::Duration;

use axum::extract::ws::{CloseFrame, Message, WebSocket, WebSocketUpgrade, close_code};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::Response;
use maestro_api::live::SocketReply;
use maestro_store::{LastSeq, StoreError};
use tokio::sync::broadcast::{self, error::RecvError};
use tokio::time::{sleep, timeout};

use super::catch_up::missed;
use super::frame::{Frame, Render};
use super::hub::{Hub, News, Place};
use super::request::{Request, Wish};
use crate::app::App;
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

/// Opens a WebSocket. Origin, host and token have been checked by then, as for any request.
pub(crate) async fn upgrade(app: App, upgrade: WebSocketUpgrade) -> Result<Response, ApiError> {
    let place = app.hub.admit().ok_or_else(|| {
        ApiError::new(StatusCode::SERVICE_UNAVAILABLE, "TOO_MANY_CLIENTS", "too many clients are connected")
    })?;
    app.store.watch_others()?;
    // Read before the client knows that it is connected, so that it receives every later event.
    let after = app.store.read(LastSeq).await?;
    let upgrade = upgrade.max_message_size(LARGEST).max_frame_size(LARGEST);
    Ok(upgrade.on_upgrade(move |socket| async move {
        let news = app.hub.join(after);
        let client = Client { socket, wish: Wish::default(), news, after, covered: 0, place };
        client.serve(&app).await;
    }))
}

/// A connection that ended, for any reason.
struct Gone;

/// One connected client.
struct Client {
    socket: WebSocket,
    wish: Wish,
    news: broadcast::Receiver<News>,
    /// The client has everything up to this line of the log.
    after: i64,
    /// Frames up to this line were already sent while catching up.
    covered: i64,
    place: Place,
}

impl Client {
    async fn serve(mut self, app: &App) {
        let mut closing = app.closing.subscribe();
        tokio::select! {
            _ = self.talk(&app.hub) => {}
            _ = closing.wait_for(|closing| *closing) => {}
        }
        let farewell = CloseFrame { code: close_code::AWAY, reason: "the server is stopping".into() };
        // The client may already be gone.
        let _ = timeout(PAUSE, self.socket.send(Message::Close(Some(farewell)))).await;
        drop(self.place);
    }

    async fn talk(&mut self, hub: &Hub) -> Result<(), Gone> {
        self.catch_up(hub).await?;
        loop {
            tokio::select! {
                message = self.socket.recv() => match message {
                    Some(Ok(message)) => self.hear(hub, &message).await?,
                    _ => return Err(Gone),
                },
                news = self.news.recv() => match news {
                    Ok(News::Frame(frame)) => self.pass_on(&frame).await?,
                    Ok(News::Gap) | Err(RecvError::Lagged(_)) => self.catch_up(hub).await?,
                    Err(RecvError::Closed) => return Err(Gone),
                },
                () = sleep(QUIET) => self.send(Message::Ping(bytes::Bytes::new())).await?,
            }
        }
    }

    /// Sends a frame unless the client has it or does not want it.
    async fn pass_on(&mut self, frame: &Frame) -> Result<(), Gone> {
        if frame.own > self.covered && self.wish.admits(frame) {
            self.send(Message::Text(frame.text.clone())).await?;
        }
        self.after = self.after.max(frame.seq);
        Ok(())
    }

    /// Sends the current state of everything touched since the client's last frame.
    async fn catch_up(&mut self, hub: &Hub) -> Result<(), Gone> {
        let missed = insist(|| missed(&hub.store, self.after, self.wish.project.as_ref())).await?;
        for signs in missed.signs.chunks(AT_ONCE) {
            let now = (hub.clock)();
            let frames = insist(|| hub.store.read(Render { signs: signs.to_vec(), now })).await?;
            for frame in frames {
                if self.wish.admits(&frame) {
                    self.send(Message::Text(frame.text)).await?;
                }
            }
        }
        self.after = missed.through;
        self.covered = missed.through;
        Ok(())
    }

    /// Handles a request; one that is not valid gets an error and is otherwise ignored.
    async fn hear(&mut self, hub: &Hub, message: &Message) -> Result<(), Gone> {
        let request = match message {
            Message::Text(text) => Request::parse(text),
            Message::Binary(_) => Err("messages are text, not bytes".to_owned()),
            Message::Close(_) => return Err(Gone),
            Message::Ping(_) | Message::Pong(_) => return Ok(()),
        };
        let now = (hub.clock)();
        match request {
            Ok(Request::Ping) => self.answer(&SocketReply::Pong { timestamp: now }).await,
            Ok(Request::Alive) => Ok(()),
            Ok(Request::Subscribe { wish, since }) => {
                self.wish = wish;
                self.answer(&self.wish.confirmation(since.unwrap_or(self.after), now)).await?;
                if let Some(since) = since {
                    // Numbers beyond the log belong to another database; nothing follows them here.
                    self.after = since.min(self.after);
                    self.catch_up(hub).await?;
                }
                Ok(())
            }
            Ok(Request::Unsubscribe) => {
                self.wish = Wish::default();
                self.answer(&SocketReply::Unsubscribed { timestamp: now }).await
            }
            Err(message) => self.answer(&SocketReply::Error { message, timestamp: now }).await,
        }
    }

    async fn answer(&mut self, answer: &SocketReply) -> Result<(), Gone> {
        // Texts and numbers can always be written.
        let Ok(text) = serde_json::to_string(answer) else { return Err(Gone) };
        self.send(Message::Text(text.into())).await
    }

    async fn send(&mut self, message: Message) -> Result<(), Gone> {
        match timeout(PATIENCE, self.socket.send(message)).await {
            Ok(Ok(())) => Ok(()),
            _ => Err(Gone),
        }
    }
}

/// Retries a database that does not answer. In the end the client has to reconnect and say what it has.
async fn insist<T, F: Future<Output = Result<T, StoreError>>>(ask: impl Fn() -> F) -> Result<T, Gone> {
    for _ in 0..TRIES {
        match ask().await {
            Ok(found) => return Ok(found),
            Err(StoreError::Closed) => return Err(Gone),
            Err(_) => sleep(PAUSE).await,
        }
    }
    Err(Gone)
}
