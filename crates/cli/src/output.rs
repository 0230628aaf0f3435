//! Everything that reaches the terminal: replies, errors, help, questions, progress.

pub(crate) mod command_output;
pub(crate) mod confirm;
pub(crate) mod error;
pub(crate) mod help;
pub(crate) mod log;
pub(crate) mod progress;
pub(crate) mod screen;
pub(crate) mod task_tree;
pub(crate) mod time;
pub(crate) mod transcript;
