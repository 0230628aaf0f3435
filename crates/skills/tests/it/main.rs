//! Skills on a real file system, through the crate's public interface.

#![allow(
    clippy::panic,
    clippy::print_stderr,
    clippy::unwrap_used,
    reason = "clippy allows these in a test, but not in what a test calls"
)]

mod bad_input;
mod cache;
mod corpus;
mod dependencies;
mod discovery;
mod formats;
mod identity;
mod index;
mod index_properties;
mod packs;
mod reading;
mod validation;
mod watch;
mod world;
