//! Maestro over HTTP: the API, live events and the page.
//!
//! All wire formats are here. The router is the same for a server that listens and for a command that calls it in its
//! own process, so what can be done does not depend on whether a server runs.

mod api;
mod app;
mod caller;
mod drive;
mod error;
mod escaped;
mod extract;
mod guard;
mod live;
pub mod mcp;
mod metrics;
mod page;
mod serve;
mod shelves;
mod wire;

pub use app::{Access, App, Journal, Options};
pub use error::ErrorBody;
pub use escaped::escaped;
pub use serve::{router, serve};
pub use shelves::{Changes, Freshness, Shelf, Shelves};
