//! Live events: every stream is a reader of the store's log.

mod catch_up;
mod feed;
mod frame;
mod hub;
mod pace;
mod request;
mod sign;
mod sse;
pub(crate) mod ws;

pub(crate) use feed::{Feed, Subscription};
pub(crate) use hub::Hub;
pub(crate) use sse::stream;
