//! The server as its callers see it, on both databases.

#![allow(
    clippy::missing_panics_doc,
    clippy::panic,
    clippy::print_stderr,
    clippy::unwrap_used,
    reason = "a test may fail by panicking"
)]

mod access;
mod bad_input;
mod document;
mod listener;
mod projects;
mod queues;
mod reports;
mod sessions;
mod sockets;
mod streams;
mod tasks;
mod world;
