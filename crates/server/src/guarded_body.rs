//! Bodies of requests that must arrive in time, and of responses that hold something until they have ended.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::BoxError;
use bytes::Bytes;
use hyper::body::{Body, Frame, SizeHint};
use tokio::time::{Sleep, sleep};

/// A body with a guard.
pub(crate) struct GuardedBody<B, G> {
    body: B,
    guard: G,
}

/// The time in which a body must have arrived.
pub(crate) struct ArrivalTime(Pin<Box<Sleep>>);

/// What is dropped when a body has ended.
pub(crate) struct HeldUntilEnd<T> {
    _held: T,
}

/// What a guard does while a body is read.
pub(crate) trait BodyGuard: Unpin {
    /// Whether the body has to end.
    fn poll_expired(&mut self, cx: &mut Context<'_>) -> Poll<()>;
}

impl BodyGuard for ArrivalTime {
    fn poll_expired(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        self.0.as_mut().poll(cx)
    }
}

impl<T: Unpin> BodyGuard for HeldUntilEnd<T> {
    fn poll_expired(&mut self, _: &mut Context<'_>) -> Poll<()> {
        Poll::Pending
    }
}

impl<B> GuardedBody<B, ArrivalTime> {
    /// A body that must have arrived within this time.
    pub(crate) fn within(body: B, time: Duration) -> Self {
        Self { body, guard: ArrivalTime(Box::pin(sleep(time))) }
    }
}

impl<B, T> GuardedBody<B, HeldUntilEnd<T>> {
    /// A body that holds a value until it has ended.
    pub(crate) fn holding(body: B, held: T) -> Self {
        Self { body, guard: HeldUntilEnd { _held: held } }
    }
}

impl<B, G> Body for GuardedBody<B, G>
where
    B: Body<Data = Bytes> + Unpin,
    B::Error: Into<BoxError>,
    G: BodyGuard,
{
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let this = &mut *self;
        match Pin::new(&mut this.body).poll_frame(cx) {
            Poll::Ready(frame) => Poll::Ready(frame.map(|frame| frame.map_err(Into::into))),
            Poll::Pending => this.guard.poll_expired(cx).map(|()| Some(Err("the body took too long".into()))),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
