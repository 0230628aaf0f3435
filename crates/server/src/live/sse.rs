//! How does a watcher get the log over HTTP? As server-sent events, a frame in one write.

use std::convert::Infallible;
use std::time::Duration;

use bytes::Bytes;
use futures_util::Stream;
use tokio::sync::watch;
use tokio::time::timeout;

use super::Subscription;

/// How long nothing may be sent, so that whoever is between knows that the connection lives.
const QUIET: Duration = Duration::from_secs(15);
/// How long a client waits before it comes back.
const HELLO: &str = "retry: 1000\n\n";
const STILL_HERE: &str = ": still here\n\n";

/// What a watcher gets, until it goes away or the server closes.
pub(crate) fn stream(
    subscription: Subscription,
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
