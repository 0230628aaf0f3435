//! Live events: every stream is a reader of the store's log.

mod catch_up;
mod feed;
mod frame;
mod hub;
mod rate_limit;
mod request;
mod signal;
mod sse;
pub(crate) mod ws;

pub(crate) use feed::{EventFeed, FeedSubscription};
pub(crate) use hub::SocketHub;
pub(crate) use sse::stream;
