//! Server-sent events for watchers of the log, one write per frame.

use std::convert::Infallible;
use std::time::Duration;

use bytes::Bytes;
use futures_util::Stream;
use tokio::sync::watch;
use tokio::time::timeout;

use super::FeedSubscription;

/// The longest silence, so that proxies keep the connection open.
const QUIET: Duration = Duration::from_secs(15);
/// How long a client waits before it reconnects.
const HELLO: &str = "retry: 1000\n\n";
const STILL_HERE: &str = ": still here\n\n";

/// The stream of a watcher, until it disconnects or the server stops.
pub(crate) fn stream(
    subscription: FeedSubscription,
    closing: watch::Receiver<bool>,
) -> impl Stream<Item = Result<Bytes, Infallible>> + Send {
    futures_util::stream::unfold((subscription, closing, true), |(mut subscription, mut closing, first)| async move {
        if first {
            return Some((Ok(Bytes::from_static(HELLO.as_bytes())), (subscription, closing, false)));
        }
        let next = tokio::select! {
            next = timeout(QUIET, subscription.next()) => next,
            _ = closing.wait_for(|closing| *closing) => return None,
        };
        let bytes = match next {
            Ok(Some(batch)) => batch.whole.clone(),
            Ok(None) => return None,
            Err(_) => Bytes::from_static(STILL_HERE.as_bytes()),
        };
        Some((Ok(bytes), (subscription, closing, false)))
    })
}
