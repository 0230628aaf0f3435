//! The server as its callers see it, on both databases.

#![allow(
    clippy::missing_panics_doc,
    clippy::panic,
    clippy::print_stderr,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test may fail by panicking"
)]

mod access;
mod bad_input;
mod catalogue_screens;
mod consents;
mod contract;
mod document;
mod limits;
mod listener;
mod projects;
mod queues;
mod reports;
mod retention;
mod runs;
mod runs_at_once;
mod runs_parts;
mod sessions;
mod sockets;
mod streams;
mod tasks;
mod waiting;
mod workflows;
mod world;
