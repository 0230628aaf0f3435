//! Lines of a byte stream, read live with bounded memory.

use std::collections::VecDeque;

use maestro_core::agent::{LineSplitter, OutputLine};
use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};

use super::idle::IdleTimer;

/// How many bytes are read at once.
const AT_ONCE: usize = 64 * 1024;

/// The lines of a stream, without read-ahead: a reader that does not ask for the next line makes the program wait.
#[derive(Debug)]
pub struct LineReader<R> {
    from: BufReader<R>,
    pulse: IdleTimer,
    lines: LineSplitter,
    /// Lines that were read together with an earlier one.
    ready: VecDeque<OutputLine>,
}

impl<R: AsyncRead + Unpin> LineReader<R> {
    pub(crate) fn new(from: R, pulse: IdleTimer) -> Self {
        let from = BufReader::with_capacity(AT_ONCE, from);
        Self { from, pulse, lines: LineSplitter::default(), ready: VecDeque::new() }
    }

    /// The next line; nothing at the end or after a read error. It is safe to cancel.
    pub async fn next(&mut self) -> Option<OutputLine> {
        loop {
            if let Some(line) = self.ready.pop_front() {
                return Some(line);
            }
            let piece = self.from.fill_buf().await.unwrap_or_else(|error| {
                tracing::warn!("the output of a program cannot be read any more: {error}");
                &[]
            });
            let read = piece.len();
            if read == 0 {
                return self.lines.finish();
            }
            self.pulse.touch();
            self.ready.extend(self.lines.push(piece));
            self.from.consume(read);
        }
    }
}

/// The next line of a stream that may have ended; then it never returns.
pub(crate) async fn next_of<R: AsyncRead + Unpin>(stream: &mut Option<LineReader<R>>) -> Option<OutputLine> {
    match stream {
        Some(stream) => stream.next().await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn any_bytes_are_lines_and_the_last_needs_no_end() {
        let bytes: &[u8] = b"a\n\n\xff\0b\nrest";
        let mut lines = LineReader::new(bytes, IdleTimer::new());
        for line in [b"a" as &[u8], b"", b"\xff\0b", b"rest"] {
            assert_eq!(lines.next().await, Some(OutputLine::Whole(line.to_vec())));
        }
        assert_eq!(lines.next().await, None);
    }
}
