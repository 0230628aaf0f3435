//! The model server over HTTP: each API as its clients read it, and everything that can go wrong.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test may fail by panicking")]

mod apis;
mod client;
mod faults;
mod kept;
