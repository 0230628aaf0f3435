//! The store as its callers see it, on both databases.

#![allow(clippy::panic, clippy::print_stderr, clippy::unwrap_used, reason = "a test may fail by panicking")]

mod journeys;
mod overview;
mod world;
