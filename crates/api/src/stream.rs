//! Live streams of events.

use bytes::Bytes;
use http_body_util::BodyExt as _;
use http_body_util::combinators::UnsyncBoxBody;

use crate::error::{ClientError, ErrorCause};
use crate::events::EventBody;

/// A live stream. Waiting for its next part may be given up and taken up again; nothing is lost by that.
pub struct LiveStream {
    body: UnsyncBoxBody<Bytes, ErrorCause>,
    buffer: Vec<u8>,
}

impl LiveStream {
    pub(crate) fn new(body: UnsyncBoxBody<Bytes, ErrorCause>) -> Self {
        Self { body, buffer: Vec::new() }
    }

    /// The data of the next event as it came; nothing when the stream has ended.
    pub async fn next_data(&mut self) -> Result<Option<String>, ClientError> {
        loop {
            while let Some(end) = self.buffer.iter().position(|byte| *byte == b'\n') {
                let rest = self.buffer.split_off(end + 1);
                let line = String::from_utf8_lossy(&self.buffer[..end]).into_owned();
                self.buffer = rest;
                // Other lines number an event, or keep the connection open.
                if let Some(data) = line.strip_prefix("data: ") {
                    return Ok(Some(data.to_owned()));
                }
            }
            let Some(frame) = self.body.frame().await else { return Ok(None) };
            let frame = frame.map_err(|cause| ClientError::Broken { what: "connection lost".to_owned(), cause })?;
            self.buffer.extend_from_slice(frame.data_ref().map_or(&[][..], |data| data));
        }
    }

    /// The next event; nothing when the stream has ended.
    pub async fn next_event(&mut self) -> Result<Option<EventBody>, ClientError> {
        let Some(data) = self.next_data().await? else { return Ok(None) };
        let unreadable = |error: serde_json::Error| ClientError::Unreadable {
            path: "/api/events".to_owned(),
            cause: error.to_string(),
        };
        serde_json::from_str(&data).map(Some).map_err(unreadable)
    }
}
