//! Skills on a real file system, through the crate's public interface.

#![allow(
    clippy::cast_precision_loss,
    clippy::panic,
    clippy::print_stderr,
    clippy::unwrap_used,
    reason = "a test may fail by panicking, and counts little"
)]

mod bad_input;
mod cache;
mod conversation;
mod corpus;
mod dependencies;
mod discovery;
mod folder;
mod formats;
mod identity;
mod index;
mod index_properties;
mod packs;
mod prompts;
mod reading;
mod rendering;
mod selection;
mod validation;
mod vectors;
mod watch;
mod world;
