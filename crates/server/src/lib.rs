//! Maestro over HTTP: the API, live events and the page.
//!
//! All wire formats are here. The router is the same for a server that listens and for a command that calls it in its
//! own process, so what can be done does not depend on whether a server runs.

mod answer_notes;
mod api;
mod app;
mod caller;
mod caller_sockets;
mod change_notes;
mod connections;
mod error;
mod extract;
mod full_session;
mod guard;
mod guarded_body;
mod json_reply;
mod live;
pub mod mcp;
mod metrics;
mod origin;
mod page;
mod page_memory;
mod peer;
mod private_socket;
mod request_limits;
mod run_driver;
mod run_sharing;
mod serve;
mod sign_in_state;
mod skill_changes;
mod waiting;
mod work_changes;

pub use api::derive_openapi;
pub use app::{AccessPolicy, AppState, McpSite, ServerOptions};
pub use connections::ConnectionLimits;
pub use page::qr_code::terminal as terminal_code;
pub use private_socket::bind_private;
pub use serve::{ServerListeners, phone_link, router, serve, serve_sockets, sign_in_link};
pub use skill_changes::SkillChanges;
