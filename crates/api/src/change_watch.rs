//! Changes of one thing, by its live stream: when to look at it again.

use std::time::Duration;

use futures_util::FutureExt as _;

use crate::client::ApiClient;
use crate::events::{self, EventQuery};
use crate::stream::LiveStream;

/// How long to wait before a stream that ended, or could not be opened, is opened again.
const PAUSE: Duration = Duration::from_millis(250);

/// A wait for changes. Look at the thing, wait with [`ChangeWatch::changed`], and look again.
pub struct ChangeWatch {
    client: ApiClient,
    query: EventQuery,
    stream: Option<LiveStream>,
}

impl ChangeWatch {
    /// Watches what these events are about.
    pub fn new(client: ApiClient, query: EventQuery) -> Self {
        Self { client, query, stream: None }
    }

    /// Waits until something may have changed: with each event, and whenever the stream was opened, since nothing is
    /// known of the time before. Without a stream it returns after a pause. The wait may be given up and taken up again.
    pub async fn changed(&mut self) {
        if let Some(stream) = &mut self.stream {
            if let Ok(Some(_)) = stream.next_data().await {
                // Events come in crowds, and one look finds them all.
                while let Some(Ok(Some(_))) = stream.next_data().now_or_never() {}
                return;
            }
            self.stream = None;
            tokio::time::sleep(PAUSE).await;
        }
        match self.client.open_stream(events::list(&self.query).into_untyped()).await {
            Ok(stream) => self.stream = Some(stream),
            Err(_) => tokio::time::sleep(PAUSE).await,
        }
    }
}
