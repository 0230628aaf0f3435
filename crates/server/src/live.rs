//! What happens, as it happens? Everything live is a reader of the store's log.

mod feed;
mod sse;

pub(crate) use feed::{Feed, Subscription};
pub(crate) use sse::stream;
