//! The engine with real processes: execution, agents, and runs whose driver dies.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used, reason = "a test fails by panicking")]

mod agents;
mod attacks;
mod crash;
mod execute;
mod waiting;
