//! Maestro over HTTP: the API, live events and the page.
//!
//! All wire formats are here. The router is the same for a server that listens and for a command that calls it in its
//! own process, so what can be done does not depend on whether a server runs.

mod api;
mod app;
mod caller;
mod error;
mod extract;
mod full_session;
mod guard;
mod live;
pub mod mcp;
mod metrics;
mod page;
mod run_driver;
mod serve;
mod skill_changes;

pub use app::{AccessPolicy, AppState, McpSite, ServerOptions};
pub use serve::{router, serve};
pub use skill_changes::SkillChanges;
