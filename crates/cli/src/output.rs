//! Everything that reaches the terminal: replies, errors, help, questions, progress.

pub(crate) mod command_output;
pub(crate) mod confirm;
pub(crate) mod error;
pub(crate) mod help;
pub(crate) mod progress;
pub(crate) mod screen;
pub(crate) mod time;
