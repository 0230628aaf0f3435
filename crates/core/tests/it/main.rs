//! What others read and write of the core's types.

#![allow(clippy::panic, clippy::unwrap_used, reason = "a test fails by panicking")]

mod contract;
mod documented;
