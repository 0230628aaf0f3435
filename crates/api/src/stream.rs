//! Live streams of events.

use bytes::Bytes;
use http_body_util::BodyExt as _;
use http_body_util::combinators::UnsyncBoxBody;

use crate::error::{ClientError, ErrorCause};
use crate::events::EventBody;

/// How long a line of a stream may be.
const LONGEST_LINE: usize = 16 * 1024 * 1024;

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
            let broken = |cause| ClientError::Broken { what: "connection lost".to_owned(), cause };
            self.buffer.extend_from_slice(frame.map_err(broken)?.data_ref().map_or(&[][..], |data| data));
            if self.buffer.len() > LONGEST_LINE && !self.buffer.contains(&b'\n') {
                return Err(broken("a line is longer than 16 MiB".into()));
            }
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

#[cfg(test)]
mod tests {
    use http_body_util::Full;

    use super::*;

    #[tokio::test]
    async fn a_line_without_an_end_is_given_up() {
        let body = Full::new(Bytes::from(vec![b'x'; LONGEST_LINE + 1])).map_err(|never| match never {});
        let ended = LiveStream::new(body.boxed_unsync()).next_data().await;
        assert!(matches!(ended, Err(ClientError::Broken { .. })));
        let body = Full::new(Bytes::from_static(b"id: 1\ndata: {}\n")).map_err(|never| match never {});
        assert_eq!(LiveStream::new(body.boxed_unsync()).next_data().await.unwrap().as_deref(), Some("{}"));
    }
}
