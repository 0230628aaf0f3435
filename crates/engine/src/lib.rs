//! What drives a run? Definitions are found and pinned here, what they order is executed here, and nothing else starts
//! a process.

pub mod child;
pub mod execute;
mod process;
pub mod sandbox;

pub use execute::{Executed, Executor, Limits, Site};
