//! What drives a run? Definitions are found and pinned here, what they order is executed here, and nothing else starts
//! a process.

mod conventions;
pub mod instructed;
pub mod changes;
pub mod drive;
pub mod identity;
pub mod runs;
pub mod workflows;
