//! Everything that reaches the terminal: replies, errors, help, questions, progress.

pub(crate) mod error;
pub(crate) mod help;
pub(crate) mod log;
pub(crate) mod progress;
pub(crate) mod question;
pub(crate) mod reply;
pub(crate) mod screen;
pub(crate) mod time;
pub(crate) mod transcript;
pub(crate) mod tree;
