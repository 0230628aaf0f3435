//! Attacks on the boundaries of Maestro: each must fail, or its gap must be named.

mod availability;
mod callers;
mod claims;
mod clone;
mod confinement;
mod consent;
mod hidden_text;
mod mcp;
mod victim;
