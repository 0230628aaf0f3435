//! Stream of a connection that ends when the other side is silent, or does not take what is sent to it.

use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Instant, Sleep, sleep};

use super::OpenRequests;

/// A stream with a limit to its silence.
pub(super) struct IdleStream<S> {
    stream: S,
    requests: OpenRequests,
    limit: Duration,
    /// When the silence has lasted too long.
    read_by: Pin<Box<Sleep>>,
    /// When a write has waited too long.
    written_by: Pin<Box<Sleep>>,
}

impl<S> IdleStream<S> {
    pub(super) fn new(stream: S, requests: OpenRequests, limit: Duration) -> Self {
        Self { stream, requests, limit, read_by: Box::pin(sleep(limit)), written_by: Box::pin(sleep(limit)) }
    }

    /// What comes of a write; progress starts the time over.
    fn written<T>(&mut self, cx: &mut Context<'_>, result: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if result.is_pending() {
            ready!(self.written_by.as_mut().poll(cx));
            return Poll::Ready(Err(timed_out()));
        }
        let later = Instant::now() + self.limit;
        self.written_by.as_mut().reset(later);
        self.read_by.as_mut().reset(later);
        result
    }
}

fn timed_out() -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, "the connection was silent for too long")
}

impl<S: AsyncRead + Unpin> AsyncRead for IdleStream<S> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = &mut *self;
        match Pin::new(&mut this.stream).poll_read(cx, buffer) {
            Poll::Ready(result) => {
                this.read_by.as_mut().reset(Instant::now() + this.limit);
                Poll::Ready(result)
            }
            Poll::Pending => {
                while this.read_by.as_mut().poll(cx).is_ready() {
                    // While a request is answered, the other side has nothing to say.
                    if this.requests.is_none() {
                        return Poll::Ready(Err(timed_out()));
                    }
                    this.read_by.as_mut().reset(Instant::now() + this.limit);
                }
                Poll::Pending
            }
        }
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for IdleStream<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let result = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.written(cx, result)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        parts: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let result = Pin::new(&mut self.stream).poll_write_vectored(cx, parts);
        self.written(cx, result)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let this = &mut *self;
        if let Poll::Ready(result) = Pin::new(&mut this.stream).poll_flush(cx) {
            return Poll::Ready(result);
        }
        ready!(this.written_by.as_mut().poll(cx));
        Poll::Ready(Err(timed_out()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    use super::*;

    const LIMIT: Duration = Duration::from_millis(100);
    /// Only a failing test takes as long.
    const STUCK: Duration = Duration::from_mins(1);

    #[tokio::test]
    async fn silence_ends_a_connection_unless_a_request_is_answered() {
        let (near, mut far) = tokio::io::duplex(64);
        let requests = OpenRequests::default();
        let mut stream = IdleStream::new(near, requests.clone(), LIMIT);
        let open = requests.open();
        let answered = tokio::time::timeout(LIMIT * 3, stream.read_u8()).await;
        assert!(answered.is_err(), "it waits");
        drop(open);
        far.write_u8(7).await.unwrap();
        assert_eq!(stream.read_u8().await.unwrap(), 7);
        let ended = tokio::time::timeout(STUCK, stream.read_u8()).await.unwrap();
        assert_eq!(ended.unwrap_err().kind(), io::ErrorKind::TimedOut);
    }

    #[tokio::test]
    async fn a_reader_that_takes_nothing_ends_a_connection() {
        let (near, _far) = tokio::io::duplex(4);
        let requests = OpenRequests::default();
        let _open = requests.open();
        let mut stream = IdleStream::new(near, requests, LIMIT);
        let ended = tokio::time::timeout(STUCK, stream.write_all(&[0; 64])).await.unwrap();
        assert_eq!(ended.unwrap_err().kind(), io::ErrorKind::TimedOut);
    }
}
