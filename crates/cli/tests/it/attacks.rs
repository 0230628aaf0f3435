//! Attacks on the boundaries of Maestro, each as a test that fails without its defense.

mod clone;
mod consent;
mod hidden_text;
mod mcp;
