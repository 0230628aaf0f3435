//! Engine: finds and pins definitions, executes their directives, and starts all processes.

pub mod agents;
pub mod branches;
pub mod briefing;
mod builtins;
pub mod changes;
pub mod child;
pub mod commanded;
mod conventions;
pub mod daemon;
pub mod drive;
pub mod execute;
pub mod identity;
pub mod instructed;
mod process;
pub mod runs;
pub mod sandbox;
pub mod step_sessions;
pub mod trust;
pub mod worker;
pub mod workflows;
pub mod worktrees;

pub use builtins::{Abilities, Ability, AtWork, Furnishing, Skills};
pub use execute::{Executed, Executor, Limits, Site};
